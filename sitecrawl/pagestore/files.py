"""The WARC files of a crawl: appended to, rolled, made durable, cut back.

Layout: `<crawl>-<UTC time>-<serial>.warc.gz`. The serial counts up through the crawl's life, so it orders the
files.

Invariants:
- Before `offset` the current file holds whole records only. What a failed write left behind is cut off at
  once.
- A file that is not the current one never changes again; nor does the current one after `finish`.
- Only the current file can have bytes that are not durable: a file is synced before the next one begins.

What a crash costs: the records since the last `sync`. They may stand whole, half or not at all behind the
synced offset; `cut` removes them.

Each record has a seal that nobody else can make. Incompressible data are stored verbatim in a WARC file. So a page's
body can contain a complete gzip member with a record of another page; if the record around it is damaged, a search
for the next record finds it. Records of the crawl are told apart by the last field of their heads, a keyed hash
(BLAKE2b, RFC 7693) of everything before it, 16 bytes in hexadecimal: `X-Crawler-Seal: 3f0c...`

The head has the digest of the block, so nothing in a record can be changed. A response's head has that of the body
alone, so there the hash is of the head, a blank line, and the HTTP head with its own blank line. The key is that of
the crawl's fingerprints, which is in `crawl.json` and the database, and in no WARC file: who gets a file can copy its
records, and make no others.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import time
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.expressions import expression
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore import gzipping, record
from sitecrawl.pagestore.record import Record, WarcOptions, digest

_FILE_NAME = expression(r".+-\d{14}-(\d{5,})\.warc\.gz")
_NOT_IN_A_NAME = expression(r"[^A-Za-z0-9._-]+")
_FIELD: Final = b"\r\nX-Crawler-Seal: "
_END_OF_HEAD: Final = b"\r\n\r\n"
_BLOCK_DIGEST: Final = b"\r\nWARC-Block-Digest: "
_BYTES: Final = 16
_USE: Final = b"warc record"
"""Domain separation from other hashes with the same key."""


class WarcFiles:
    """Appends gzip members to the newest file of `directory`, which is made if it is missing."""

    def __init__(self, directory: Path, options: WarcOptions) -> None:
        self.directory = directory
        self._options = options
        self._file: BinaryIO | None = None
        self._path = directory
        """Path of the current file, for messages."""
        self.name: str | None = None
        """Name of the current file; None before anything was written."""
        self.offset = 0
        """Length of the current file in bytes, up to the last whole record."""
        with file_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        self._serial = max(map(serial_of, self.listing()), default=-1)

    def listing(self) -> list[str]:
        """Names of the crawl's WARC files, oldest first. Files of other origin in the directory are not touched."""
        names = [path.name for path in self.directory.iterdir() if _is_name_of_ours(path.name)]
        return sorted(names, key=serial_of)

    def make_room(self, size: int) -> None:
        """Open a file, or roll over, so that `size` more bytes fit."""
        if self._file is None or (self.offset and self.offset + size > self._options.max_file_size):
            self._roll()
        if not self.offset:  # also in a file that could be opened before, and not be written
            first = record.warcinfo(self._options, str(self.name), time.time())
            self.append(gzipping.compress_member(Seal(self._options.key).put_on(first)))

    def append(self, data: bytes) -> None:
        """Append complete gzip members to the current file. Raises `StorageError` with the file unchanged."""
        assert self._file is not None
        with file_errors(self._path):
            try:
                _write_all(self._file, data)
            except OSError:
                with contextlib.suppress(OSError):  # what cannot be cut off now is cut off by the next `cut`
                    self._file.truncate(self.offset)
                    self._file.seek(self.offset)
                raise
        self.offset += len(data)

    def sync(self) -> None:
        """Make everything appended durable."""
        if self._file is not None:
            with file_errors(self._path):
                os.fsync(self._file.fileno())

    def cut(self, name: str | None, offset: int) -> None:
        """Remove everything after `offset` of the file `name`, and continue there; without a name remove all.

        Raises `CorruptFile` if that file is missing or shorter.
        """
        self.close()
        keep = -1 if name is None else serial_of(name)
        path = self.directory / str(name)
        if name is not None:
            _check_length(path, offset)
        with file_errors(path):
            for later in self.listing():
                if serial_of(later) > keep:
                    (self.directory / later).unlink()
            self._serial, self.name, self.offset, self._path = keep, name, offset, path
            if name is not None:
                self._file = path.open("r+b", buffering=0)
                self._file.truncate(offset)
                self._file.seek(offset)
                os.fsync(self._file.fileno())
            sync_directory(self.directory)

    def finish(self) -> None:
        """Finish the current file: the next record opens another."""
        self.sync()
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _roll(self) -> None:
        self.sync()
        self.close()
        serial = self._serial + 1
        crawl = _NOT_IN_A_NAME.sub("-", self._options.name) or "crawl"
        name = f"{crawl}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{serial:05d}.warc.gz"
        path = self.directory / name
        with file_errors(path):
            self._file = path.open("xb", buffering=0)
            self._serial, self.name, self.offset, self._path = serial, name, 0, path
            sync_directory(self.directory)


