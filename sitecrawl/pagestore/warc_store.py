"""The page store: WARC files for the bytes, an SQLite index for everything that is asked about them.

A page is stored in two steps. `put` appends its records to the WARC file and inserts its row; `checkpoint`
makes both durable, files first. So a committed row always has its record, and a record without a row is one
that no checkpoint has seen.

The crawl's own database is the authority: it writes the position that `checkpoint` returned together with the
frontier, in one batch. `recover` cuts files and index back to that position, so that a page whose fetch the
frontier does not know is gone here too, and is stored exactly once when it is fetched again.

What a crash costs: the pages since the last checkpoint, which the frontier still has to fetch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitecrawl.base.errors import CorruptFile, FormatMismatch, InvalidUrl, StorageError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import Exchange, PageItem
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import BY_URL, Capture, LinkCounter, Place, clean_text, describe, kind_of
from sitecrawl.pagestore.files import Seal, WarcFiles, serial_of
from sitecrawl.pagestore.gzipping import compress_member
from sitecrawl.pagestore.index import ELSEWHERE, Original, PageIndex, Position
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.record import CaptureKind, WarcOptions
from sitecrawl.urls.url import MAX_URL_LENGTH

if TYPE_CHECKING:
    from sitecrawl.pagestore.earlier import EarlierCrawls

WARC_DIRECTORY = "warc"
INDEX_FILE = "pages.sqlite"


class WarcStore(Participant):
    """The page store of one crawl directory, for one writer. Calls must not overlap; any thread may call.

    Raises `StorageError` where a file cannot be written, `CorruptFile` and `FormatMismatch` where one cannot
    be used. `earlier`: the crawls whose bodies are not stored again; they are closed with it.
    """

    def __init__(
        self,
        directory: Path,
        options: WarcOptions | None = None,
        counter: LinkCounter = BY_URL,
        earlier: EarlierCrawls | None = None,
    ) -> None:
        self.directory = directory
        self._earlier = earlier
        self._counter = counter
        self._options = options or WarcOptions()
        self._files = WarcFiles(directory / WARC_DIRECTORY, self._options)
        self._check_index()
        self._index = PageIndex(directory / INDEX_FILE)
        self._writing = _Writing()
        self._seal = Seal(self._options.key)
        try:
            self._cut(self._index.position)
        except BaseException:
            self.close()
            raise

    def put(self, exchange: Exchange, page: PageItem | None = None, *, is_requisite: bool = False) -> None:
        """Stores an exchange; `page` is what a spider made of it, None for redirects, errors and robots.txt, and for
        what pages are made of, a requisite.

        Raises `InvalidUrl` for a URL longer than `MAX_URL_LENGTH`.
        After a `StorageError` the store takes nothing more: a checkpoint must not pass over the page that was lost.
        """
        self._check_usable()
        if len(exchange.url) > MAX_URL_LENGTH:
            raise InvalidUrl(f"a URL of {len(exchange.url):,} characters is not stored: WARC readers refuse the file")
        with self._writing:
            digest, original = self._body_of(exchange)
            kind: CaptureKind = "requisite" if is_requisite else kind_of(exchange, page)
            reading = record.Reading(kind, page.depth if page is not None else None)
            request, response = self._members(exchange, digest, original, reading)
            place = self._append(request, response, digest, None if original is None else original.id)
            self._index.add(describe(self._index.last_id + 1, exchange, page, place, kind, counter=self._counter))

    @property
    def last_id(self) -> int:
        """The id of the last capture."""
        return self._index.last_id

    @property
    def position(self) -> Position:
        """Position of the last checkpoint."""
        return self._index.position

    def finish_file(self) -> None:
        """Finish the current WARC file; the next capture opens another."""
        with self._writing:
            self._files.finish()

    def files(self, *, with_current: bool) -> list[Path]:
        """The WARC files up to the last checkpoint, oldest first. Those before its current one never change again."""
        current = self.position.warc_file
        last = -1 if current is None else serial_of(current)
        return [
            self._files.directory / name
            for name in self._files.listing()
            if serial_of(name) < last or (with_current and name == current)
        ]

    def media_type(self, url: str) -> str | None:
        """Media type of the last capture of `url`; None without one."""
        return self._index.media_type(clean_text(url_key(url)))

    def adopt(self, capture: Capture, request: bytes, response: bytes, revisit_of: int | None) -> int:
        """Store a capture of another page store with its records, unchanged gzip members. Returns its id.

        `revisit_of`: the id here of the capture with its body.
        """
        self._check_usable()
        with self._writing:
            place = self._append(request, response, capture.digest, revisit_of)
            self._index.add(capture._replace(id=self._index.last_id + 1, **place._asdict()))
        return self._index.last_id

    def written(self, data: bytes) -> bytes:
        """A record as stored in a file of this store, for `adopt`."""
        return compress_member(self._seal.put_on(data))

    def withdraw(self, ids: Sequence[int]) -> None:
        """Turn these captures into `other`, because other workers have stored their URLs' pages; no later
        capture refers to their bodies.
        """
        self._check_usable()
        with self._writing:
            self._index.withdraw(ids)

    def _body_of(self, exchange: Exchange) -> tuple[str, Original | None]:
        """The body's digest, and the capture that has the body; for a 304 the URL's last success, if any."""
        is_as_before = exchange.status == record.NOT_MODIFIED and exchange.method == "GET"
        if is_as_before and (found := self._index.last_version(clean_text(url_key(exchange.url)))) is not None:
            digest, held = found
            return digest, (self._stored_earlier(digest) or held) if held.id == ELSEWHERE else held
        digest = record.base32(exchange.sha1)
        if not exchange.body or not self._options.once:
            return digest, None
        return digest, self._index.original(digest) or self._stored_earlier(digest)

    def _stored_earlier(self, digest: str) -> Original | None:
        return None if self._earlier is None else self._earlier.original(digest)

    def checkpoint(self) -> dict[str, Any]:
        """Make everything put so far durable. Returns the position for `recover`, as a small dict for JSON."""
        self._check_usable()
        if self._index.has_changed:
            with self._writing:
                self._files.sync()
                self._index.commit(self._files.name, self._files.offset)
        return self._index.position._asdict()

    def prepare(self, batch: Batch) -> None:
        """Write a checkpoint, and put its position into the frontier's batch."""
        batch.put("meta", PAGES, json.dumps(self.checkpoint()).encode())

    def recover(self, position: dict[str, Any] | None) -> None:
        """Go back to a position returned by `checkpoint`; None: before the first one.

        Call it right after opening. Raises `CorruptFile` if something is missing that was stored at that time.
        """
        try:
            wanted = Position(**position) if position else Position()
        except TypeError as error:
            raise FormatMismatch(
                f"{self.directory}: {position} is no position of this version's page store"
            ) from error
        self._check_reaches(wanted)
        self._cut(wanted)

    def close(self) -> None:
        """Close all files. Captures after the last checkpoint are dropped."""
        self._files.close()
        self._index.close()
        if self._earlier is not None:
            self._earlier.close()

    def _members(
        self, exchange: Exchange, digest: str, original: Original | None, reading: record.Reading
    ) -> tuple[bytes, bytes]:
        """The gzip members of the exchange's request record, and of its response or revisit record. A
        resource has no request.
        """
        response_id, seal = record.new_record_id(), self._seal.field
        first = (original.url, original.fetched) if original is not None else None
        if exchange.is_resource:
            found = record.resource(exchange, response_id, digest, first, reading=reading, seal=seal)
            return b"", compress_member(found)
        if first is None:
            answer = record.response(exchange, response_id, digest, reading=reading, seal=seal)
        else:
            answer = record.revisit(exchange, response_id, digest, first, reading=reading, seal=seal)
        request = record.request(exchange, response_id, self._options.masked, seal=seal)
        return compress_member(request), compress_member(answer)

    def _append(self, request: bytes, response: bytes, digest: str, revisit_of: int | None) -> Place:
        self._files.make_room(len(request) + len(response))
        self._files.append(request + response)
        assert self._files.name is not None
        return Place(
            warc_file=self._files.name,
            warc_offset=self._files.offset - len(response),
            warc_length=len(response),
            digest=digest,
            revisit_of=revisit_of,
        )

    def _cut(self, position: Position) -> None:
        # Each step leaves a store that the same call finishes: a crash in between costs nothing.
        self._files.cut(position.warc_file, position.warc_offset)
        self._index.cut(position)
        self._writing.failed = False

    def _check_index(self) -> None:
        path = self.directory / INDEX_FILE
        if not path.exists() and self._files.listing():
            raise CorruptFile(
                f"{path} is missing, and {self._files.directory} holds WARC files: "
                f"`scrapy check-crawl --repair {self.directory}` makes the index again. Nothing was changed"
            )

    def _check_reaches(self, wanted: Position) -> None:
        has = self._index.position
        if has.last_id < wanted.last_id or has.number < wanted.number:
            raise CorruptFile(
                f"{self._index.path} ends at capture {has.last_id:,}, and the crawl's last checkpoint counts on "
                f"{wanted.last_id:,}: pages are missing. `scrapy check-crawl --repair {self.directory}` has them "
                "fetched again. Nothing was changed"
            )
        # One checkpoint ahead is a crash in between; more is a database that is lost, or has lost its end.
        if wanted.number and has.number > wanted.number + 1:
            raise CorruptFile(
                f"{self._index.path} is {has.number - wanted.number:,} checkpoints ahead of the crawl's database, "
                f"which has lost its end. `scrapy check-crawl --repair {self.directory}` cuts the page store back, "
                f"and {has.last_id - wanted.last_id:,} captures are fetched again. Nothing was changed"
            )
        if not wanted.number and has.number > 1:
            raise CorruptFile(
                f"{self._index.path} holds {has.last_id:,} captures, and the crawl's database beside it knows none "
                "of them: restore that database, or crawl into a new directory. Nothing was changed"
            )

    def _check_usable(self) -> None:
        if self._writing.failed:
            raise StorageError(
                f"{self.directory} could not be written earlier: start the crawl again with the same directory"
            )


class _Writing:
    """Context for everything that writes. After an error inside, only `recover` may be called."""

    def __init__(self) -> None:
        self.failed = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.failed = True
