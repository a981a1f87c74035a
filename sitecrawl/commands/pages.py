"""`scrapy pages`: what is stored, listed and filtered."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import OptionError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import CAPTURES, write
from sitecrawl.pagestore import PageFilter
from sitecrawl.pagestore.printing import parse_since
from sitecrawl.pagestore.record import KINDS


class Command(ListingCommand):
    """List what a crawl has stored, oldest first. Works while the crawl runs."""

    summary = "List stored pages"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--status", type=int, metavar="N", help="only responses with this HTTP status")
        parser.add_argument("--host", help="only this host (with :port where it is not the scheme's own)")
        parser.add_argument("--type", metavar="TYPE", help="only this media type, such as text/html or image")
        parser.add_argument("--url-like", metavar="PART", help="only URLs with this in them; * stands for anything")
        parser.add_argument("--since", metavar="TIME", help="only what was fetched since: 2026-11-21, 12h, 7d")
        parser.add_argument("--kind", choices=KINDS, help="only captures of this kind")

    def list(self, opts: argparse.Namespace) -> None:
        wanted = _filter(opts)
        with self.pages(opts) as reader:
            write(reader.pages(wanted, limit=opts.limit), CAPTURES, sys.stdout, format=opts.format)


def _filter(opts: argparse.Namespace) -> PageFilter:
    try:
        since = parse_since(opts.since, datetime.now(UTC)) if opts.since else None
    except OptionError as error:
        raise UsageError(f"--since: {error}", print_help=False) from error
    return PageFilter(
        status=opts.status,
        host=opts.host.lower() if opts.host else None,
        content_type=opts.type.lower() if opts.type else None,
        url_like=opts.url_like,
        since=since,
        kind=opts.kind,
    )
