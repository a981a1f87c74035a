"""`scrapy export`: what a crawl has stored, in the forms that others take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from scrapy.exceptions import UsageError

import sitecrawl
from sitecrawl.base.display import counted, visible
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.console.base_command import ListingCommand, ReadingCommand
from sitecrawl.console.listing import add_filters, filter_of, in_store, why_nothing
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.crawl.outputs import is_remote, output
from sitecrawl.crawldir.durable import replaced
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.workers import Reader
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.export.changes import GONE, MOVED, News, changes
from sitecrawl.plugins.export.chunks import FIELDS as CHUNK_FIELDS
from sitecrawl.plugins.export.chunks import LEAST_WORDS, MOST_WORDS, WORDS, parts_of
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.folder import FolderWriter
from sitecrawl.plugins.export.formats import CHANGE, USUAL, WRITERS, Field, fields_named, format_of, row_of
from sitecrawl.plugins.export.pages import Choice, Pages, pages_with_texts
from sitecrawl.plugins.export.passing import Once
from sitecrawl.plugins.export.wacz import WaczWriter

_T = TypeVar("_T")
_LAST = "last"
_LEFT = frozenset({GONE, MOVED})
"""What has become of pages that are there no more."""
_STDOUT = "-"
_MARKDOWN = "markdown"
_FORMS = ("pages", "wacz")
_NOT_OF_ARCHIVES = (
    "fields", "format", "all", "limit", "status", "host", "type", "url_like", "since", "unique", "chunks",
)  # fmt: skip
"""Options."""


class Command(ReadingCommand):
    """Write the pages of a crawl as a table (JSON lines, CSV or Parquet), or everything as one archive that replays
    (WACZ). The ending of the file's name chooses the format. Works while the crawl runs.
    """

    usage = "[options] [pages | wacz]"
    summary = "Write a crawl's pages or archive for other programs"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_filters(parser, since=f"; {_LAST}: what is new, changed, gone or moved since the last such export")
        parser.add_argument(
            "-o", "--output", metavar="FILE", default=_STDOUT, help="a file or a URL (default: -, stdout)"
        )
        parser.add_argument(
            "--format",
            choices=(*WRITERS, _MARKDOWN),
            help=f"default: by the file's name; jsonl for stdout; {_MARKDOWN}: a folder of files",
        )
        parser.add_argument(
            "--fields",
            metavar="NAMES",
            help="columns, separated by commas (default: all but links, markdown, jsonld, microdata, opengraph)",
        )
        parser.add_argument(
            "--all", action="store_true", help="every stored version, not only the newest of each URL"
        )
        parser.add_argument(
            "--unique", action="store_true", help="of pages with the same title and text only the first"
        )
        parser.add_argument(
            "--chunks",
            type=int,
            nargs="?",
            const=WORDS,
            metavar="WORDS",
            help=f"a row for each part of a page, with its headings; of at most so many words (default: {WORDS})",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="at most this many pages")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        form = args[0] if args else _FORMS[0]
        if form not in _FORMS or len(args) > 1:
            raise UsageError(f"name one of: {', '.join(_FORMS)}", print_help=False)
        ListingCommand.check_limit(opts)
        with exit_code_on_error(self):
            self.write(form, opts)

    def write(self, form: str, opts: argparse.Namespace) -> None:
        """Write `pages` or `wacz`. Raises `SitecrawlError`."""
        export = {"pages": self._table, "wacz": self._wacz, _MARKDOWN: self._folder}[_checked(form, opts)]
        news: list[News] = []
        with output(opts.output, self.settings) as target:
            what, unreadable = export(opts, target, news)
        for one in news:
            one.taken()
        if opts.output != _STDOUT:
            print(f"{what} are in {visible(opts.output)}", file=sys.stderr)
        if unreadable:
            told = counted(unreadable, "page")
            print(f"scrapy: no text of {told} that cannot be read: `scrapy check-crawl` says why", file=sys.stderr)

    def _table(self, opts: argparse.Namespace, target: str, news: list[News]) -> tuple[str, int]:
        form = _format(opts)
        usual = USUAL if opts.since != _LAST else (*USUAL, CHANGE)
        try:
            fields = fields_named(opts.fields) if opts.fields is not None else usual
        except OptionError as error:
            raise UsageError(f"--fields: {error}", print_help=False) from error
        with self._chosen(opts, fields, news) as chosen:
            pages = _Counted(chosen.pages)
            if opts.chunks is None:
                rows = _Counted(row_of(fields, page) for page in pages)
            else:
                fields = CHUNK_FIELDS
                present = (page for page in pages if page.change not in _LEFT)
                rows = _Counted(row_of(fields, part) for page in present for part in parts_of(page, opts.chunks))
            with _file(target) as file:
                WRITERS[form](fields, rows, file)
            of_chunks = f"{counted(rows.number, 'chunk')} of " if opts.chunks is not None else ""
            return chosen.said(f"{of_chunks}{counted(pages.number, 'page')}", is_empty=not pages.number)

    def _folder(self, opts: argparse.Namespace, target: str, news: list[News]) -> tuple[str, int]:
        with self._chosen(opts, (), news) as chosen:
            folder = FolderWriter(Path(target))
            folder.write(page for page in chosen.pages if page.change not in _LEFT)
            told = counted(folder.number, "page")
            if folder.without_text:
                told += f" ({counted(folder.without_text, 'page')} without text left out)"
            return chosen.said(told, is_empty=not folder.number + folder.without_text)

    @contextmanager
    def _chosen(self, opts: argparse.Namespace, fields: Sequence[Field], news: list[News]) -> Iterator[_Chosen]:
        """The pages that are meant, for `fields`; adds to `news` what is to be told when they are where they are to
        go. Raises `StorageError`.
        """
        goes_on, opts.since = opts.since == _LAST, None if opts.since == _LAST else opts.since
        use, agent = self._use()
        wanted = replace(filter_of(opts), kind=opts.kind or "page")
        choice = Choice(wanted, all=opts.all, limit=None if opts.unique else opts.limit, use=use)
        with (
            self.pages(opts) as reader,
            self._frontier(opts, fields) as frontier,
            pages_with_texts(reader, frontier, agent) as pages,
            Once() as known,
        ):
            if goes_on:
                news.append(News(pages.directory, pages.stores))
                choice = replace(choice, spans=news[0].spans)
                for name in news[0].began_anew:
                    print(f"scrapy: {name} has been cut back or made again: all of it counts as new", file=sys.stderr)
            found = pages.chosen(choice)
            if goes_on and not opts.all and opts.kind is None:
                told = (change.page for change in changes(pages, news[0].spans, filter_of(opts)))
                found = (page for page in told if not pages.is_refused(page, use))
            chosen = _Chosen(reader, pages, choice, found)
            if opts.unique:
                chosen.leave_out_repeats(known, opts.limit)
            yield chosen
            if use:
                print(f"scrapy: left out, for they refuse {use}: {counted(pages.refused, 'page')}", file=sys.stderr)

    def _use(self) -> tuple[str, str]:
        """The stated use of the pages, and the crawler's name in robots.txt."""
        return USE.read(self.settings), robots_agent(self.settings)

    @contextmanager
    def _frontier(self, opts: argparse.Namespace, fields: Sequence[Field]) -> Iterator[Path | None]:
        """Where the frontier is, a copy of that of a cluster, if any of the `fields` needs it; else None."""
        with ExitStack() as copy:
            directory = None
            if any(field.name == "importance" for field in fields):
                try:
                    directory = copy.enter_context(self.crawl(opts))
                except StorageError as error:
                    print(f"scrapy: {error}. No importance is known", file=sys.stderr)
            yield directory

    def _wacz(self, opts: argparse.Namespace, name: str, _: list[News]) -> tuple[str, int]:
        with self.pages(opts) as reader, pages_with_texts(reader) as pages:
            with _file(name) as file:
                title = pages.directory.resolve().name
                written = WaczWriter(pages, file).write(title, f"sitecrawl {sitecrawl.__version__}")
            if not written.pages:
                _say_nothing(reader, Choice())
            if use := self._use()[0]:
                print(f"scrapy: the archive has all pages, those that refuse {use}, too", file=sys.stderr)
            of_files = f"{counted(written.captures, 'capture')} of {counted(written.files, 'WARC file')}"
            return f"{of_files}, with a list of {counted(written.pages, 'successful page')},", pages.unreadable


