"""`scrapy rank`: what is important."""

from __future__ import annotations

import argparse
import sys

from scrapy.exceptions import UsageError

from sitecrawl.console.reading_command import ReadingCommand
from sitecrawl.frontier.printing import FORMATS, write
from sitecrawl.frontier.reader import KnownUrl, Site
from sitecrawl.pagestore.console import exit_code_on_error

DEFAULT_LIMIT = 20


class Command(ReadingCommand):
    def short_desc(self) -> str:
        return "List the most important URLs or sites"

    def long_desc(self) -> str:
        return (
            "List the URLs, or with --sites the sites, that are the most important: those to which the most credit "
            "has come along links. Works while the crawl runs."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--sites", action="store_true", help="list registrable domains instead of URLs")
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            default=DEFAULT_LIMIT,
            help=f"at most so many (default: {DEFAULT_LIMIT})",
        )
        parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        self.check_limit(opts)
        with exit_code_on_error(self), self.frontier(opts) as reader:
            if opts.sites:
                write(Site, reader.top_sites(opts.limit), sys.stdout, format=opts.format)
            else:
                write(KnownUrl, reader.top_urls(opts.limit), sys.stdout, format=opts.format)
