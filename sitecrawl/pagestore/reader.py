"""Reading stored pages back, also while the crawl that stores them runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.page.codings import MAX_CONTENT, without_codings
from sitecrawl.page.items import Headers
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import Capture, Check, whole_row
from sitecrawl.pagestore.gzipping import decompress_last_member, decompress_member
from sitecrawl.pagestore.index import ELSEWHERE, ROW, connect_read_only, damaged_rows
from sitecrawl.pagestore.lookup import candidate_keys, with_slash
from sitecrawl.pagestore.record import CaptureKind
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY

if TYPE_CHECKING:
    from sitecrawl.pagestore.earlier import EarlierCrawls

_Values = Sequence[str | float] | Mapping[str, str | float]

_CHUNK = 500
"""Rows in one query. Between queries no transaction is open, which would keep a running crawl's WAL from
shrinking."""
_COUNT_ONCE = "kind IN ('page', 'rendered', 'view') AND method = 'GET'"
TELLS: Final = (
    "method = 'GET' AND (kind IN ('page', 'redirect') AND status != 304 OR kind = 'error' AND status IN (404, 410))"
)
"""Condition for captures that say what is at a URL: a page, a redirect, or nothing. Server failures and refusals
do not, nor does a 304."""
_HAS_BODY = "revisit_of IS NULL AND payload_size > 0 AND url_key != ''"
_MAX_HEADS = 1 << 20
"""Most bytes of a record besides the body: its own head, with a URL, and that of the HTTP message."""
_SAME_TIME = 2e-6
"""Seconds: a record's date is to the microsecond."""
LAST_ID = (1 << 63) - 1
"""Greatest integer of SQLite."""


