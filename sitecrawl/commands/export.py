"""`scrapy export`: what a crawl has stored, in the forms that others take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.console.base_command import ListingCommand, ReadingCommand
from sitecrawl.console.filters import add_filters, filter_of
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.export.fields import USUAL, fields_named
from sitecrawl.export.formats import WRITERS, Row, format_of
from sitecrawl.export.marks import News
from sitecrawl.export.pages import Choice, Pages
from sitecrawl.export.text import finds_main_text
from sitecrawl.pagestore.console import exit_code_on_error

_LAST = "last"
_STDOUT = "-"


class Command(ReadingCommand):
    """Write the pages of a crawl as a table: JSON lines, CSV or Parquet, by the end of the file's name. Works while
    the crawl runs.
    """

    usage = "[options]"
    summary = "Write a crawl's pages as a table"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_filters(parser, kind="page", since=f"; {_LAST}: the last export with --since {_LAST}")
        parser.add_argument("-o", "--output", metavar="FILE", default=_STDOUT, help="default: - for stdout")
        parser.add_argument("--format", choices=tuple(WRITERS), help="default: what the name of the file says")
        parser.add_argument("--fields", metavar="NAMES", help="columns, separated by commas (default: all but links)")
        parser.add_argument("--all", action="store_true", help="every stored version, not the newest of each URL")
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many pages")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        ListingCommand.check_limit(opts)
        form = _format(opts)
        try:
            fields = fields_named(opts.fields) if opts.fields is not None else USUAL
        except OptionError as error:
            raise UsageError(f"--fields: {error}", print_help=False) from error
        if opts.since == _LAST and opts.limit is not None:
            raise UsageError("--limit would leave out what --since last never gives again", print_help=False)
        goes_on = opts.since == _LAST
        if goes_on:
            opts.since = None
        choice = Choice(filter_of(opts), all=opts.all, limit=opts.limit)
        if any(field.name == "text" for field in fields) and not finds_main_text():
            print(f"scrapy: texts are whole pages; main texts need {how_to_install('export')}", file=sys.stderr)
        with exit_code_on_error(self), self.pages(opts) as reader, Pages(reader) as pages:
            news = News(pages.directory, pages.stores) if goes_on else None
            if news is not None:
                choice = replace(choice, spans=news.spans)
                for name in news.began_anew:
                    print(f"scrapy: {name} has been cut back or made again: all of it counts as new", file=sys.stderr)
            rows = _Counted(page.row(fields) for page in pages.chosen(choice))
            _write(opts.output, WRITERS[form](fields, rows))
            if news is not None:
                news.taken()
            _report(opts.output, rows.number, pages.unreadable)


def _format(opts: argparse.Namespace) -> str:
    """Raises `UsageError` where nothing says it, or it cannot go there."""
    form = opts.format or format_of(opts.output) or ("jsonl" if opts.output == _STDOUT else None)
    if form is None:
        raise UsageError(
            f"--output: end the file's name with .{', .'.join(WRITERS)}, or name a --format", print_help=False
        )
    if form == "parquet" and opts.output == _STDOUT:
        raise UsageError("Parquet goes into a file: name one with -o", print_help=False)
    return str(form)


class _Counted:
    """Rows, and how many of them have been asked for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.number = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.number += 1
            yield row


def _write(name: str, parts: Iterable[bytes]) -> None:
    """Raises `StorageError`."""
    if name == _STDOUT:
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    with file_errors(Path(name)):
        write_atomically(Path(name), parts)


def _report(name: str, pages: int, unreadable: int) -> None:
    """On stderr: stdout may be the table."""
    if name != _STDOUT:
        print(f"{pages:,} pages are in {visible(name)}", file=sys.stderr)
    if unreadable:
        print(
            f"scrapy: {unreadable:,} pages could not be read, and have no text: `scrapy check-crawl` says why",
            file=sys.stderr,
        )
