"""`scrapy frontier`: what waits, and what is held back as traps."""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import UNITS, URLS, write


class Command(ListingCommand):
    """List the hosts and sections with URLs waiting, what is held back as traps and why; with --urls the URLs
    themselves, in their order. Works while the crawl runs.
    """

    summary = "List what waits to be fetched"
    formats = ("csv", "jsonl", "table")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", help="only this host (with :port where it is not the scheme's own)")
        parser.add_argument("--demoted", action="store_true", help="only what is held back as traps")
        parser.add_argument("--urls", action="store_true", help="list the waiting URLs, one a line: a list of seeds")

    def list(self, opts: argparse.Namespace) -> None:
        with self.frontier(opts) as reader:
            if opts.urls:
                urls = islice(reader.waiting(opts.host, demoted=opts.demoted), opts.limit)
                write(urls, URLS, sys.stdout, format="urls" if opts.format == "table" else opts.format)
            else:
                units = islice(reader.units(opts.host, demoted=opts.demoted), opts.limit)
                write(units, UNITS, sys.stdout, format=opts.format)
