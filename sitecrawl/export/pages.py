"""The pages of a crawl, one after the other, each with all that is known of it.

Of each URL the newest page counts, unless all are asked for. Pages are read in chunks, with one question a chunk for
the times of their URLs: memory does not grow with their number. What needs the page's bytes is read off them when it
is first asked for, so an export that wants none opens no WARC file.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import InvalidUrl, StorageError
from sitecrawl.documents.document import Document
from sitecrawl.documents.kinds import Kind, kind_of, may_be_document
from sitecrawl.export.fields import Field, Value
from sitecrawl.export.rights import HostRights, Said, said_of
from sitecrawl.export.text import markdown_of, text_of
from sitecrawl.http.uses import TDM_FILE
from sitecrawl.page.budget import exceeded, within
from sitecrawl.page.items import PageItem
from sitecrawl.page.language import primary_language
from sitecrawl.page.links import AGENT, read_page
from sitecrawl.page.markdown import joined
from sitecrawl.page.media_type import HTML
from sitecrawl.page.tables import Block
from sitecrawl.pagestore.capture import Capture, clean_text
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.reader import PageFilter, PageReader, StoredPage
from sitecrawl.pagestore.warc_store import WARC_DIRECTORY
from sitecrawl.pagestore.workers import Reader, WorkersReader, readers_of
from sitecrawl.urls.url import path_start

if TYPE_CHECKING:
    from sitecrawl.export.importance import Importance
    from sitecrawl.export.metadata import Metadata

_CHUNK: Final = 500
_PAGES: Final = PageFilter(kind="page")
_MAX_HOSTS: Final = 1_000
"""Hosts of which is kept what their files say."""
_MAX_HOPS: Final = 20
"""Redirects that are followed: as many as browsers do."""
_END_OF_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


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
    """Leave out what refuses this use (`sitecrawl.http.uses.USES`)."""


class Documents(Protocol):
    """Reads PDF and Office files, which is no work for this process."""

    def read(self, kind: Kind, body: bytes) -> Document | None:
        """None for one that cannot be read."""


class _Times(NamedTuple):
    first: float
    last: float
    newest: tuple[int, int]
    """The number of the store that has it, and its id there."""


class ExportedPage:
    """A capture, and what is known of it."""

    def __init__(self, source: Pages, reader: PageReader, capture: Capture, times: _Times) -> None:
        self._source = source
        self._reader = reader
        self.capture = capture
        self.first_fetched, self.last_fetched = times.first, times.last
        self.change: str | None = None
        """What has become of it, where that was asked for."""
        self._is_measured = False

    @cached_property
    def stored(self) -> StoredPage | None:
        """Its headers and body; None where they cannot be read, which is counted."""
        try:
            return self._reader.read(self.capture)
        except StorageError:
            self._source.unreadable += 1
            return None

    @cached_property
    def shown(self) -> StoredPage | None:
        """What a reader sees of it: the DOM where a browser has made one of it, and else what came."""
        dom = self._reader.rendered(self.capture)
        if dom is None:
            return self.stored
        try:
            return self._reader.read(dom)
        except StorageError:
            return self.stored

    @cached_property
    def item(self) -> PageItem | None:
        """What is read off it again; None where nothing can be."""
        if self.shown is None:
            return None
        try:
            return read_page(self.capture.url, self.shown.body, self.shown.headers)
        except InvalidUrl:
            return None

    @cached_property
    def document(self) -> Document | None:
        """What is read off it if it is a PDF or Office file, and can be read."""
        if self.capture.kind != "page" or not may_be_document(self.capture.content_type) or self.stored is None:
            return None
        return self._source.read_document(self.capture.content_type, self.stored.body)

    @property
    def title(self) -> str | None:
        if self.capture.title is not None or self.document is None or self.document.title is None:
            return self.capture.title
        return clean_text(self.document.title)

    @property
    def language(self) -> str | None:
        if self.capture.language is not None or self.document is None:
            return self.capture.language
        return primary_language(self.document.language or "")

    @cached_property
    def text(self) -> str | None:
        body = self._body()
        if body is None or self.document is not None:
            return None if self.document is None else clean_text(self.document.text)
        return text_of(body, self.capture.content_type, self.shown_charset)

    @cached_property
    def blocks(self) -> Sequence[Block] | None:
        """Its text as Markdown; None of what has no text."""
        body = self._body()
        if body is None or self.document is not None:
            return None if self.document is None else [Block(clean_text(self.document.text), kind="code")]
        base = self.item.base if self.item is not None and self.item.base else self.capture.url
        return markdown_of(body, self.capture.content_type, self.shown_charset, base)

    @cached_property
    def metadata(self) -> Metadata | None:
        """What it says of itself to machines; None of what is no HTML."""
        if self.shown is None or self.shown_charset is None or self.capture.content_type not in HTML:
            return None
        from sitecrawl.export.metadata import Metadata  # noqa: PLC0415 - the rules, which a search needs not

        text = within(self.shown.body).decode(self.shown_charset, "replace")
        return Metadata(self.capture.url, text, self.capture.content_type)

    @property
    def content(self) -> tuple[str, ...]:
        """By which pages that say the same are known: title and text, or the body of what has no text."""
        if self.text is None:
            return ("body", self.capture.digest)
        return ("text", self.title or "", " ".join(self.text.split()))

    @property
    def markdown(self) -> str | None:
        return None if self.blocks is None else joined(self.blocks)

    def _body(self) -> bytes | None:
        """What its text is read off, unless that is a document."""
        if self.shown is None:
            return None
        self._source.has_asked_for_text |= self.capture.content_type in HTML
        if self.document is None and self.capture.charset is not None and not self._is_measured:
            self._is_measured = True
            self._source.shortened += exceeded(self.shown.body) is not None
        return self.shown.body

    @property
    def shown_charset(self) -> str | None:
        return self.capture.charset if self.shown is self.stored else "utf-8"  # in which every DOM is written

    @property
    def links(self) -> list[str]:
        """Where it links to, each URL once."""
        if self.item is None:
            return []
        return [clean_text(link.url) for link in self.item.links]

    @cached_property
    def said(self) -> Said:
        """What it, and its site, ask of machines."""
        capture, stored = self.capture, self.stored
        headers, body = ((), b"") if stored is None else (stored.headers, stored.body)
        host = self._source.rights_of(capture)
        kind, charset = capture.content_type, capture.charset
        agent = self._source.agent
        return said_of(capture.url, headers, body, content_type=kind, charset=charset, host=host, agent=agent)

    @property
    def anchors(self) -> list[tuple[str, str]]:
        """What its links to other pages say: key of the URL, and text."""
        if self.item is None:
            return []
        keyed = [(url_key(link.url), clean_text(link.text)) for link in self.item.links if link.text]
        return [(key, text) for key, text in keyed if key != self.capture.url_key]

    @property
    def modified(self) -> datetime | None:
        """What its Last-Modified says, if that is a time."""
        headers = () if self.stored is None else self.stored.headers
        said = [value.decode("latin-1") for name, value in headers if name.lower() == b"last-modified"]
        try:
            found = parsedate_to_datetime(said[-1]) if said else None
            return None if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError, TypeError):
            return None

    @property
    def final_url(self) -> str:
        """Where its redirects end, as far as the crawl has followed them; its own URL if it is none."""
        return self._source.end_of(self.capture)

    @property
    def importance(self) -> float | None:
        return self._source.importance.of(self.capture)

    @property
    def warc_file(self) -> str:
        """Its path, from the crawl's directory on."""
        return self._source.place_of(self._reader, self.capture)

    def row(self, fields: Collection[Field]) -> dict[str, Value]:
        return {field.name: _VALUES[field.name](self) for field in fields}


