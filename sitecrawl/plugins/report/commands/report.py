"""`scrapy report`: a crawl as one HTML file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from sitecrawl.base.display import visible
from sitecrawl.base.errors import StorageError
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawl.outputs import output
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.report.gather import gather
from sitecrawl.plugins.report.render import render


def report_to(target: str) -> Callable[[Path, Settings], None]:
    """A function that writes the report when the crawl has ended (`SITECRAWL_REPORT`)."""
    command = Command()
    return lambda directory, settings: command.write(command.options(settings, "-d", str(directory), "-o", target))


class Command(ReadingCommand):
    """Write one HTML file about a crawl: figures over time, what it tells of the web, the most important pages,
    hosts, what is held back, dead links, duplicates. Without a directory it is the newest below
    crawls/. Works while the crawl runs.
    """

    usage = "[options] [directory]"
    summary = "Write a report of a crawl as one HTML file"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default="report.html",
            help="a file or a URL (default: report.html; -: stdout)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) > 1:
            raise UsageError(f"unknown argument {args[1]!r}")
        if args and opts.directory is not None:
            raise UsageError("the directory is named twice", print_help=False)
        with exit_code_on_error(self):
            opts.directory = args[0] if args else opts.directory
            self.write(opts)

    def write(self, opts: argparse.Namespace) -> None:
        """Raises `SitecrawlError`."""
        with self.crawl(opts, with_pages=True) as directory:
            self._write(opts.output, render(gather(directory)))

    def _write(self, name: str, document: str) -> None:
        """UTF-8, whatever the terminal has. Raises `SitecrawlError`."""
        if name == "-":
            sys.stdout.buffer.write(document.encode())
            return
        with output(name, self.settings) as file:
            try:
                write_atomically(Path(file), [document.encode()])
            except OSError as error:
                raise StorageError(f"{name} cannot be written: {error.strerror or error}") from error
        print(f"The report is in {visible(name)}")
