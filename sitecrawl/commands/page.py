"""`scrapy page URL`: a stored page, by its URL."""

from __future__ import annotations

import argparse
import sys

from scrapy.exceptions import UsageError

from sitecrawl.base.display import visible
from sitecrawl.base.errors import StorageError
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.pagestore import Capture
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.printing import headers, summary, visible_bytes
from sitecrawl.pagestore.workers import Reader


class Command(ReadingCommand):
    """Print the body of a stored page, with its content coding removed. On a terminal, control characters are shown
    as escapes. Works while the crawl runs.
    """

    usage = "[options] <url>"
    summary = "Print a stored page"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--headers", action="store_true", help="print status line and headers before the body")
        parser.add_argument(
            "--all", action="store_true", help="list all stored versions, newest first; with --headers print them"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("exactly one URL is needed")
        with exit_code_on_error(self), self.pages(opts) as reader:
            captures = reader.find(args[0], all=opts.all)
            if not captures:
                raise StorageError(f"{visible(args[0])} is not stored in {reader.directory}")
            for capture in captures:
                _show(reader, capture, opts)


def _show(reader: Reader, capture: Capture, opts: argparse.Namespace) -> None:
    if opts.all:
        print(summary(capture))
        if not opts.headers:
            return
    page = reader.read(capture)
    if opts.headers:
        print(headers(page))
    if sys.stdout.isatty():
        print(visible_bytes(page.body, capture.charset))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(page.body)
