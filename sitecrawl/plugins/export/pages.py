"""The pages of a crawl, one after the other, each with all that is known of it.

Of each URL the newest page counts, unless all are asked for. Pages are read in chunks, with one question a chunk for
the times of their URLs: memory does not grow with their number. What needs the page's bytes is read off them when it
is first asked for, so an export that wants none opens no WARC file.
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from sitecrawl.base.batches import batches
from sitecrawl.base.display import counted
from sitecrawl.base.errors import StorageError, how_to_install
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.page.budget import DEFAULT
from sitecrawl.page.links import AGENT
from sitecrawl.page.media_type import kind_of
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageFilter, PageReader
from sitecrawl.pagestore.warc_store import WARC_DIRECTORY
from sitecrawl.pagestore.workers import Reader, WorkersReader, readers_of
from sitecrawl.plugins.export.documents.document import NOT_INSTALLED, Document
from sitecrawl.plugins.export.documents.isolated import LIMITS, IsolatedDocuments
from sitecrawl.plugins.export.exported_page import ExportedPage, Times
from sitecrawl.plugins.export.rights import StoredRights
from sitecrawl.plugins.export.text import finds_main_text
from sitecrawl.urls.fingerprint import Fingerprinter

_CHUNK: Final = 500
_PAGES: Final = PageFilter(kind="page")
_MAX_HOPS: Final = 20
"""Redirects that are followed: as many as browsers do."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the stored captures are exported."""

    wanted: PageFilter = _PAGES
    all: bool = False
    """Every version, and not the newest of each URL alone."""
    spans: Mapping[str, tuple[int, int]] | None = None
    """By the name of a store: only captures with ids greater than the first, and not greater than the second."""
    limit: int | None = None
    use: str = ""
    """Leave out what refuses this use (`SITECRAWL_USE`)."""


class Pages:
    """The pages in `reader`, with the texts of `documents` among them, and their importance in the `frontier` that is
    in a directory, the crawl's own if none is named. Closes what it opens itself, and not what it was given.
    """

    def __init__(
        self,
        reader: Reader,
        documents: IsolatedDocuments | None = None,
        frontier: Path | None = None,
        agent: str = AGENT,
    ) -> None:
        self.refused = 0
        """Pages so far that were left out, for they refuse the use that was named."""
        self._documents = documents
        self._frontier = frontier or reader.directory
        self.directory = reader.directory
        self._workers = reader if isinstance(reader, WorkersReader) else None
        self.readers = readers_of(reader)
        self.rights = StoredRights(self.readers, agent)
        self._names = {reader: _name(reader.directory, self.directory) for reader in self.readers}
        self._open = ExitStack()
        self.unreadable = 0
        """Pages so far of which the record could not be read."""
        self.has_asked_for_text = False
        """Whether the text of a page of HTML was wanted."""
        self.cut = 0
        """Documents so far that have more text than was read."""
        self.shortened = 0
        """Pages so far that are longer than pages are read."""

    @cached_property
    def _ranked(self) -> tuple[FrontierReader, Callable[[str], bytes]] | None:
        """The frontier and its fingerprint of a URL, opened when first asked for. None where there is none: pages of
        workers, and pages that were collected into a directory of their own, have none beside them.
        """
        try:
            frontier = self._open.enter_context(FrontierReader(self._frontier))
        except StorageError:
            return None
        return frontier, Fingerprinter(frontier.manifest.fingerprint_key).url

    def importance_of(self, url_key: str) -> float | None:
        """Of the page with this URL key, from 0 to 1; None where it is not known."""
        if self._ranked is None:
            return None
        frontier, fingerprint = self._ranked
        record = frontier.record(fingerprint(url_key))
        return None if record is None else frontier.importance(record)

    @property
    def stores(self) -> list[tuple[str, PageReader]]:
        """With their names."""
        return [(name, reader) for reader, name in self._names.items()]

    def name_of(self, reader: PageReader) -> str:
        """That of a store: its directory's below that of the crawl, `.` where it is the crawl's own."""
        return self._names[reader]

    def counts(self, reader: PageReader, number: int) -> bool:
        """Whether the capture of that id is the crawl's, and not one of a worker that was killed before it told."""
        return self._workers is None or number not in self._workers.void_of(reader)

    def place_of(self, reader: PageReader, capture: Capture) -> str:
        name = self._names[reader]
        return (
            f"{WARC_DIRECTORY}/{capture.warc_file}" if name == "." else f"{name}/{WARC_DIRECTORY}/{capture.warc_file}"
        )

    def read_document(self, content_type: str, body: bytes) -> Document | None:
        """What `body` says, if it is a document, and one that can be read."""
        kind = None if self._documents is None else kind_of(content_type, body)
        if kind is None or self._documents is None:
            return None
        found = self._documents.read(kind, body)
        self.cut += found is not None and found.is_cut
        return found

    def chosen(self, choice: Choice) -> Iterator[ExportedPage]:
        """Oldest first, as far as each store has them so; at most as many as are wanted."""
        found = (self._of_store(number, choice) for number in range(len(self.readers)))
        count = 0
        for page in heapq.merge(*found, key=lambda page: page.capture.fetched):
            if count == choice.limit:
                return
            if self.is_refused(page, choice.use):
                continue
            count += 1
            yield page

    def is_refused(self, page: ExportedPage, use: str) -> bool:
        """Whether a page refuses a use, if one is named; counted."""
        is_refused = bool(use) and page.said.refuses(use, page.capture.content_type)
        self.refused += is_refused
        return is_refused

    def refuse(self, url: str, use: str) -> bool:
        """Whether the newest page of a URL, if one is stored, refuses a use, if one is named; counted."""
        found = [(reader, one) for reader in self.readers for one in reader.find(url)] if use else []
        return bool(found) and self.is_refused(self.page_of(*max(found, key=lambda one: one[1].fetched)), use)

    def page_of(self, reader: PageReader, capture: Capture) -> ExportedPage:
        """What is known of one capture of a store."""
        times = self._times([capture]).get((capture.url_key, capture.kind))
        return ExportedPage(self, reader, capture, times or Times(capture.fetched, capture.fetched, (0, 0)))

    def _of_store(self, number: int, choice: Choice) -> Iterator[ExportedPage]:
        reader = self.readers[number]
        wanted = choice.wanted
        if choice.spans is not None:
            after, up_to = choice.spans[self.name_of(reader)]
            wanted = replace(wanted, after=after, up_to=up_to)
        captures = reader.pages(wanted)
        if self._workers is not None:
            captures = self._workers.counting(reader, captures)
        for chunk in batches(captures, _CHUNK):
            times = self._times(chunk)
            for capture in chunk:
                own = Times(capture.fetched, capture.fetched, (number, capture.id))
                known = own if capture.method != "GET" else times.get((capture.url_key, capture.kind), own)
                if choice.all or known.newest == own.newest:
                    yield ExportedPage(self, reader, capture, known)

    def _times(self, captures: Collection[Capture]) -> dict[tuple[str, str], Times]:
        """When what stands at the URLs of `captures` was fetched first and last, by key and kind."""
        keys = list({capture.url_key for capture in captures})
        marks = ", ".join("?" * len(keys))
        query = f"SELECT url_key, kind, fetched, id FROM pages WHERE url_key IN ({marks}) AND method = 'GET'"  # noqa: S608 - only marks
        times: dict[tuple[str, str], Times] = {}
        for number, reader in enumerate(self.readers):
            for key, kind, fetched, row in reader.rows(query, keys):
                if not self.counts(reader, row):
                    continue
                known = times.get((key, kind))
                one = Times(fetched, fetched, (number, row))
                times[key, kind] = one if known is None else _joined(known, one)
        return times

    def end_of(self, capture: Capture) -> str:
        url, met = capture.url, {capture.url_key}
        target = capture.redirect_to if capture.kind == "redirect" else None
        while target is not None and len(met) <= _MAX_HOPS:
            url = target
            found = [one for reader in self.readers for one in reader.find(url, all=True)]
            after = max(found, key=lambda one: one.fetched, default=None)
            if after is None or after.url_key in met:
                break
            met.add(after.url_key)
            target = after.redirect_to if after.kind == "redirect" else None
        return url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _name(store: Path, crawl: Path) -> str:
    return store.relative_to(crawl).as_posix() if store.is_relative_to(crawl) else store.name


