"""The exact tier: a set of fingerprints on disk that is never wrong.

Why RocksDB: an LSM tree turns random adds into sequential writes, compresses well below its peers, keeps its
memory bounded and looks a thousand keys up in one call (docs/design/seen.md has the figures).

A key is a fingerprint; its value is the number of the *flush* that makes it permanent, as a varint of one or two
bytes. The set promises more than durability: after a crash it is exactly what it was at its last `flush`. A
crawler needs the second half as much as the first. A key that is forgotten costs one more fetch; a key that is
remembered although the request it stands for was lost is a page that nobody ever fetches. So keys that went to
disk since the last flush, because memory has to stay small, carry a number that was never committed, and the
next start takes them out again.

    key                  value
    16 bytes             varint: the flush that commits it
    "format"             "sitecrawl-seen-1 " + the hash's name
    "commit"             flush number, number of keys: two unsigned 64-bit big-endian
    "open"               the flush number of keys that were written ahead; at most "commit" if there are none

RocksDB takes a log or a manifest that ends too early for one whose end a crash tore off, and opens at an earlier
state, an empty one if need be. So the number of the last flush also stands in a file of its own, `COMMIT`, and a
database behind that number is refused.

Invariants: `len` keys carry a number up to that of "commit"; keys of a higher number exist only while "open" is
higher than "commit"; "commit" and the last keys of a flush are one synced write batch; `COMMIT` is written after it,
so it never names a flush that the database does not have.

What a crash costs: the adds since the last flush, and, only if some had gone to disk, one scan of all keys at the
next start (about 0.2 µs a key).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    WriteBatch,
    WriteOptions,
)

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, StorageError
from sitecrawl.seen.files import read_file, write_file

KEY_SIZE: Final = 16
FORMAT: Final = b"sitecrawl-seen-1 "

_MAGIC: Final = b"SCCOMMIT"
_VERSION: Final = 1
_COMMIT: Final = struct.Struct(">QQ")
_NUMBER: Final = struct.Struct(">Q")
_DELETIONS_PER_BATCH: Final = 100_000
_RESTORE: Final = "restore it from a copy, or start in a new directory"


class MemorySet:
    """The exact set in memory, without a file: the reference implementation of `ExactSet`."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        return [key in self._keys for key in keys]

    def add_many(self, keys: Sequence[bytes]) -> None:
        self._keys.update(keys)

    def keys(self) -> Iterator[bytes]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def flush(self) -> None:
        """Nothing to do: nothing outlives the process."""

    def close(self) -> None:
        self._keys.clear()


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
        self._committed = 0
        """The number of the last flush."""
        self._count = 0
        """Keys in the database."""
        self._written_ahead = 0
        """The flush number of keys that went to disk before their flush."""
        self._rdict = _open(path)
        try:
            self._check_format(FORMAT + hash_name.encode())
            self._read_commit()
            self._roll_back()
        except BaseException:
            self._rdict.close()
            raise

    def _read_commit(self) -> None:
        self._committed, self._count = _COMMIT.unpack(self._record(b"commit"))
        (self._written_ahead,) = _NUMBER.unpack(self._record(b"open"))
        promised = self._promised()
        if self._committed < promised:
            raise CorruptFile(
                f"{self._path} is at flush {self._committed}, and flush {promised} was written: "
                f"a log or the manifest has lost its end; {_RESTORE}"
            )

    def _promised(self) -> int:
        """The last flush that was reported as done; 0 if none was."""
        try:
            header, _ = read_file(self._path / "COMMIT", _MAGIC, _VERSION)
        except FileNotFoundError:
            return 0
        return int(header["flush"])

    def _record(self, name: bytes) -> bytes:
        record = self._rdict.get(name)
        if record is None:
            raise CorruptFile(f"{self._path} has lost its {name.decode()!r} record: {_RESTORE}")
        return cast("bytes", record)

    def _check_format(self, wanted: bytes) -> None:
        found = self._rdict.get(b"format")
        if found == wanted:
            return
        if found is not None or next(self._rdict.keys(), None) is not None:
            raise FormatMismatch(
                f"{self._path} was written as {found!r}, and this version reads {wanted!r}: "
                "use the version that wrote it, or start in a new directory"
            )
        batch = WriteBatch(raw_mode=True)
        batch[b"format"] = wanted
        batch[b"commit"] = _COMMIT.pack(0, 0)
        batch[b"open"] = _NUMBER.pack(0)
        self._write(batch, sync=True)

    def _roll_back(self) -> None:
        """Take out the keys that were written ahead of a flush that never came."""
        if self._written_ahead <= self._committed:
            return
        uncommitted = _varint(self._written_ahead)
        batch = WriteBatch(raw_mode=True)
        for key, value in self._items():
            if value == uncommitted:
                del batch[key]
                if len(batch) >= _DELETIONS_PER_BATCH:
                    self._write(batch, sync=False)
                    batch = WriteBatch(raw_mode=True)
        self._written_ahead = self._committed
        batch[b"open"] = _NUMBER.pack(self._written_ahead)
        self._write(batch, sync=True)

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        if not keys:
            return []
        waiting = self._waiting
        try:
            stored = self._rdict.get(list(keys))
        except Exception as error:
            raise _storage_error(self._path, error) from error
        return [
            value is not None or key in waiting
            for key, value in zip(keys, cast("list[bytes | None]", stored), strict=True)
        ]

    def add_many(self, keys: Sequence[bytes]) -> None:
        if len(self._waiting) >= self._spill:
            self._write_ahead()  # before the adds: if it fails, none of them happened
        self._waiting.update(keys)

    def _write_ahead(self) -> None:
        batch = self._batch_of_waiting()
        if self._written_ahead <= self._committed:
            batch[b"open"] = _NUMBER.pack(self._committed + 1)
        self._write(batch, sync=False)
        self._written_ahead = self._committed + 1
        self._settle()

    def _batch_of_waiting(self) -> WriteBatch:
        batch = WriteBatch(raw_mode=True)
        flush = _varint(self._committed + 1)
        for key in self._waiting:
            batch[key] = flush
        return batch

    def _settle(self) -> None:
        self._count += len(self._waiting)
        self._waiting.clear()

    def flush(self) -> None:
        """Make all adds so far permanent; when this returns they have reached the disk."""
        if not self._waiting and self._written_ahead <= self._committed:
            return
        batch = self._batch_of_waiting()
        batch[b"commit"] = _COMMIT.pack(self._committed + 1, len(self))
        self._write(batch, sync=True)
        self._committed += 1
        self._settle()
        write_file(self._path / "COMMIT", _MAGIC, _VERSION, {"flush": self._committed})

    def _write(self, batch: WriteBatch, *, sync: bool) -> None:
        options = WriteOptions()
        options.sync = sync
        try:
            self._rdict.write(batch, options)
        except Exception as error:
            raise _storage_error(self._path, error) from error

    def keys(self) -> Iterator[bytes]:
        """Every key, in no promised order; flush first, or the newest are missing."""
        return (key for key, _ in self._items())

    def _items(self) -> Iterator[tuple[bytes, bytes]]:
        items = cast("Iterator[tuple[bytes, bytes]]", self._rdict.items())
        try:
            yield from (item for item in items if len(item[0]) == KEY_SIZE)
        except Exception as error:
            raise _storage_error(self._path, error) from error

    def __len__(self) -> int:
        return self._count + len(self._waiting)

    def size_on_disk(self) -> int:
        """Bytes of all files of the database."""
        return sum(file.stat().st_size for file in self._path.iterdir() if file.is_file())

    def close(self) -> None:
        """Flush and close; the directory is free for another process."""
        try:
            self.flush()
        finally:
            self._rdict.close()


