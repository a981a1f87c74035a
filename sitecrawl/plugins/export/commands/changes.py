"""`scrapy changes`: what is new, changed, gone and moved."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from itertools import islice

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import OptionError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import write
from sitecrawl.pagestore.console import parse_since
from sitecrawl.pagestore.rounds import rounds_in, span_of
from sitecrawl.plugins.export.changes import CHANGES, ROUNDS, WITH_DIFFS, changes, spans_of, spans_since
from sitecrawl.plugins.export.pages import pages_with_texts


class Command(ListingCommand):
    """List the pages that are new, changed, gone or moved: by the last round (`-a again=1`), by another with --round,
    or since a time. Works while the crawl runs.
    """

    summary = "List pages that are new, changed, gone or moved"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--since", metavar="TIME", help="since then, in all: 2026-11-21, 12h, 7d")
        parser.add_argument("--round", type=int, metavar="N", help="by this round (default: the last one)")
        parser.add_argument("--rounds", action="store_true", help="list the rounds, and how many changes each found")
        parser.add_argument("--diff", action="store_true", help="also what has changed in the main text")

    def list(self, opts: argparse.Namespace) -> None:
        if sum((bool(opts.since), opts.round is not None, opts.rounds)) > 1:
            raise UsageError("--since, --round and --rounds are three questions: ask one", print_help=False)
        if opts.rounds:
            if opts.format == "urls":
                raise UsageError("a round is no page: choose another --format", print_help=False)
            write(islice(rounds_in(self.directory(opts)), opts.limit), ROUNDS, sys.stdout, format=opts.format)
            return
        try:
            since = parse_since(opts.since, datetime.now(UTC)) if opts.since else None
        except OptionError as error:
            raise UsageError(f"--since: {error}", print_help=False) from error
        rounds = rounds_in(self.directory(opts)) if since is None else []
        with self.pages(opts) as reader, pages_with_texts(reader) as pages:
            spans = spans_since(pages, since) if since is not None else spans_of(pages, span_of(rounds, opts.round))
            found = islice(changes(pages, spans), opts.limit)
            if not write(found, WITH_DIFFS if opts.diff else CHANGES, sys.stdout, format=opts.format):
                print("scrapy: no page is new, changed, gone or moved", file=sys.stderr)
