"""A crawl as one file that replays: WACZ 1.1.1 (Webrecorder, Web Archive Collection Zipped).

    archive/*.warc.gz            the WARC files, as far as the last checkpoint has made them durable
    indexes/index.cdx.gz, .idx   a line a capture, sorted, in gzipped blocks; and the first key of each block
    pages/pages.jsonl            the pages, with their titles and texts
    datapackage.json             each file's length and SHA-256
    datapackage-digest.json      the SHA-256 of that

Everything is written once, from the first byte to the last, and what has to be sorted is sorted on disk
(`passing`). WARC files and compressed indexes are stored as they are, so that a reader of the ZIP
can fetch a record by its place in the file.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.gzipping import GZIP_WINDOW
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.record import HttpMessage, warc_uri
from sitecrawl.pagestore.warc_store import WARC_DIRECTORY
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.pages import Choice, Pages
from sitecrawl.plugins.export.passing import Once, Sorted
from sitecrawl.plugins.export.surt import as_query, surt, with_query

_VERSION: Final = "1.1.1"
_BLOCK: Final = 3_000
"""Lines of the index that are compressed together, as other writers have it."""
_PIECE: Final = 1 << 20
_INDEX: Final = "index.cdx.gz"


class _Written(NamedTuple):
    """What has gone into an archive."""

    captures: int
    pages: int
    files: int
    """WARC files."""


class _Store(NamedTuple):
    reader: PageReader
    prefix: str
    """Of the names of its WARC files: those of two workers may be called alike."""
    last: int
    """The id up to which captures are taken."""


class WaczWriter:
    """Writes the crawl of `pages` into `file`."""

    def __init__(self, pages: Pages, file: BinaryIO) -> None:
        self._pages = pages
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._now = datetime.now(UTC)
        self._resources: list[dict[str, str | int]] = []
        self._stores = [
            _Store(reader, "" if name == "." else f"{name}-", reader.last_id) for name, reader in pages.stores
        ]

    def write(self, title: str, software: str) -> _Written:
        """Raises `StorageError`."""
        with self._zip, Sorted() as lines:
            files = sum(map(self._archive, self._stores))
            files += self._archive_earlier(lines)
            captures = self._index(lines)
            pages = self._page_list(title)
            description = {
                "profile": "data-package",
                "resources": self._resources,
                "title": title,
                "created": _seconds(self._now),
                "wacz_version": _VERSION,
                "software": software,
            }
            package = json.dumps(description, indent=2).encode()
            self._add("datapackage.json", [package])
            digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
            self._add("datapackage-digest.json", [json.dumps(digest, indent=2).encode()])
        return _Written(captures, pages, files)

    def _add(self, path: str, parts: Iterable[bytes], *, deflated: bool = False) -> None:
        entry = zipfile.ZipInfo(path, self._now.timetuple()[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        sha256, size = hashlib.sha256(), 0
        with self._zip.open(entry, "w", force_zip64=True) as out:
            for part in parts:
                out.write(part)
                sha256.update(part)
                size += len(part)
        name = path.rpartition("/")[2].lower()
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{sha256.hexdigest()}", "bytes": size})

    def _archive(self, store: _Store) -> int:
        query = "SELECT warc_file, max(warc_offset + warc_length) FROM pages WHERE id <= ? GROUP BY warc_file"
        files = store.reader.rows(query, (store.last,))
        for name, length in sorted(files):
            path = store.reader.directory / WARC_DIRECTORY / name
            self._add(f"archive/{store.prefix}{name}", _first_bytes(path, length))
        return len(files)

    def _archive_earlier(self, lines: Sorted) -> int:
        """The records with the bodies that earlier crawls have, in a file of their own: who replays looks for them by
        URL and time. Their lines of the index go into `lines`.
        """
        name, end = "earlier.warc.gz", 0

        def members() -> Iterator[bytes]:
            nonlocal end
            with Once() as known:
                for store in self._stores:
                    for capture in store.reader.held_elsewhere():
                        if known.is_new(capture.digest):
                            reader, held = store.reader.held(capture)
                            yield reader.member(held)
                            lines.add(_cdx_line(held._replace(warc_file=name, warc_offset=end)))
                            end += held.warc_length

        found = members()
        first = next(found, None)
        if first is None:
            return 0
        self._add(f"archive/{name}", chain([first], found))
        return 1

    def _index(self, lines: Sorted) -> int:
        captures = 0
        for store in self._stores:
            for capture, asked in _asked(store):
                if self._pages.counts(store.reader, capture.id):
                    lines.add(_cdx_line(capture, store.prefix, asked))
                    captures += 1
        blocks: list[bytes] = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "%s"}\n' % _INDEX.encode()]
        self._add(f"indexes/{_INDEX}", _compressed(lines, blocks))
        self._add("indexes/index.idx", blocks, deflated=True)
        return captures

    def _page_list(self, title: str) -> int:
        count = 0

        def lines() -> Iterator[bytes]:
            nonlocal count
            yield _json({"format": "json-pages-1.0", "id": "pages", "title": title, "hasText": True})
            for page in self._pages.chosen(Choice()):
                if page.capture.status == 200 and (page.capture.content_type in HTML or page.document is not None):
                    count += 1
                    yield _json(_page(page, count))

        self._add("pages/pages.jsonl", lines(), deflated=True)
        return count


def _page(page: ExportedPage, number: int) -> dict[str, str]:
    said = {
        "id": f"page-{number}",
        "url": warc_uri(page.capture.url),
        "ts": _seconds(datetime.fromtimestamp(page.capture.fetched, UTC)),
        "title": page.title or page.capture.url,
    }
    text = page.text
    return {**said, "text": text} if text else said


def _asked(store: _Store) -> Iterator[tuple[Capture, HttpMessage | None]]:
    """The captures that can be replayed, and what was sent for those by another method than GET. In the order of ids,
    which is that of their records in the files.
    """
    file, end = "", 0
    for capture in store.reader.captures(last=store.last):
        if capture.warc_file != file:
            file, end = capture.warc_file, 0
        if capture.method == "GET":
            yield capture, None
        elif capture.method != "HEAD" and (request := store.reader.request_of(capture, end)) is not None:
            yield capture, request
        end = capture.warc_offset + capture.warc_length


def _cdx_line(capture: Capture, prefix: str = "", asked: HttpMessage | None = None) -> bytes:
    """The line of a CDXJ index for a capture: key, time, and a JSON object without line breaks. `asked` is what was
    sent for it by another method than GET.
    """
    url = warc_uri(capture.url)
    time = datetime.fromtimestamp(capture.fetched, UTC)
    by: dict[str, str] = {}
    address = url
    if asked is not None:
        query = as_query(capture.method, asked)
        by = {"method": capture.method, "requestBody": query}
        address = with_query(url, capture.method, query)
    said = {
        "url": url,
        "mime": capture.content_type or "application/octet-stream" if capture.revisit_of is None else "warc/revisit",
        "status": str(capture.status),
        "digest": f"sha1:{capture.digest}",
        "length": str(capture.warc_length),
        "offset": str(capture.warc_offset),
        "filename": f"{prefix}{capture.warc_file}",
        **by,
    }
    return f"{surt(address)} {time:%Y%m%d%H%M%S} {json.dumps(said)}".encode()


def _compressed(lines: Iterable[bytes], blocks: list[bytes]) -> Iterator[bytes]:
    """The lines in gzip members of `_BLOCK` lines; adds a line for each to `blocks`: 150 bytes for 3,000 captures."""
    offset = 0
    for block in batches(lines, _BLOCK):
        packer = zlib.compressobj(wbits=GZIP_WINDOW)
        member = packer.compress(b"".join(line + b"\n" for line in block)) + packer.flush()
        digest = f"sha256:{hashlib.sha256(member).hexdigest()}"
        place = {"offset": offset, "length": len(member), "digest": digest, "filename": _INDEX}
        blocks.append(block[0].partition(b" {")[0] + b" " + _json(place))
        offset += len(member)
        yield member


def _first_bytes(path: Path, length: int) -> Iterator[bytes]:
    """Raises `CorruptFile` for a file that has fewer."""
    with file_errors(path), path.open("rb") as file:
        while length:
            piece = file.read(min(length, _PIECE))
            if not piece:
                raise CorruptFile(f"{path} is shorter than its index says: `scrapy check-crawl` says more")
            length -= len(piece)
            yield piece


def _json(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _seconds(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