def _joined(known: Times, one: Times) -> Times:
    newest = one.newest if (one.last, one.newest) > (known.last, known.newest) else known.newest
    return Times(min(known.first, one.first), max(known.last, one.last), newest)


@contextmanager
def pages_with_texts(reader: Reader, frontier: Path | None = None, agent: str = AGENT) -> Iterator[Pages]:
    """Those in `reader`, and what is known of them in the `frontier`, if its directory is another; `agent` is
    our name to robots.txt. What documents lacked is said on stderr at the end.
    """
    with closing(IsolatedDocuments()) as documents, Pages(reader, documents, frontier, agent) as pages:
        yield pages
        for line in _lacking(documents.unread, pages):
            print(f"scrapy: {line}", file=sys.stderr)


def _lacking(unread: Mapping[str, int], pages: Pages) -> Iterator[str]:
    """A line for each thing that texts lack."""
    without = unread.get(NOT_INSTALLED, 0)
    missing = {}
    if pages.has_asked_for_text and not finds_main_text():
        missing["export"] = "texts are whole pages, not their main texts"
    if without:
        missing["documents"] = f"{_having(without, 'PDF file')} no text"
    if missing:
        yield f"{', and '.join(missing.values())}: {how_to_install(','.join(missing))}"
    others = Counter({reason: number for reason, number in unread.items() if reason != NOT_INSTALLED})
    if others:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in others.most_common())
        yield f"{_having(others.total(), 'document')} no text: {reasons}"
    if pages.cut:
        yield f"{_having(pages.cut, 'document')} more text than the {LIMITS.characters:,} characters that were read"
    if pages.shortened:
        most = f"the {DEFAULT.max_size:,} bytes or {DEFAULT.max_elements:,} elements that were read"
        yield f"{_having(pages.shortened, 'page')} more than {most}"


def _having(number: int, what: str) -> str:
    """A count with its verb: `1 page has`, `2 pages have`."""
    return f"{counted(number, what)} {'has' if number == 1 else 'have'}"
