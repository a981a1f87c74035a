"""Which stored captures a command is about: the options that say it, and what they come to."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import OptionError
from sitecrawl.pagestore import PageFilter
from sitecrawl.pagestore.printing import parse_since
from sitecrawl.pagestore.record import KINDS


def add_filters(parser: argparse.ArgumentParser, *, kind: str | None = None, since: str = "") -> None:
    """The options of `filter_of`. `kind` is the default of that, `since` what else that takes."""
    default = f" (default: {kind})" if kind else ""
    parser.add_argument("--status", type=int, metavar="N", help="only responses with this HTTP status")
    parser.add_argument("--host", help="only this host (with :port if it is not the scheme's own)")
    parser.add_argument("--type", metavar="TYPE", help="only this media type, such as text/html or image")
    parser.add_argument("--url-like", metavar="PART", help="only URLs with this in them; * stands for anything")
    parser.add_argument("--since", metavar="TIME", help=f"only what was fetched since: 2026-11-21, 12h, 7d{since}")
    parser.add_argument("--kind", choices=KINDS, default=kind, help=f"only captures of this kind{default}")


def filter_of(opts: argparse.Namespace) -> PageFilter:
    """Raises `UsageError` for a time that is none."""
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
