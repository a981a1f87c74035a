"""The exact tier: a set of fingerprints on disk that is never wrong.

Why RocksDB: an LSM tree turns random adds into sequential writes, compresses well below its peers, keeps its
memory bounded and looks a thousand keys up in one call (docs/design/seen.md has the figures).

A key is a fingerprint; its value is the number of the *flush* that makes it permanent, as a varint of one or two
bytes. The set promises more than durability: after a crash it is exactly what it was at its last `flush`. A
crawler needs the second half as much as the first. A key that is forgotten costs one more fetch; a key that is
remembered although the request it stands for was lost is a page that nobody ever fetches. So keys that went to
disk since the last flush, because memory has to stay small, carry a number that was never committed, and the
next start takes them out again.

    family  key            value
    seen    16 bytes       varint: the flush that commits it
    meta    "commit"       number of the last flush, number of keys: two unsigned 64-bit big-endian; one byte:
                           1 while keys of the next flush may be there, written ahead of it

RocksDB takes a log or a manifest that ends too early for one whose end a crash tore off, and opens at an earlier
state, an empty one if need be. So the number of the last flush also stands in a file of its own, `COMMIT`, and a
database behind that number is refused.

Invariants: as many keys as "commit" says carry a number up to its own; keys of a higher number exist only while its
last byte says so, and carry the next; "commit" and the last keys of a flush are one synced write batch; `COMMIT` is
written after it, so it never names a flush that the database does not have.

What a crash costs: the adds since the last flush, and, only if some had gone to disk, one scan of all keys at the
next start (about 0.4 µs a key).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rocksdict import BlockBasedIndexType, BlockBasedOptions, Options

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.opening import Layout, expect_found
from sitecrawl.frontier.seen.figures import Lookups
from sitecrawl.frontier.seen.files import read_file, write_file

_MAGIC: Final = b"SCCOMMIT"
_VERSION: Final = 1
COMMIT: Final = b"commit"
_COMMIT: Final = struct.Struct(">QQ?")
_DELETIONS_PER_BATCH: Final = 100_000


def _tune(options: Options, blocks: BlockBasedOptions) -> None:
    """Small in memory, and quick on keys that exist."""
    # Keys are random, so no block of them is asked for again soon. Indexes and filters are, and a table's do not fit
    # into a part of a small cache: they stay in memory as long as their table is open, some 0.3 bytes a key.
    blocks.set_cache_index_and_filter_blocks(False)
    blocks.set_index_type(BlockBasedIndexType.binary_search())
    blocks.set_partition_filters(False)
    expect_found(options)
    # To build a table's filter, merging holds 8 bytes for each of its keys: 6 MB, and 25 at RocksDB's own size.
    options.set_target_file_size_base(16 << 20)
    options.set_max_total_wal_size(32 << 20)  # a start reads all of it


LAYOUT: Final = Layout(b"sitecrawl-seen-2", ("seen", "meta"), "start in a new directory", 8 << 20, 8 << 20, _tune)


class _Commit(NamedTuple):
    """Record of a flush, made permanent together with its keys."""

    flush: int = 0
    """Its number."""
    keys: int = 0
    """Number of keys up to this flush."""
    ahead: bool = False
    """Whether keys of the next flush may be on disk already."""


class RocksSet:
    """A set of 16-byte keys in the directory `path`; what was added is permanent after `flush`, all or nothing.

    `hash_name` names the function that makes the keys. Up to `spill` adds wait in memory (100 bytes each) before
    they go to disk in one batch. Add a key once: `len` counts adds.

    Every method raises `StorageError` if the disk fails; opening also raises `CrawlDirectoryInUse`, `CorruptFile`
    and `FormatMismatch`.
    """

    def __init__(self, path: Path, *, hash_name: str, spill: int = 50_000) -> None:
        self._path = path
        self._spill = spill
        self._waiting: set[bytes] = set()
        self.lookups = Lookups()
        self._written_ahead = 0
        """Keys in the database that the last flush did not commit."""
        self._database = Database(path, hash_name=hash_name, layout=LAYOUT)
        try:
            self._commit = self._read_commit()
            self._roll_back()
        except BaseException:
            self._database.close()
            raise

    def _read_commit(self) -> _Commit:
        record = self._database.get("meta", COMMIT)
        commit = _Commit(*_COMMIT.unpack(record)) if record is not None else _Commit()
        promised = self._promised()
        if commit.flush < promised:
            raise CorruptFile(
                f"{self._path} is at flush {commit.flush}, and flush {promised} was written: a log or the manifest "
                f"has lost its end; restore it from a copy, or {LAYOUT.remedy}"
            )
        return commit

    def _promised(self) -> int:
        """The last flush that was reported as done; 0 if none was."""
        try:
            header, _ = read_file(self._path / "COMMIT", _MAGIC, _VERSION)
        except FileNotFoundError:
            return 0
        return int(header["flush"])

    def _roll_back(self) -> None:
        """Take out the keys that were written ahead of a flush that never came."""
        if not self._commit.ahead:
            return
        uncommitted = _varint(self._commit.flush + 1)
        batch = self._database.batch()
        for key, value in self._database.scan("seen"):
            if value == uncommitted:
                batch.delete("seen", key)
                if len(batch) >= _DELETIONS_PER_BATCH:
                    self._database.write(batch, sync=False)
                    batch = self._database.batch()
        self._write(batch, self._commit._replace(ahead=False), sync=True)

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        recent = [key in self._waiting for key in keys]
        ask = [key for key, yes in zip(keys, recent, strict=True) if not yes]
        self.lookups.recent += len(keys) - len(ask)
        self.lookups.disk += len(ask)
        stored = iter(self._database.get_many("seen", ask))
        return [yes or next(stored) is not None for yes in recent]

    def add_many(self, keys: Sequence[bytes]) -> None:
        if len(self._waiting) >= self._spill:
            self._write_ahead()  # before the adds: if it fails, none of them happened
        self._waiting.update(keys)

    def _write_ahead(self) -> None:
        self._write(self._batch_of_waiting(), self._commit._replace(ahead=True), sync=False)
        self._written_ahead += len(self._waiting)
        self._waiting.clear()

    def _batch_of_waiting(self) -> Batch:
        batch = self._database.batch()
        flush = _varint(self._commit.flush + 1)
        for key in self._waiting:
            batch.put("seen", key, flush)
        return batch

    def _write(self, batch: Batch, commit: _Commit, *, sync: bool) -> None:
        batch.put("meta", COMMIT, _COMMIT.pack(*commit))
        self._database.write(batch, sync=sync)
        self._commit = commit

    def flush(self) -> None:
        """Make all adds so far permanent; when this returns they have reached the disk."""
        if not self._waiting and not self._written_ahead:
            return
        self._write(self._batch_of_waiting(), _Commit(self._commit.flush + 1, len(self)), sync=True)
        self._written_ahead = 0
        self._waiting.clear()
        write_file(self._path / "COMMIT", _MAGIC, _VERSION, {"flush": self._commit.flush})

    def keys(self) -> Iterator[bytes]:
        """Every key, in no promised order; flush first, or the newest are missing."""
        return (key for key, _ in self._database.scan("seen"))

    def __len__(self) -> int:
        return self._commit.keys + self._written_ahead + len(self._waiting)

    def close(self) -> None:
        """Flush and close; the directory is free for another process."""
        try:
            self.flush()
        finally:
            self._database.close()


def _varint(number: int) -> bytes:
    """`number` in as few bytes as hold it, big-endian: the value of a key."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")
