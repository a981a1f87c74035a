"""`scrapy pages`: what is stored, listed and filtered."""

from __future__ import annotations

import argparse
import sys

from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.filters import add_filters, filter_of
from sitecrawl.console.listing import write
from sitecrawl.console.nothing import Counted, why_nothing
from sitecrawl.console.page_rows import CAPTURES


class Command(ListingCommand):
    """List what a crawl has stored, oldest first. Works while the crawl runs."""

    summary = "List stored pages"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_filters(parser)

    def list(self, opts: argparse.Namespace) -> None:
        wanted = filter_of(opts)
        with self.pages(opts) as reader:
            found = Counted(reader.pages(wanted, limit=opts.limit))
            write(found, CAPTURES, sys.stdout, format=opts.format)
            if not found.number:
                print(f"scrapy: {why_nothing(reader, wanted)}", file=sys.stderr)
