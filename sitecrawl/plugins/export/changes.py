"""What has become of the pages of a crawl between two times: which are new, changed, gone or moved.

It is told from the captures alone. Of each URL the newest capture of the span that says what stands there
(`pagestore.reader.TELLS`) is held against the newest before the span. Two versions of a page with other bytes are
compared by their texts, so a token in the markup is no change. Memory does not grow with the number of pages.

Here are also the rows of `scrapy changes`; and how far earlier exports have come, so that the next one takes what is
new:

    exported.json in the crawl's directory: by the name of each store, the last id that was exported and the checksum
    of its row

That is told by ids, and not by time: what was begun before an export and stored after it belongs to the next. A crawl
that was killed, and one that was repaired, may store other captures under ids that were exported: then the row at the
mark is another, and everything counts as new. The mark is written after the export: a kill between the two exports
rows twice, and never none.
"""

from __future__ import annotations

import difflib
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from sitecrawl.base.batches import batches
from sitecrawl.base.display import one_line
from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.console.listing import Layout
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.page.links import text_digest
from sitecrawl.pagestore.capture import Capture, checksum
from sitecrawl.pagestore.console import time_of
from sitecrawl.pagestore.reader import TELLS, PageFilter, PageReader
from sitecrawl.pagestore.rounds import Round
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.formats import iso_of
from sitecrawl.plugins.export.pages import Pages

NEW, CHANGED, GONE, MOVED = "new", "changed", "gone", "moved"
_ALL: Final = PageFilter()
_CHUNK: Final = 500
_CONTEXT: Final = 1
"""Lines of a text that are shown before and behind each that has changed."""
_Spans = Mapping[str, tuple[int, int]]
"""By the name of a store: captures with ids greater than the first, and not greater than the second."""
FILE: Final = "exported.json"
_MAGIC: Final = "sitecrawl exported"
_FORMAT: Final = 1


class _Change(NamedTuple):
    """The change of one URL."""

    what: str
    now: ExportedPage
    before: ExportedPage | None
    """None of a page that is new."""

    @property
    def page(self) -> ExportedPage:
        """What is there now, which says what has become of it."""
        self.now.change = self.what
        return self.now

    @property
    def url(self) -> str:
        return self.now.capture.url

    def diff(self) -> list[str]:
        """The lines of both main texts that are not the same, as `diff -u` writes them; none of other changes."""
        if self.before is None or self.what != CHANGED:
            return []
        then, now = self.before, self.now
        old, new = ((page.text or "").splitlines() for page in (then, now))
        return list(
            difflib.unified_diff(old, new, time_of(then.capture), time_of(now.capture), n=_CONTEXT, lineterm="")
        )


class _Found(NamedTuple):
    """A capture, by when it came: the newest is the greatest."""

    fetched: float
    store: int
    id: int


def spans_of(pages: Pages, span: tuple[int, int]) -> _Spans:
    """The same span for each store."""
    return {name: span for name, _ in pages.stores}


def spans_since(pages: Pages, since: float) -> _Spans:
    """Captures fetched at a Unix time or later."""
    return {name: (store.last_before(since), store.last_id) for name, store in pages.stores}


def changes(pages: Pages, spans: _Spans, wanted: PageFilter = _ALL) -> Iterator[_Change]:
    """Those of `pages` whose newest captures are `wanted`; oldest first, as far as each store has them so."""
    found = (_of_store(pages, number, spans, wanted) for number in range(len(pages.readers)))
    return heapq.merge(*found, key=lambda change: change.now.capture.fetched)


def _of_store(pages: Pages, number: int, spans: _Spans, wanted: PageFilter) -> Iterator[_Change]:
    reader = pages.readers[number]
    for chunk in batches(reader.telling(*spans[pages.name_of(reader)], wanted), _CHUNK):
        known = _known(pages, spans, {capture.url_key for capture in chunk})
        for capture in chunk:
            now, before = known[capture.url_key]
            if now is not None and (now.store, now.id) == (number, capture.id):
                yield from _change(_page(pages, now, capture), None if before is None else _page(pages, before))


def _known(pages: Pages, spans: _Spans, keys: set[str]) -> dict[str, tuple[_Found | None, _Found | None]]:
    """By URL: its newest capture within the spans, and its newest before them."""
    marks = ", ".join("?" * len(keys))
    query = f"SELECT url_key, fetched, id FROM pages WHERE url_key IN ({marks}) AND {TELLS}"  # noqa: S608 - only marks
    known: dict[str, tuple[_Found | None, _Found | None]] = dict.fromkeys(keys, (None, None))
    for number, reader in enumerate(pages.readers):
        after, up_to = spans[pages.name_of(reader)]
        for key, fetched, row in reader.rows(query, list(keys)):
            if row > up_to or not pages.counts(reader, row):
                continue
            now, before = known[key]
            one = _Found(fetched, number, row)
            if row > after:
                known[key] = (one if now is None else max(now, one)), before
            else:
                known[key] = now, (one if before is None else max(before, one))
    return known


def _page(pages: Pages, found: _Found, capture: Capture | None = None) -> ExportedPage:
    reader = pages.readers[found.store]
    capture = capture or reader.get(found.id)
    assert capture is not None
    return pages.page_of(reader, capture)


