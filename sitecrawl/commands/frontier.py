"""`scrapy frontier`: what waits, and what is held back as traps."""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from scrapy.exceptions import UsageError

from sitecrawl.cluster.reader import ClusterReader
from sitecrawl.console.reading_command import ReadingCommand
from sitecrawl.frontier.printing import FORMATS, write, write_urls
from sitecrawl.frontier.reader import FrontierReader, KnownUrl, Unit
from sitecrawl.pagestore.console import exit_code_on_error


class Command(ReadingCommand):
    def short_desc(self) -> str:
        return "List what waits to be fetched"

    def long_desc(self) -> str:
        return (
            "List the hosts and sections with URLs waiting, what is held back as traps and why; with --urls the URLs "
            "themselves, in their order. Works while the crawl runs."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", help="only this host (with :port where it is not the scheme's own)")
        parser.add_argument("--demoted", action="store_true", help="only what is held back as traps")
        parser.add_argument("--urls", action="store_true", help="list the waiting URLs, one a line: a list of seeds")
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many")
        parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        self.check_limit(opts)
        with exit_code_on_error(self), self.frontier(opts) as reader:
            if opts.urls:
                _list_urls(reader, opts)
            else:
                units = reader.units(opts.host, demoted=opts.demoted)
                write(Unit, islice(units, opts.limit), sys.stdout, format=opts.format)


def _list_urls(reader: FrontierReader | ClusterReader, opts: argparse.Namespace) -> None:
    urls = islice(reader.waiting(opts.host, demoted=opts.demoted), opts.limit)
    if opts.format == "table":
        write_urls(urls, sys.stdout)
    else:
        write(KnownUrl, urls, sys.stdout, format=opts.format)
