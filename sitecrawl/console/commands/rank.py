"""`scrapy rank`: what is important."""

from __future__ import annotations

import argparse
import sys

from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.commands.frontier import SITES, URLS
from sitecrawl.console.listing import write
from sitecrawl.frontier.reader import FrontierReader


class Command(ListingCommand):
    """List the most important URLs, or with --sites the most important sites: those that got the most credit along
    links. Works while the crawl runs.
    """

    summary = "List the most important URLs or sites"
    formats = ("csv", "jsonl", "table")
    limit = 20

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--sites", action="store_true", help="list registrable domains instead of URLs")

    def list(self, opts: argparse.Namespace) -> None:
        with self.crawl(opts) as directory, FrontierReader(directory) as reader:
            if opts.sites:
                write(reader.top_sites(opts.limit), SITES, sys.stdout, format=opts.format)
            else:
                write(reader.top_urls(opts.limit), URLS, sys.stdout, format=opts.format)