def _change(now: ExportedPage, before: ExportedPage | None) -> Iterator[_Change]:
    was_page = before is not None and before.capture.kind == "page"
    kind = now.capture.kind
    if kind == "page" and not was_page:
        yield _Change(NEW, now, None)
    elif kind == "page" and before is not None and not _is_same(now, before):
        yield _Change(CHANGED, now, before)
    elif kind != "page" and was_page:
        yield _Change(MOVED if kind == "redirect" else GONE, now, before)


def _is_same(now: ExportedPage, before: ExportedPage) -> bool:
    """Whether a reader sees the same. What a browser has rendered is told by that alone."""
    is_plain = now.shown is now.stored and before.shown is before.stored
    if is_plain and now.capture.digest == before.capture.digest:
        return True
    if now.shown is None or before.shown is None:
        return False
    first, second = (
        text_digest(page.capture.content_type, page.shown_charset, page.shown.body)
        for page in (now, before)
        if page.shown
    )
    return first == second


# As rows, and as a feed


_COLUMNS: Final = ("change", "url", "fetched", "before", "status", "title", "to")


def _facts(change: _Change) -> dict[str, Any]:
    now, before = change.now.capture, change.before
    return {
        "change": change.what,
        "url": now.url,
        "fetched": iso_of(now.fetched),
        "before": None if before is None else iso_of(before.capture.fetched),
        "status": now.status,
        "title": now.title if now.kind == "page" or before is None else before.capture.title,
        "to": now.redirect_to,
    }


def _with_diff(change: _Change) -> dict[str, Any]:
    return {**_facts(change), "diff": "\n".join(change.diff())}


def _line(change: _Change) -> str:
    now = change.now.capture
    led = f" -> {one_line(now.redirect_to)}" if now.redirect_to else ""
    return f"{change.what:<8}  {time_of(now)}  {now.status:>6}  {one_line(now.url)}{led}"


def _lines(change: _Change) -> str:
    return "\n".join([_line(change), *(f"    {one_line(line)}" for line in change.diff())])


_HEADER: Final = f"{'change':<8}  {'fetched (UTC)':<19}  {'status':>6}  url"
CHANGES: Final = Layout(_HEADER, _line, _COLUMNS, _facts)
WITH_DIFFS: Final = Layout(_HEADER, _lines, (*_COLUMNS, "diff"), _with_diff)


def _round(found: Round) -> str:
    began = datetime.fromtimestamp(found.began, UTC)
    return f"{found.number:>5}  {began:%Y-%m-%d %H:%M:%S}  {found}{', not finished' if found.is_open else ''}"


def _of_round(found: Round) -> Mapping[str, Any]:
    ended = None if found.is_open else iso_of(found.ended)
    return {**asdict(found), "began": iso_of(found.began), "ended": ended}


ROUNDS: Final = Layout(
    f"{'round':>5}  {'began (UTC)':<19}  found", _round, [field.name for field in fields(Round)], _of_round
)


class Mark(NamedTuple):
    """The last capture of a store that was taken."""

    id: int = 0
    checksum: int = 0

    @classmethod
    def at_end_of(cls, reader: PageReader) -> Mark:
        last = reader.get(reader.last_id)
        return cls() if last is None else cls(last.id, checksum(last))

    def holds_in(self, reader: PageReader) -> bool:
        """Whether the capture is still the one that it was."""
        found = reader.get(self.id)
        return not self.id or (found is not None and checksum(found) == self.checksum)


def _read_marks(directory: Path) -> dict[str, Mark]:
    """By the name of a store; empty before any. Raises `StorageError`."""
    path = directory / FILE
    with file_errors(path):
        if not path.exists():
            return {}
        try:
            found = json.loads(path.read_bytes())
            if found["magic"] != _MAGIC or found["format"] != _FORMAT:
                raise FormatMismatch(f"{path} is of another version: delete it to export everything again")
            return {str(name): Mark(int(last), int(row)) for name, (last, row) in found["stores"].items()}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CorruptFile(f"{path} cannot be read ({error!r}): delete it to export everything again") from error


def _write_marks(directory: Path, marks: dict[str, Mark]) -> None:
    """Raises `StorageError`."""
    content = {"magic": _MAGIC, "format": _FORMAT, "stores": marks}
    with file_errors(directory / FILE):
        write_atomically(directory / FILE, [json.dumps(content, indent=1).encode()])


class News:
    """What stores have that the last export did not: from its marks to where they end now. Raises `StorageError`."""

    def __init__(self, directory: Path, stores: Sequence[tuple[str, PageReader]]) -> None:
        self._directory = directory
        self._ends = {name: Mark.at_end_of(reader) for name, reader in stores}
        marks = _read_marks(directory)
        begun = {name: marks.get(name, Mark()) for name, _ in stores}
        self.began_anew = [name for name, reader in stores if not begun[name].holds_in(reader)]
        """Stores of which everything counts as new, because they have been cut back or made again."""
        self.spans = {
            name: (0 if name in self.began_anew else begun[name].id, end.id) for name, end in self._ends.items()
        }

    def taken(self) -> None:
        """The next export begins where this one ends."""
        _write_marks(self._directory, self._ends)