class _Chosen:
    """The pages of an export, and what is said when they are written."""

    def __init__(self, reader: Reader, source: Pages, choice: Choice, pages: Iterable[ExportedPage]) -> None:
        self._reader = reader
        self._source = source
        self._choice = choice
        self.pages = pages
        self._repeats = 0

    def leave_out_repeats(self, known: Once, limit: int | None) -> None:
        self.pages = islice(self._first_ones(self.pages, known), limit)

    def _first_ones(self, pages: Iterable[ExportedPage], known: Once) -> Iterator[ExportedPage]:
        for page in pages:
            if page.change in _LEFT or known.is_new(*page.content):
                yield page
            else:
                self._repeats += 1

    def said(self, what: str, *, is_empty: bool) -> tuple[str, int]:
        """What was written, in words, and how many pages could not be read."""
        if self._repeats:
            what = f"{what} ({self._repeats:,} that say what another one says are not)"
        if is_empty and not self._source.refused:
            _say_nothing(self._reader, self._choice)
        return what, self._source.unreadable


def _checked(form: str, opts: argparse.Namespace) -> str:
    """The form, or `markdown` for a folder. Raises `UsageError` for options that make no sense together."""
    if form == "wacz":
        _refuse(opts, form, *_NOT_OF_ARCHIVES)
        if not opts.output.endswith(".wacz"):
            raise UsageError("--output: end the file's name with .wacz", print_help=False)
    elif opts.format == _MARKDOWN:
        _refuse(opts, f"--format {_MARKDOWN}", "fields", "all", "chunks")
        if opts.output == _STDOUT or is_remote(opts.output) or Path(opts.output).is_file():
            raise UsageError(f"--format {_MARKDOWN} writes a folder: name one here with -o", print_help=False)
        form = _MARKDOWN
    elif opts.chunks is not None:
        _refuse(opts, "--chunks", "fields")
        if not LEAST_WORDS <= opts.chunks <= MOST_WORDS:
            wanted = f"between {LEAST_WORDS} and {MOST_WORDS:,}"
            raise UsageError(f"--chunks: {opts.chunks} is not {wanted}", print_help=False)
    if opts.since == _LAST and opts.limit is not None:
        raise UsageError("--limit would leave out what --since last never gives again", print_help=False)
    return form


