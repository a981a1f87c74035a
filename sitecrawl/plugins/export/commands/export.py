"""`scrapy export`: what a crawl has stored, in the forms that others take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from scrapy.exceptions import UsageError

import sitecrawl
from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.console.base_command import ListingCommand, ReadingCommand
from sitecrawl.console.filters import add_filters, filter_of
from sitecrawl.console.nothing import Counted, in_store, why_nothing
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.crawl.outputs import is_remote, output
from sitecrawl.crawldir.durable import replaced, write_atomically
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.workers import Reader
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.export.changes import GONE, MOVED, changes
from sitecrawl.plugins.export.chunks import FIELDS as CHUNK_FIELDS
from sitecrawl.plugins.export.chunks import LEAST_WORDS, MOST_WORDS, WORDS, chunk_rows
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.fields import CHANGE, USUAL, Field, fields_named
from sitecrawl.plugins.export.folder import FolderWriter
from sitecrawl.plugins.export.formats import WRITERS, format_of
from sitecrawl.plugins.export.marks import News
from sitecrawl.plugins.export.pages import Choice, Pages
from sitecrawl.plugins.export.passing import Once
from sitecrawl.plugins.export.texts import pages_with_texts
from sitecrawl.plugins.export.wacz import WaczWriter

_LAST = "last"
_LEFT = frozenset({GONE, MOVED})
"""What has become of pages that are there no more."""
_STDOUT = "-"
_MARKDOWN = "markdown"
_FORMS = ("pages", "wacz")


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
        assert self.settings is not None
        export = {"pages": self._table, "wacz": self._wacz}[form]
        if form == "pages" and opts.format == _MARKDOWN:
            export = self._folder
            _check_folder(opts)
        with output(opts.output, self.settings) as target:
            written = export(opts, target)
        written.taken()
        _report(opts.output, written)

    def _table(self, opts: argparse.Namespace, target: str) -> Written:
        form = _format(opts)
        usual = USUAL if opts.since != _LAST else (*USUAL, CHANGE)
        try:
            fields = fields_named(opts.fields) if opts.fields is not None else usual
        except OptionError as error:
            raise UsageError(f"--fields: {error}", print_help=False) from error
        with self._chosen(opts, fields) as chosen:
            pages = Counted(chosen.pages)
            if opts.chunks is None:
                _write(target, WRITERS[form](fields, (page.row(fields) for page in pages)))
                return chosen.written(f"{pages.number:,} pages", is_empty=not pages.number)
            rows = Counted(row for page in pages for row in chunk_rows(page, opts.chunks) if page.change not in _LEFT)
            _write(target, WRITERS[form](CHUNK_FIELDS, rows))
            what = f"{rows.number:,} chunks of {pages.number:,} pages"
            return chosen.written(what, is_empty=not pages.number)

    def _folder(self, opts: argparse.Namespace, target: str) -> Written:
        with self._chosen(opts) as chosen:
            folder = FolderWriter(Path(target))
            folder.write(page for page in chosen.pages if page.change not in _LEFT)
            without = f" ({folder.without_text:,} pages without text are not)" if folder.without_text else ""
            written = f"{folder.number:,} pages{without}"
            return chosen.written(written, is_empty=not folder.number + folder.without_text)

    @contextmanager
    def _chosen(self, opts: argparse.Namespace, fields: Sequence[Field] = ()) -> Iterator[_Chosen]:
        """The pages that are meant, for `fields`. Raises `UsageError`, `StorageError`."""
        if opts.chunks is not None:
            _check_chunks(opts)
        goes_on = _goes_on(opts)
        use, agent = self._use()
        choice = replace(_choice(opts), limit=None if opts.unique else opts.limit, use=use)
        with (
            self.pages(opts) as reader,
            self._frontier(opts, fields) as frontier,
            pages_with_texts(reader, frontier, agent) as pages,
            Once() as known,
        ):
            news = News(pages.directory, pages.stores) if goes_on else None
            if news is not None:
                choice = replace(choice, spans=news.spans)
                for name in news.began_anew:
                    print(f"scrapy: {name} has been cut back or made again: all of it counts as new", file=sys.stderr)
            found = pages.chosen(choice)
            if news is not None and not opts.all and opts.kind is None:
                told = (change.page for change in changes(pages, news.spans, filter_of(opts)))
                found = (page for page in told if not pages.is_refused(page, use))
            chosen = _Chosen(reader, pages, choice, news, found)
            if opts.unique:
                chosen.leave_out_repeats(known, opts.limit)
            yield chosen
            _say_refused(pages, use)

    def _use(self) -> tuple[str, str]:
        """What the pages are for, if that is said, and our name to robots.txt."""
        assert self.settings is not None
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

    def _wacz(self, opts: argparse.Namespace, name: str) -> Written:
        own = ("unique", "chunks")
        _refuse(opts, "wacz", "fields", "format", "all", "limit", "status", "host", "type", "url_like", "since", *own)
        target = Path(name)
        if target.suffix != ".wacz":
            raise UsageError("--output: end the file's name with .wacz", print_help=False)
        with self.pages(opts) as reader, pages_with_texts(reader) as pages:
            with file_errors(target), replaced(target) as file:
                title = pages.directory.resolve().name
                written = WaczWriter(pages, file).write(title, f"sitecrawl {sitecrawl.__version__}")
            if not written.pages:
                _say_nothing(reader, Choice())
            if use := self._use()[0]:
                print(f"scrapy: the archive has all pages, those that refuse {use}, too", file=sys.stderr)
            what = f"{written.captures:,} captures, {written.pages:,} of them pages, of {written.files:,} WARC files,"
            return Written(what, pages.unreadable)


def _nothing_taken() -> None:
    """The next export does not go on from this one."""


class Written(NamedTuple):
    """What an export has come to."""

    what: str
    """In words."""
    unreadable: int
    """Pages."""
    taken: Callable[[], None] = _nothing_taken
    """To be called when it is where it was to go."""


class _Chosen:
    """The pages of an export, and what is said when they are written."""

    def __init__(
        self, reader: Reader, source: Pages, choice: Choice, news: News | None, pages: Iterable[ExportedPage]
    ) -> None:
        self._reader = reader
        self._source = source
        self._choice = choice
        self._news = news
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

    def written(self, what: str, *, is_empty: bool) -> Written:
        if self._repeats:
            what = f"{what} ({self._repeats:,} that say what another one says are not)"
        if is_empty:
            _say_nothing(self._reader, self._choice)
        return Written(what, self._source.unreadable, self._news.taken if self._news is not None else _nothing_taken)


def _check_chunks(opts: argparse.Namespace) -> None:
    """Raises `UsageError` where there can be no chunks as they are wanted."""
    _refuse(opts, "--chunks", "fields")
    if not LEAST_WORDS <= opts.chunks <= MOST_WORDS:
        raise UsageError(f"--chunks: {opts.chunks} is not between {LEAST_WORDS} and {MOST_WORDS:,}", print_help=False)


def _check_folder(opts: argparse.Namespace) -> None:
    """Raises `UsageError` where a folder cannot be what is wanted."""
    _refuse(opts, f"--format {_MARKDOWN}", "fields", "all", "chunks")
    if opts.output == _STDOUT or is_remote(opts.output) or Path(opts.output).is_file():
        raise UsageError(f"--format {_MARKDOWN} writes a folder: name one here with -o", print_help=False)


def _format(opts: argparse.Namespace) -> str:
    """Raises `UsageError` where nothing says it, or it cannot go there."""
    form = opts.format or format_of(opts.output) or ("jsonl" if opts.output == _STDOUT else None)
    if form is None:
        ends = ", .".join(WRITERS)
        raise UsageError(f"--output: end the file's name with .{ends}, or name a --format", print_help=False)
    if form == "parquet" and opts.output == _STDOUT:
        raise UsageError("Parquet goes into a file: name one with -o", print_help=False)
    return str(form)


def _choice(opts: argparse.Namespace) -> Choice:
    """What is wanted: pages, where no kind is named."""
    return Choice(replace(filter_of(opts), kind=opts.kind or "page"), all=opts.all, limit=opts.limit)


def _goes_on(opts: argparse.Namespace) -> bool:
    """Whether it is to begin where the last one ended: that is no time then."""
    if opts.since != _LAST:
        return False
    if opts.limit is not None:
        raise UsageError("--limit would leave out what --since last never gives again", print_help=False)
    opts.since = None
    return True


def _refuse(opts: argparse.Namespace, form: str, *names: str) -> None:
    """Raises `UsageError` where an option is given that `form` does not take."""
    for name in names:
        if getattr(opts, name):
            raise UsageError(f"scrapy export {form} takes no --{name.replace('_', '-')}", print_help=False)


def _say_refused(pages: Pages, use: str) -> None:
    if use:
        print(f"scrapy: {pages.refused:,} pages are left out, for they refuse {use}", file=sys.stderr)


def _say_nothing(reader: Reader, choice: Choice) -> None:
    """On stderr: nobody should take a table without rows for a crawl without pages."""
    why = in_store(reader, "nothing new") if choice.spans is not None else why_nothing(reader, choice.wanted)
    print(f"scrapy: {why}", file=sys.stderr)


def _write(name: str, parts: Iterable[bytes]) -> None:
    """Raises `StorageError`."""
    if name == _STDOUT:
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    with file_errors(Path(name)):
        write_atomically(Path(name), parts)


def _report(name: str, written: Written) -> None:
    """On stderr: stdout may be the table."""
    if name != _STDOUT:
        print(f"{written.what} are in {visible(name)}", file=sys.stderr)
    if written.unreadable:
        print(
            f"scrapy: {written.unreadable:,} pages could not be read and have no text: `scrapy check-crawl` says why",
            file=sys.stderr,
        )