_MAX_REQUEST = 16 << 20
"""Most bytes of a request record that are read."""


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which captures to list. A None field does not filter."""

    status: int | None = None
    host: str | None = None
    """Host, with the port where it is not the scheme's own."""
    content_type: str | None = None
    """A media type, or the part before its slash."""
    url_like: str | None = None
    """A part of the URL, in which `*` stands for anything."""
    since: float | None = None
    """Fetched at or after this Unix time, in seconds."""
    kind: CaptureKind | None = None
    """None: all but captures stored with pages (requisites, and what a browser made)."""
    after: int | None = None
    """Stored after the capture with this id, in a single store."""
    up_to: int | None = None
    """Stored up to the capture with this id."""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A stored response. A revisit record has its own headers, and the body of the capture that it refers to."""

    capture: Capture
    start_line: bytes
    headers: Headers
    payload: bytes
    """The body as transferred."""

    @property
    def body(self) -> bytes:
        """The body with content coding removed."""
        return without_codings(self.payload, self.headers, self.capture.size or MAX_CONTENT)


class PageReader:
    """Reads the page store of a crawl directory. Sees what the crawl's last checkpoint made durable.

    Raises `StorageError` if there is none, `FormatMismatch` if it is another version's, `CorruptFile` if it
    is damaged.
    """

    def __init__(self, directory: Path, index: str = INDEX_FILE) -> None:
        self.directory = directory
        self.path = directory / index
        self._db = connect_read_only(self.path)

    def find(self, url: str, *, all: bool = False) -> list[Capture]:  # noqa: A002 - as in `scrapy page --all`
        """The captures of a URL as a person types it, newest first; only the best one unless `all`.

        The best is the newest page; where the URL never gave a page, the newest of what it gave.
        """
        keys = candidate_keys(url)
        found = self._with_keys(keys) or self._with_keys(with_slash(keys))
        if all or not found:
            return found
        return [min(found, key=lambda capture: capture.kind != "page")]

    def _with_keys(self, keys: list[str]) -> list[Capture]:
        marks = ", ".join("?" * len(keys))
        return self._select(f"url_key IN ({marks}) ORDER BY fetched DESC, id DESC", keys)

    def versions(self, key: str) -> list[Capture]:
        """All captures of the URL with this canonical form, the newest first."""
        return self._with_keys([key])

    def last_word(self, key: str) -> Capture | None:
        """The newest capture that says what is at the URL with this canonical form; None without."""
        return next(iter(self._select(f"url_key = ? AND {TELLS} ORDER BY id DESC LIMIT 1", [key])), None)

    def headers_of(self, capture: Capture) -> Headers:
        """Headers of a stored response, without its body. Raises `CorruptFile` and `StorageError`."""
        return record.message_of(self.stored_record(capture)).headers

    def original_of(self, capture: Capture) -> Capture | None:
        """The capture with the body of `capture`; None if it has its own."""
        return None if capture.revisit_of is None else self.get(capture.revisit_of)

    def holding(self, digest: str, last: int = LAST_ID) -> Capture | None:
        """The capture up to the id `last` with a body of this digest, if its file exists."""
        condition = f"{_HAS_BODY} AND digest = :digest AND id <= :last LIMIT 1"
        found = next(iter(self._select(condition, {"digest": digest, "last": last})), None)
        if found is None:
            return None
        path = self.directory / WARC_DIRECTORY / found.warc_file
        is_there = path.is_file() and path.stat().st_size >= found.warc_offset + found.warc_length
        return found if is_there else None

    def get(self, number: int) -> Capture | None:
        """The capture with this id."""
        return next(iter(self._select("id = ?", [number])), None)

    def shown_with(self, part: Capture) -> Capture | None:
        """The page whose browser requested `part`. Such captures are stored right before their page."""
        found = self._select("id > :id AND kind = 'page' ORDER BY id LIMIT 1", {"id": part.id})
        return found[0] if found else None

    def rendered(self, capture: Capture, kind: CaptureKind = record.RENDERED) -> Capture | None:
        """Capture of a page's DOM or picture by a browser; None if it was not rendered."""
        keys = [record.urn(kind, capture.url)]
        found = self._select("url_key IN (?) ORDER BY id", keys)
        return next((each for each in found if abs(each.fetched - capture.fetched) < _SAME_TIME), None)

    def pages(self, wanted: PageFilter | None = None) -> Iterator[Capture]:
        """The captures that pass the filter, oldest first; read as they are consumed."""
        return self._walk(*_where(wanted or PageFilter()))

    @property
    def last_id(self) -> int:
        """The id of the newest capture; 0 without one."""
        ((last,),) = self.rows("SELECT coalesce(max(id), 0) FROM pages")
        return int(last)

    def number_of(self, wanted: PageFilter) -> int:
        """Number of captures that match `wanted`."""
        terms, values = _where(wanted)
        ((number,),) = self.rows(f"SELECT count(*) FROM pages WHERE {terms}id > 0", values)  # noqa: S608 - only terms
        return int(number)

    def last_before(self, time: float) -> int:
        """The id of the newest capture that was fetched before a Unix time; 0 without one."""
        ((last,),) = self.rows("SELECT coalesce(max(id), 0) FROM pages WHERE fetched < ?", (time,))
        return int(last)

    def telling(self, after: int, up_to: int, wanted: PageFilter) -> Iterator[Capture]:
        """Captures in this range of ids that say what is at their URLs and pass `wanted`, oldest first."""
        terms, values = _where(replace(wanted, after=after, up_to=up_to))
        return self._walk(f"{TELLS} AND {terms}", values)

    def captures(self, after: int = 0, last: int = LAST_ID) -> Iterator[Capture]:
        """Captures with an id beyond `after` and up to `last`, oldest first; read as they are consumed."""
        return self._walk("id > :after AND id <= :end AND ", {"after": after, "end": last})

    def last_pages(self, keys: Collection[str], without: Collection[int] = ()) -> list[tuple[str, float]]:
        """Yield (key, Unix time) of the last fetch by GET of pages with these keys, or of what browsers made of
        them. Captures with ids in `without` are ignored.
        """
        marks = ", ".join("?" * len(keys))
        terms = f"url_key IN ({marks}) AND {_COUNT_ONCE}"
        query = f"SELECT url_key, fetched, id FROM pages WHERE {terms} ORDER BY fetched"  # noqa: S608 - only marks
        return list(
            {key: fetched for key, fetched, row in self.rows(query, list(keys)) if row not in without}.items()
        )

    def newest_pages(self, limit: int) -> Iterator[Capture]:
        """The last `limit` HTML pages, the newest first, each with a body that no other has here; read as they are
        consumed.
        """
        return self._walk(
            "kind = 'page' AND content_type IN ('text/html', 'application/xhtml+xml') "
            "AND coalesce(revisit_of, 0) = 0 AND ",
            {},
            limit=limit,
            newest_first=True,
        )

    def _walk(
        self, terms: str, values: dict[str, str | float], *, limit: int | None = None, newest_first: bool = False
    ) -> Iterator[Capture]:
        order = "id < :last ORDER BY id DESC" if newest_first else "id > :last ORDER BY id"
        last, left = LAST_ID if newest_first else 0, LAST_ID if limit is None else limit
        while left > 0:
            size = min(left, _CHUNK)
            chunk = self._select(f"{terms}{order} LIMIT :size", {**values, "last": last, "size": size})
            yield from chunk
            if len(chunk) < size:
                return
            last, left = chunk[-1].id, left - size

    def rows(self, query: str, values: _Values = (), *, checks: Sequence[Check] = ()) -> list[tuple[Any, ...]]:
        """Rows of an SQL query on the table `pages`.

        Raises `CorruptFile` if one of `checks` rejects its column.
        """
        with file_errors(self.path):
            rows = self._db.execute(query, values).fetchall()
        if checks and not all(check(value) for row in rows for check, value in zip(checks, row, strict=True)):
            raise CorruptFile(
                f"{self.path} has values that their columns cannot have: "
                f"`scrapy check-crawl --repair {self.directory}` makes it again"
            )
        return rows

    def read(self, capture: Capture) -> StoredPage:
        """The stored response of a capture. Raises `CorruptFile` if its record is not what the index says."""
        message = record.message_of(self.stored_record(capture))
        payload = message.body
        if capture.revisit_of is not None:
            reader, original = self.held(capture)
            held = record.message_of(reader.stored_record(original))
            payload = held.body
            if (
                capture.status == record.NOT_MODIFIED
            ):  # it names only what may have changed (RFC 9110, section 15.4.5)
                codings = [pair for pair in held.headers if pair[0].lower() == b"content-encoding"]
                message = replace(message, headers=[*message.headers, *codings])
        if record.digest(payload) != capture.digest:
            raise CorruptFile(f"{self.path}: the body of capture {capture.id} has another digest than its row")
        return StoredPage(capture, message.start_line, message.headers, payload)

    def held(self, capture: Capture) -> tuple[PageReader, Capture]:
        """The capture with the body of `capture`, and the reader of its store: this crawl or an earlier one.
        Raises `StorageError`.
        """
        if capture.revisit_of == ELSEWHERE:
            return self.earlier.held(capture)
        original = self.get(capture.revisit_of or capture.id)
        if original is None:
            raise CorruptFile(f"{self.path}: capture {capture.id} refers to {capture.revisit_of}, which is missing")
        return self, original

    @cached_property
    def earlier(self) -> EarlierCrawls:
        """Earlier crawls that have bodies of this one."""
        from sitecrawl.pagestore.earlier import EarlierCrawls  # noqa: PLC0415 - it reads them as this class does

        return EarlierCrawls(self.directory)

    def held_elsewhere(self) -> Iterator[Capture]:
        """The captures whose bodies earlier crawls have, oldest first; read as they are consumed."""
        return self._walk("revisit_of = 0 AND ", {})

    def request_of(self, capture: Capture, begin: int) -> record.HttpMessage | None:
        """The request of a capture: the last record before the answer's, searched from the byte `begin` of the file.
        None without one, or if it has more than `_MAX_REQUEST` bytes.

        Raises `StorageError` if the file cannot be read.
        """
        path = self.directory / WARC_DIRECTORY / capture.warc_file
        if not 0 < capture.warc_offset - begin <= _MAX_REQUEST:
            return None
        with file_errors(path), path.open("rb") as file:
            file.seek(begin)
            data = file.read(capture.warc_offset - begin)
        try:
            found = record.parse(decompress_last_member(data, _MAX_REQUEST))
        except ValueError:
            return None
        return record.parse_http(found.block) if found.type == "request" else None

    def sent_for(self, capture: Capture) -> record.HttpMessage | None:
        """The request of a capture, searched from the end of the capture before: ids are in the order of records."""
        before = self._select("id < ? ORDER BY id DESC LIMIT 1", (capture.id,))
        ends = [one.warc_offset + one.warc_length for one in before if one.warc_file == capture.warc_file]
        return self.request_of(capture, max(ends, default=0))

    def close(self) -> None:
        self._db.close()
        if "earlier" in self.__dict__:
            self.earlier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _select(self, condition: str, values: _Values) -> list[Capture]:
        rows = self.rows(f"SELECT {ROW} FROM pages WHERE {condition}", values)  # noqa: S608 - no value goes into it
        captures = [capture for row in rows if (capture := whole_row(row)) is not None]
        if len(captures) < len(rows):
            raise damaged_rows(self.path)
        return captures

    def member(self, capture: Capture) -> bytes:
        """The compressed record of a capture's response. Raises `StorageError` if it is missing."""
        path = self.directory / WARC_DIRECTORY / capture.warc_file
        if not path.is_file():
            raise StorageError(f"{path} is missing: the index says that it holds {capture.url}")
        with file_errors(path), path.open("rb") as file:
            file.seek(capture.warc_offset)
            return file.read(min(capture.warc_length, path.stat().st_size))

    def stored_record(self, capture: Capture) -> record.Record:
        """The record of a capture's response. Raises `CorruptFile` if it is damaged."""
        member = self.member(capture)
        try:
            return record.parse(decompress_member(member, capture.payload_size + _MAX_HEADS))
        except ValueError as error:
            path = self.directory / WARC_DIRECTORY / capture.warc_file
            raise CorruptFile(
                f"{path} has no intact record at offset {capture.warc_offset} ({error}): restore it from a backup"
            ) from error


def _where(wanted: PageFilter) -> tuple[str, dict[str, str | float]]:
    terms = {
        "status": "status = :status",
        "host": "host = :host",
        "content_type": "(content_type = :content_type OR content_type LIKE :content_type || '/%')",
        "url_like": r"url LIKE :url_like ESCAPE '\'",
        "since": "fetched >= :since",
        "kind": "kind = :kind",
        "after": "id > :after",
        "up_to": "id <= :up_to",
    }
    asked = {name: value for name in terms if (value := getattr(wanted, name)) is not None}
    if wanted.url_like is not None:
        asked["url_like"] = f"%{_like(wanted.url_like)}%"
    pages = f"kind NOT IN {record.OF_PAGES} AND " if wanted.kind is None else ""
    return pages + "".join(f"{terms[name]} AND " for name in asked), asked


def _like(pattern: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%")