def _format(opts: argparse.Namespace) -> str:
    """Raises `UsageError` where nothing says it, or it cannot go there."""
    form = opts.format or format_of(opts.output) or ("jsonl" if opts.output == _STDOUT else None)
    if form is None:
        ends = ", .".join(WRITERS)
        raise UsageError(f"--output: end the file's name with .{ends}, or name a --format", print_help=False)
    if form == "parquet" and opts.output == _STDOUT:
        raise UsageError("Parquet goes into a file: name one with -o", print_help=False)
    return str(form)


def _refuse(opts: argparse.Namespace, form: str, *names: str) -> None:
    """Raises `UsageError` where an option is given that `form` does not take."""
    for name in names:
        if getattr(opts, name):
            raise UsageError(f"scrapy export {form} takes no --{name.replace('_', '-')}", print_help=False)


def _say_nothing(reader: Reader, choice: Choice) -> None:
    """Say on stderr why there are no rows, lest an empty table be taken for an empty crawl."""
    why = in_store(reader, "nothing new") if choice.spans is not None else why_nothing(reader, choice.wanted)
    print(f"scrapy: {why}", file=sys.stderr)


class _Counted(Generic[_T]):
    """Rows, and how many of them have been asked for."""

    def __init__(self, rows: Iterable[_T]) -> None:
        self._rows = rows
        self.number = 0

    def __iter__(self) -> Iterator[_T]:
        for row in self._rows:
            self.number += 1
            yield row


@contextmanager
def _file(name: str) -> Iterator[BinaryIO]:
    """To write an export into. Raises `StorageError`."""
    if name == _STDOUT:
        yield sys.stdout.buffer
        return
    with file_errors(Path(name)), replaced(Path(name)) as file:
        yield file
