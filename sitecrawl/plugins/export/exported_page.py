"""A stored page, and all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sitecrawl.base.errors import EarlierCrawlMissing, InvalidUrl, StorageError
from sitecrawl.page.budget import exceeded, within
from sitecrawl.page.directives import primary_language
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import read_page
from sitecrawl.page.media_type import HTML, may_be_document
from sitecrawl.pagestore.capture import Capture, clean_text
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.reader import PageReader, StoredPage
from sitecrawl.plugins.export.documents.document import Document
from sitecrawl.plugins.export.markdown import Block, joined
from sitecrawl.plugins.export.rights import Said
from sitecrawl.plugins.export.text import markdown_of, text_of

if TYPE_CHECKING:
    from sitecrawl.plugins.export.metadata import Metadata
    from sitecrawl.plugins.export.pages import Pages


class Times(NamedTuple):
    """When what stands at a URL was fetched."""

    first: float
    last: float
    newest: tuple[int, int]
    """The number of the store that has it, and its id there."""


class ExportedPage:
    """A capture, and what is known of it."""

    def __init__(self, source: Pages, reader: PageReader, capture: Capture, times: Times) -> None:
        self._source = source
        self._reader = reader
        self.capture = capture
        self.first_fetched, self.last_fetched = times.first, times.last
        self.change: str | None = None
        """What has become of it, where that was asked for."""
        self._is_measured = False

    @cached_property
    def stored(self) -> StoredPage | None:
        """Its headers and body; None where they cannot be read, which is counted. Raises `EarlierCrawlMissing`."""
        try:
            return self._reader.read(self.capture)
        except EarlierCrawlMissing:
            raise
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
        except EarlierCrawlMissing:
            raise
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
        """The text of a PDF or Office file; None for anything else or an unreadable one."""
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
        """Machine-readable metadata; None if it is not HTML."""
        if self.shown is None or self.shown_charset is None or self.capture.content_type not in HTML:
            return None
        from sitecrawl.plugins.export.metadata import Metadata  # noqa: PLC0415 - the rules, which a search needs not

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
        rights = self._source.rights
        kind, charset, host = capture.content_type, capture.charset, rights.of(capture)
        return Said.of(capture.url, headers, body, content_type=kind, charset=charset, host=host, agent=rights.agent)

    @property
    def anchors(self) -> list[tuple[str, str]]:
        """What its links to other pages say: key of the URL, and text."""
        if self.item is None:
            return []
        keyed = [(url_key(link.url), clean_text(link.text)) for link in self.item.links if link.text]
        return [(key, text) for key, text in keyed if key != self.capture.url_key]

    @property
    def modified(self) -> datetime | None:
        """The time in Last-Modified, if valid."""
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
        return self._source.importance_of(self.capture.url_key)

    @property
    def warc_file(self) -> str:
        """Its path, from the crawl's directory on."""
        return self._source.place_of(self._reader, self.capture)
