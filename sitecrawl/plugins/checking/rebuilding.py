"""Makes the page store again from its WARC files (`rebuild`), and the database from the page store.

What the files hold up to `state.position` is what there is; bytes that are no record, or one that stood before, are
taken out of them. A row is read off its record, which says itself what the crawl made of the response; the download's
duration stands nowhere else and is lost.

Every file is written beside its place and then renamed, the index last. After a crash in between, rows do not agree
with their records, and the next repair makes the index again.

In the database the URLs of the stored pages count as fetched. What waited is found again: the next start reads the
links of all stored pages (`rereading`). It is made beside its place and then renamed:

    db           db is damaged
    db + db.new  a crash leaves db as it was, and the next attempt begins anew
    db.damaged + db.new     db has been moved away
    db.damaged + db         the new one is in its place
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import Manifest, packed
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import LINKS_READ, MANIFEST, PAGES
from sitecrawl.crawldir.opening import DAMAGED
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import KEY_BYTES
from sitecrawl.frontier.urls.link_credit import edges_row
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.page.codings import without_codings
from sitecrawl.page.items import Exchange, PageItem, Sent
from sitecrawl.page.links import PageOptions, read_page, unread_page
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import Capture, Place, describe
from sitecrawl.pagestore.earlier import EarlierCrawls
from sitecrawl.pagestore.index import BESIDE, ELSEWHERE, Original, PageIndex, Position
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.record import CaptureKind, Record
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.plugins.checking.frontier import SEVERAL
from sitecrawl.plugins.checking.store import Index, PageStoreState, Pair
from sitecrawl.plugins.checking.warcwalk import Stretch
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import BEGINNINGS, FTP

_FRAMING = re.compile(rb"X-Crawler-(?=Content-Length$|Transfer-Encoding$)")
_OF_BODY = (
    *("charset", "size", "payload_size", "title", "canonical", "noindex", "language"),
    *("hrefs", "links", "host_links", "site_links"),
)
"""The columns that are the same for all captures of one body, or nearly."""
_DRAFT = ".new"
_CHUNK = 1 << 20

_Referrer = Callable[[str], str | None]
"""Gives the URL of the page where one was found that was fetched by GET; None where the frontier does not know it."""
_NEW_DATABASE: Final = "db.new"
_DAMAGED: Final = f"db{DAMAGED}"
_FROM_THE_FIRST: Final = bytes(8)
_AT_ONCE: Final = 10_000
"""Writes a batch."""


def rebuild(state: PageStoreState, *, referrer: _Referrer) -> Position:
    """Make files and index of the page store again, up to `state.position`; returns the new one."""
    limit = state.position
    assert limit is not None
    draft = state.directory / (INDEX_FILE + _DRAFT)
    warcs = state.directory / WARC_DIRECTORY
    warcs.mkdir(exist_ok=True)
    for left in (*warcs.glob(f"*.warc.gz{_DRAFT}"), *state.directory.glob(draft.name + "*")):
        left.unlink()  # of a repair that was stopped
    index = PageIndex(draft)
    with closing(index), closing(EarlierCrawls(state.directory)) as earlier:
        rebuilder = _Rebuilder(state, index, referrer, earlier)
        with index.by_time():
            for pair in state.pairs(iter(()), limit):
                rebuilder.take(pair)
        rebuilder.end_file()
        name, offset = rebuilder.end
        position = Position(limit.number, name, offset, index.last_id)
        index.commit(name, offset)
        index.cut(position)
    for path in rebuilder.drafts:
        path.replace(path.with_name(path.name.removesuffix(_DRAFT)))
    sync_directory(warcs)
    for suffix in BESIDE:
        (state.directory / (INDEX_FILE + suffix)).unlink(missing_ok=True)  # SQLite would apply them to the new file
    draft.replace(state.directory / INDEX_FILE)
    sync_directory(state.directory)
    return position


class _Rebuilder:
    """Takes what the files hold, in its order."""

    def __init__(self, state: PageStoreState, index: PageIndex, referrer: _Referrer, earlier: EarlierCrawls) -> None:
        self._warcs = state.directory / WARC_DIRECTORY
        self._index = index
        self._earlier = earlier
        self._referrer = referrer
        self._name: str | None = None
        """The file that is being read."""
        self._kept: list[tuple[int, int]] = []
        """Its stretches that stay."""
        self._length = 0
        """Of these."""
        self._is_whole = True
        """Whether all of it stays so far."""
        self._rendered: Exchange | None = None
        """The DOM that came last, with its body: it stands before its page."""
        self._request: Stretch | None = None
        """The request that came last: it stays if its answer does."""
        self.end: tuple[str | None, int] = (None, 0)
        self.drafts: list[Path] = []

    def take(self, pair: Pair) -> None:
        stretch = pair.stretch
        if stretch is None:
            return
        if pair.name != self._name:
            self.end_file()
            self._name = pair.name
        if stretch.record is None:
            self._drop()
        elif stretch.is_answer:
            self._answer(stretch)
        elif stretch.record.type == "request":
            self._drop_request()
            self._request = stretch
        else:
            self._keep(stretch)

    def _answer(self, stretch: Stretch) -> None:
        self._note_rendered(stretch)
        request = self._request
        capture = self._capture(stretch)
        if capture is None or self._index.has(capture):
            self._drop()
            return
        if request is not None:
            self._keep(request)
            self._request = None
        offset = self._length
        self._keep(stretch)
        self._index.add(capture._replace(id=self._index.last_id + 1, warc_offset=offset, warc_length=stretch.length))

    def _note_rendered(self, stretch: Stretch) -> None:
        assert stretch.record is not None
        reading = record.reading_of(stretch.record)
        if reading is not None and reading.kind == record.RENDERED:
            self._rendered = None
            if stretch.record.type == "resource":
                with suppress(KeyError, ValueError):
                    self._rendered = _exchange(stretch.record, None)

    def _capture(self, stretch: Stretch) -> Capture | None:
        """The row for an answer; None for a revisit whose body is lost, and for what no crawl has written."""
        assert stretch.record is not None
        assert self._name is not None
        original = None
        digest = stretch.record.fields.get("warc-payload-digest", "").removeprefix("sha1:")
        if stretch.record.type == "revisit":
            original = self._index.original(digest) or self._earlier.original(digest)
            if original is None:
                return None
        if original is None and digest != record.digest(record.message_of(stretch.record).body):
            return None
        place = Place(self._name, stretch.offset, stretch.length, digest, original.id if original else None)
        try:
            return self._described(stretch.record, place, original)
        except (KeyError, ValueError, InvalidUrl):
            return None

    def _described(self, answer: Record, place: Place, original: Original | None) -> Capture:
        request = self._request.record if self._request is not None else None
        exchange = _exchange(answer, request)
        reading = record.reading_of(answer)
        first = None if original is None else self._first(original, place.digest)
        size = len(exchange.body) if first is None else first.payload_size
        if reading is None or reading.depth is None:
            kind: CaptureKind | None = "requisite" if reading is not None and reading.kind == "requisite" else None
            return describe(0, exchange, None, place, kind)._replace(payload_size=size)
        referrer = self._referrer(exchange.url) if exchange.method == "GET" else None
        if reading.kind == "quarantined":  # it would break this process too
            page = unread_page(exchange.url, exchange.headers, reading.kind)
            page.depth, page.referrer = reading.depth, referrer
            return describe(0, exchange, page, place)._replace(payload_size=size)
        if self._is_rendered(exchange):
            return self._described_as_rendered(exchange, first, reading.depth, referrer, place)._replace(
                payload_size=size
            )
        if first is None or exchange.status == record.NOT_MODIFIED:
            return describe(0, exchange, _page(exchange, reading.depth, referrer), place)
        of_body = {name: getattr(first, name) for name in _OF_BODY}
        return describe(0, exchange, None, place)._replace(
            **of_body, kind=reading.kind, depth=reading.depth, referrer=referrer
        )

    def _is_rendered(self, exchange: Exchange) -> bool:
        return self._rendered is not None and self._rendered.url == record.urn(record.RENDERED, exchange.url)

    def _described_as_rendered(
        self, exchange: Exchange, first: Capture | None, depth: int, referrer: str | None, place: Place
    ) -> Capture:
        """The row of a page that a browser has rendered: what is read off it is in the DOM."""
        assert self._rendered is not None
        dom = replace(self._rendered, url=exchange.url)
        page = _page(dom, depth, referrer)
        page.status = exchange.status
        came = first or describe(0, exchange, _page(exchange, depth, referrer), place)
        page.sent = Sent(came.size or 0, came.charset)
        return describe(0, exchange, page, place)

    def _first(self, original: Original, digest: str) -> Capture:
        """The row of the capture that has the body."""
        if original.id == ELSEWHERE:
            found = self._earlier.find(digest)
            assert found is not None
            return found[1]
        return self._row(original.id)

    def _row(self, number: int) -> Capture:
        self._index.commit(*self.end)  # so that it can be read back
        with PageReader(self._index.path.parent, self._index.path.name) as index:
            capture = index.get(number)
        assert capture is not None
        return capture

    def _keep(self, stretch: Stretch) -> None:
        if self._kept and self._kept[-1][1] == stretch.offset:
            self._kept[-1] = self._kept[-1][0], stretch.end
        else:
            self._kept.append((stretch.offset, stretch.end))
        self._length += stretch.length

    def _drop(self) -> None:
        self._is_whole = False
        self._request = None

    def _drop_request(self) -> None:
        if self._request is not None:
            self._drop()

    def end_file(self) -> None:
        """The file that was read is through: write it anew if something of it goes."""
        self._drop_request()
        if self._name is None:
            return
        if not self._is_whole:
            self.drafts.append(_copy(self._warcs / self._name, self._kept))
        self.end = self._name, self._length
        self._name, self._kept, self._length, self._is_whole = None, [], 0, True


def _copy(path: Path, stretches: list[tuple[int, int]]) -> Path:
    draft = path.with_name(path.name + _DRAFT)
    with file_errors(draft), path.open("rb") as source, draft.open("wb") as target:
        for start, end in stretches:
            source.seek(start)
            for at in range(start, end, _CHUNK):
                target.write(source.read(min(_CHUNK, end - at)))
        target.flush()
        os.fsync(target.fileno())
    return draft


# From a record back to what it was made of


def _exchange(answer: Record, request: Record | None) -> Exchange:
    message = record.message_of(answer)
    protocol, _, rest = message.start_line.partition(b" ")
    asked = record.parse_http(request.block) if request is not None else None
    return Exchange(
        url=answer.fields.get("warc-target-uri", ""),
        started=datetime.fromisoformat(answer.fields["warc-date"]).timestamp(),
        seconds=0.0,
        status=int(rest[:3]),
        request_headers=asked.headers if asked is not None else [],
        headers=[(_FRAMING.sub(b"", name), value) for name, value in message.headers],
        body=message.body,
        method=asked.start_line.partition(b" ")[0].decode("latin-1") if asked is not None else "GET",
        protocol=protocol.decode("latin-1"),
    )


def _page(exchange: Exchange, depth: int, referrer: str | None) -> PageItem:
    body = without_codings(exchange.body, exchange.headers)
    options = PageOptions(ftp=exchange.url.startswith(BEGINNINGS[FTP]))  # what a crawl of FTP servers follows there
    page = read_page(exchange.url, body, exchange.headers, options=options)
    page.status, page.fetched = exchange.status, exchange.started
    page.depth, page.referrer = depth, referrer
    return page


def finish_move(directory: Path) -> None:
    """Where a crash came between the two renames, do the second."""
    if not (directory / "db").exists() and (directory / _DAMAGED).exists() and (directory / _NEW_DATABASE).exists():
        (directory / _NEW_DATABASE).rename(directory / "db")


def replace_database(directory: Path, manifest: Manifest, position: Position | None) -> Path:
    """Put a database that is made of the stored pages up to `position` in the place of the damaged one; returns where
    that is now.
    """
    source, draft, damaged = directory / "db", directory / _NEW_DATABASE, directory / _DAMAGED
    with file_errors(source):
        shutil.rmtree(draft, ignore_errors=True)
    with closing(Database(draft, hash_name=HASH_NAME)) as database:
        _fill(database, directory, manifest, position)
    with file_errors(source):
        source.mkdir(exist_ok=True)
        shutil.rmtree(damaged, ignore_errors=True)
        source.rename(damaged)
        draft.rename(source)
        sync_directory(directory)
    return damaged


def _fill(database: Database, directory: Path, manifest: Manifest, position: Position | None) -> None:
    fingerprints = Fingerprinter(manifest.fingerprint_key)
    hosts = HostTable(database, fingerprints.host)
    batch = database.batch()
    seeds: dict[bytes, int] = {}
    known = 0
    if position is not None and position.last_id:
        with Index(directory) as index:
            several = {url for (url,) in index.rows(SEVERAL, (position.last_id,))}
            met: set[str] = set()
            for capture in index.stored_pages(position.last_id):
                host = hosts.named(host_of(capture.url_key))
                section = hosts.section(host, capture.url)
                record = UrlRecord(
                    capture.url, UrlState.FETCHED, depth=capture.depth or 0, host=host.key,
                    section=section.key[KEY_BYTES:], rank=bytes(RANK_BYTES), flags=Flag.STORED,
                    status=capture.status, fetched=capture.fetched,
                )  # fmt: skip
                if is_again := capture.url_key in several:
                    record.flags |= Flag.AGAIN
                if not is_again or capture.url_key not in met:
                    known += 1
                    for counted in (host, section):
                        counted.known += 1
                        counted.fetched += 1
                    if not capture.depth:
                        seeds[host.key] = seeds.get(host.key, 0) + 1
                if is_again:
                    met.add(capture.url_key)
                batch.put("urls", fingerprints.url(capture.url_key), record.pack())
                hosts.changed(host, section)
                if len(batch) >= _AT_ONCE:
                    database.write(batch, sync=False)
                    batch = database.batch()
    for name, number in seeds.items():
        batch.put("edges", name, edges_row({}, number))
    meta = Overlay(database, "meta")
    counts = Counts(meta)
    counts.fetched = counts.serial = known
    counts.store(meta)
    meta.flush(batch)
    hosts.flush(batch)
    batch.put("meta", MANIFEST, packed(manifest))
    batch.put("meta", LINKS_READ, _FROM_THE_FIRST)
    if position is not None:
        batch.put("meta", PAGES, json.dumps(position._asdict()).encode())
    database.write(batch)