def _varint(number: int) -> bytes:
    """`number` in as few bytes as hold it, big-endian: the value of a key."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def _open(path: Path) -> Rdict:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return Rdict(str(path), options=_options())
    except Exception as error:
        raise _storage_error(path, error) from error


def _options() -> Options:
    """Small in memory, quick on keys that exist: what is new, the Bloom filter before this set has answered."""
    blocks = BlockBasedOptions()
    # Keys are random, so no block of them is asked for again soon. Indexes and filters are, and a table's do not fit
    # into a part of a small cache: they stay in memory as long as their table is open, some 0.3 bytes a key.
    blocks.set_block_cache(Cache(8 << 20))
    blocks.set_cache_index_and_filter_blocks(False)
    blocks.set_bloom_filter(10, block_based=False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003 - rocksdict takes it by position
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_optimize_filters_for_hits(True)  # no filter on the last level: 1.25 bytes a key less
    options.set_write_buffer_size(16 << 20)
    # Few known keys are among the newest, and to look for one in their skip list takes 2 us.
    options.set_memtable_prefix_bloom_ratio(0.05)
    options.set_memtable_whole_key_filtering(True)
    # To build a table's filter, merging holds 8 bytes for each of its keys: 6 MB, and 25 at RocksDB's own size.
    options.set_target_file_size_base(16 << 20)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    # A torn last record is what a kill leaves; damage before it is an error, not the end of the log.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    return options


def _storage_error(path: Path, error: Exception) -> StorageError:
    """rocksdict raises bare `Exception`s: only their text tells them apart."""
    text = str(error)
    if "While lock file" in text or "lock hold by current process" in text:
        return CrawlDirectoryInUse(f"{path} is open in another process: wait for it, or stop it")
    if "No space left" in text:
        return StorageError(f"The disk of {path} is full: free some space and start again; nothing flushed is lost")
    if "Corruption" in text or "Invalid argument" in text or "No such file" in text:
        return CorruptFile(f"{path} cannot be read ({text}): {_RESTORE}")
    return StorageError(f"{path} cannot be used: {text}")