def time_of(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds < _END_OF_TIME else None


_VALUES: Final[dict[str, Callable[[ExportedPage], Value]]] = {
    "url": lambda page: page.capture.url,
    "final_url": lambda page: page.final_url,
    "status": lambda page: page.capture.status,
    "kind": lambda page: page.capture.kind,
    "first_fetched": lambda page: time_of(page.first_fetched),
    "last_fetched": lambda page: time_of(page.last_fetched),
    "modified": lambda page: page.modified,
    "type": lambda page: page.capture.content_type,
    "charset": lambda page: page.capture.charset,
    "language": lambda page: page.language,
    "title": lambda page: page.title,
    "text": lambda page: page.text,
    "pages": lambda page: None if page.document is None else page.document.pages,
    "importance": lambda page: page.importance,
    "depth": lambda page: page.capture.depth,
    "referrer": lambda page: page.capture.referrer,
    "canonical": lambda page: page.capture.canonical,
    "noindex": lambda page: None if page.capture.noindex is None else bool(page.capture.noindex),
    "size": lambda page: page.capture.payload_size if page.capture.size is None else page.capture.size,
    "digest": lambda page: f"sha1:{page.capture.digest}",
    "is_revisit": lambda page: page.capture.revisit_of is not None,
    "warc_file": lambda page: page.warc_file,
    "warc_offset": lambda page: page.capture.warc_offset,
    "links": lambda page: page.links,
    "change": lambda page: page.change,
    "markdown": lambda page: page.markdown,
    "jsonld": lambda page: page.metadata.jsonld if page.metadata else None,
    "microdata": lambda page: page.metadata.microdata if page.metadata else None,
    "opengraph": lambda page: page.metadata.opengraph if page.metadata else None,
    "usage": lambda page: page.said.preferences,
    "tdm_reservation": lambda page: page.said.reservation,
    "tdm_policy": lambda page: page.said.policy,
    "licenses": lambda page: page.said.licenses,
    "robots": lambda page: page.said.directives,
}


class Pages:
    """The pages in `reader`, with the texts of `documents` among them, and their importance in the `frontier` that is
    in a directory, the crawl's own if none is named. Closes what it opens itself, and not what it was given.
    """

    def __init__(
        self,
        reader: Reader,
        documents: Documents | None = None,
        frontier: Path | None = None,
        agent: str = AGENT,
    ) -> None:
        self.agent = agent
        """By which robots.txt knows the crawl."""
        self.refused = 0
        """Pages so far that were left out, for they refuse the use that was named."""
        self._rights: dict[tuple[str, int, int], HostRights] = {}
        self._documents = documents
        self._frontier = frontier or reader.directory
        self.directory = reader.directory
        self._workers = reader if isinstance(reader, WorkersReader) else None
        self.readers = readers_of(reader)
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
    def importance(self) -> Importance:
        """Opened when it is first asked for."""
        from sitecrawl.export.importance import Importance  # noqa: PLC0415 - the frontier, which a search needs not

        return self._open.enter_context(Importance(self._frontier))

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

    def page_of(self, reader: PageReader, capture: Capture) -> ExportedPage:
        """What is known of one capture of a store."""
        times = self._times([capture]).get((capture.url_key, capture.kind))
        return ExportedPage(self, reader, capture, times or _Times(capture.fetched, capture.fetched, (0, 0)))

    def rights_of(self, capture: Capture) -> HostRights:
        """What the files of its host say, as they were when it was fetched."""
        root = capture.url[: path_start(capture.url)]
        robots, tdm = self._as_of(f"{root}/robots.txt", capture), self._as_of(root + TDM_FILE, capture)
        ids = [0 if one is None else one[1].id for one in (robots, tdm)]
        key = root, ids[0], ids[1]
        if key not in self._rights:
            if len(self._rights) >= _MAX_HOSTS:
                self._rights.clear()
            self._rights[key] = HostRights.read(_body_of(robots), _body_of(tdm), self.agent)
        return self._rights[key]

    def _as_of(self, url: str, page: Capture) -> tuple[PageReader, Capture] | None:
        """The newest answer with a body from before the page was fetched, or else the oldest; None without one."""
        found = [
            (reader, one) for reader in self.readers for one in reader.versions(url_key(url)) if one.status == 200
        ]
        found.sort(key=lambda pair: pair[1].fetched)
        before = [pair for pair in found if pair[1].fetched <= page.fetched]
        return before[-1] if before else found[0] if found else None

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
                own = _Times(capture.fetched, capture.fetched, (number, capture.id))
                known = own if capture.method != "GET" else times.get((capture.url_key, capture.kind), own)
                if choice.all or known.newest == own.newest:
                    yield ExportedPage(self, reader, capture, known)

    def _times(self, captures: Collection[Capture]) -> dict[tuple[str, str], _Times]:
        """When what stands at the URLs of `captures` was fetched first and last, by key and kind."""
        keys = list({capture.url_key for capture in captures})
        marks = ", ".join("?" * len(keys))
        query = f"SELECT url_key, kind, fetched, id FROM pages WHERE url_key IN ({marks}) AND method = 'GET'"  # noqa: S608 - only marks
        times: dict[tuple[str, str], _Times] = {}
        for number, reader in enumerate(self.readers):
            for key, kind, fetched, row in reader.rows(query, keys):
                if not self.counts(reader, row):
                    continue
                known = times.get((key, kind))
                one = _Times(fetched, fetched, (number, row))
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


def _body_of(found: tuple[PageReader, Capture] | None) -> bytes | None:
    if found is None:
        return None
    reader, capture = found
    try:
        return reader.read(capture).body
    except StorageError:
        return None


def _name(store: Path, crawl: Path) -> str:
    return store.relative_to(crawl).as_posix() if store.is_relative_to(crawl) else store.name


def _joined(known: _Times, one: _Times) -> _Times:
    newest = one.newest if (one.last, one.newest) > (known.last, known.newest) else known.newest
    return _Times(min(known.first, one.first), max(known.last, one.last), newest)