def _is_name_of_ours(name: str) -> bool:
    """Whether it is a name of a crawl's WARC file."""
    return _FILE_NAME.fullmatch(name) is not None


def serial_of(name: str) -> int:
    """The serial in a WARC file's name."""
    found = _FILE_NAME.fullmatch(name)
    if found is None:
        raise CorruptFile(f"{name!r} is no name of a WARC file of this crawler")
    return int(found[1])


def _write_all(file: BinaryIO, data: bytes) -> None:
    written = file.write(data)
    while written < len(data):
        written += file.write(memoryview(data)[written:])


def _check_length(path: Path, offset: int) -> None:
    length = path.stat().st_size if path.exists() else 0
    if length < offset:
        raise CorruptFile(
            f"{path} has {length:,} bytes, and the crawl's last checkpoint counts on {offset:,}: pages are missing. "
            f"`scrapy check-crawl --repair {path.parent.parent}` has them fetched again"
        )


class Seal:
    """The seal of one crawl, by its key; an empty key, of a store without a crawl, seals nothing."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def put_on(self, data: bytes) -> bytes:
        """The record `data` with the seal."""
        if not self._key:
            return data
        end = data.index(_END_OF_HEAD)
        head, block = data[:end], data[end + len(_END_OF_HEAD) :]
        message = b"" if _BLOCK_DIGEST in head else _http_head_of(block)
        return b"".join((head, self.field(head, message), _END_OF_HEAD, block))

    def field(self, head: bytes, message: bytes = b"") -> bytes:
        """What seals a record with this head, to be put behind it; empty without a key. `message`: see `HeadSeal`."""
        return _FIELD + self._hash(head, message) if self._key else b""

    def is_on(self, found: Record) -> bool:
        """Whether the crawl wrote this record and its block."""
        if not self._key:
            return True
        head, _, given = found.head.rpartition(_FIELD)
        if _BLOCK_DIGEST in head:
            message, name, digested = b"", "warc-block-digest", found.block
        else:
            message = _http_head_of(found.block)
            name, digested = "warc-payload-digest", found.block[len(message) :]
        is_marked = hmac.compare_digest(given, self._hash(head, message))
        return is_marked and found.fields.get(name) == f"sha1:{digest(digested)}"

    def _hash(self, head: bytes, message: bytes) -> bytes:
        sealed = head + _END_OF_HEAD + message if message else head
        return blake2b(sealed, digest_size=_BYTES, key=self._key, person=_USE).hexdigest().encode()


def _http_head_of(block: bytes) -> bytes:
    """The HTTP head that a block begins with, with its blank line."""
    head, end, _ = block.partition(_END_OF_HEAD)
    return head + end
