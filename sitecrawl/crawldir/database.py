"""The crawl's database: one RocksDB, several column families, one atomic batch a checkpoint. A seen set that is
alone (`sitecrawl.seen.exact`) is another one, of a `Layout` of its own.

Why RocksDB: an ordered, compressed, crash-safe key-value store that writes a batch over several column
families atomically, keeps its memory bounded, and lets other processes read while the crawl writes
(docs/dependencies.md has the figures against LMDB and SQLite).

Invariants:
- Everything that a checkpoint changes goes down in *one* `Batch`, synced. A crash leaves the database at the
  last batch, never between two.
- The `meta` family names format and hash; a database that does not match is refused, never read as empty.
- Their names are the first batch: as long as log and tables hold no more than that, the database is only being made,
  or what a kill left of that, and to a reader it is not there.
- Keys are compared as bytes, so integers in keys are big-endian.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final, cast

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, NothingYet, StorageError
from sitecrawl.crawldir import meta
from sitecrawl.crawldir.faults import disk_full

FORMAT: Final = b"sitecrawl-db-3"
DAMAGED: Final = ".damaged"
"""What a repair adds to the name of the database that it puts another one in the place of."""
FAMILIES: Final = (
    "urls",
    "queue",
    "requests",
    "hosts",
    "sections",
    "edges",
    "content",
    "classes",
    "rules",
    "sitemaps",
    "revisits",
    "meta",
)

_TABLES_TO_CACHE = 20
"""A cache is as much smaller than the tables: what is larger holds blocks that are not asked for again."""
_WRITE_BUFFER_BYTES = 16 << 20
_ALL_WRITE_BUFFERS_BYTES = 32 << 20
"""Over all families: each by itself would come to hold two full buffers."""
_LOG_BYTES = 128 << 20
"""Beyond it, the families that still need the log's oldest part are written out: opening reads all of it again."""
_SCANNED_FAMILIES: Final = frozenset({"queue"})
"""Never asked for one key, so a Bloom filter would only cost memory."""
_NO_LOCKS = tuple(map(os.strerror, (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)))
"""What a file system says that knows no locks."""
_FIRST_BATCH_BYTES = 512
"""At least what the names of format and hash take in the log, and less than they take with a crawl's checkpoint."""
_OPENINGS = 5
_PAUSE = 0.05
"""Seconds between two of them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a kind of database consists of."""

    format: bytes
    """What `meta` says under `format`; a database that says anything else is refused."""
    families: tuple[str, ...]
    """`meta` is one of them."""
    remedy: str
    """What to do with a damaged one that there is no copy of; `{parent}` is the directory that it is in."""
    least_cache: int = 16 << 20
    most_cache: int = 64 << 20
    """Bytes of blocks in memory, filters and indexes included: the filter of ten million keys has 12 MB."""
    tune: Callable[[Options, BlockBasedOptions], None] | None = None
    """Changes the options that a family has otherwise."""


CRAWL: Final = Layout(FORMAT, FAMILIES, "let `scrapy check-crawl --repair {parent}` keep what can be read")


class Batch:
    """Writes over several column families that happen together or not at all."""

    __slots__ = ("_handles", "_raw")

    def __init__(self, database: Database) -> None:
        self._raw = WriteBatch(raw_mode=True)
        self._handles = database.handles

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self._raw.put(key, value, self._handles[family])

    def delete(self, family: str, key: bytes) -> None:
        self._raw.delete(key, self._handles[family])

    def __len__(self) -> int:
        return self._raw.len()

    @property
    def raw(self) -> WriteBatch:
        return self._raw


class Database:
    """A RocksDB with the families of its `layout`.

    `hash_name` is the name of the fingerprint function whose values are keys. Raises `CrawlDirectoryInUse`,
    `FormatMismatch`, `CorruptFile` or `StorageError`; with `read_only` also `NothingYet`.
    """

    def __init__(self, path: Path, *, hash_name: str, layout: Layout = CRAWL, read_only: bool = False) -> None:
        self.path = path
        self._layout = layout
        written = _written(path)
        if not written:
            _refuse_lost_database(path)
            if read_only:
                raise _nothing_yet(path)
        had_entries = written > _FIRST_BATCH_BYTES  # then the names of format and hash have to be there
        if had_entries and not read_only:
            _refuse_lost_tables(path, layout)
        self.cache_capacity = layout.least_cache
        """Bytes of the tables' blocks that are kept in memory."""
        self._cache = Cache(self.cache_capacity)
        self._rdict = (_open_patiently if read_only else _open)(path, layout, self._cache)
        self._families = {name: self._rdict.get_column_family(name) for name in layout.families}
        self.handles = {name: self._rdict.get_column_family_handle(name) for name in layout.families}
        self._fit_cache()
        self._check_format(hash_name.encode(), is_new=not had_entries, read_only=read_only)

    def _check_format(self, hash_name: bytes, *, is_new: bool, read_only: bool) -> None:
        stored = self.get("meta", meta.FORMAT), self.get("meta", meta.HASH)
        wanted = self._layout.format, hash_name
        if stored == (None, None) and is_new and not read_only:
            batch = self.batch()
            batch.put("meta", meta.FORMAT, self._layout.format)
            batch.put("meta", meta.HASH, hash_name)
            self.write(batch)
        elif stored == (None, None):  # a shortened MANIFEST is to RocksDB an older state, before any table
            self.close()
            raise _nothing_yet(self.path) if is_new else _lost_tables(self.path, self._layout)
        elif stored != wanted:
            self.close()
            raise FormatMismatch(
                f"{self.path} was written as {stored}, and this version reads {wanted}: "
                "use the version that wrote it, or start in a new directory"
            )

    def _error(self, error: Exception) -> StorageError:
        return _storage_error(self.path, self._layout, error)

    def get(self, family: str, key: bytes) -> bytes | None:
        try:
            value: bytes | None = self._families[family].get(key)
        except Exception as error:
            raise self._error(error) from error
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of `keys`, None where there is none, in the order of `keys`."""
        if not keys:
            return []
        try:
            return cast("list[bytes | None]", self._families[family].get(list(keys)))
        except Exception as error:
            raise self._error(error) from error

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The pairs from `start` (inclusive) to `end` (exclusive), in the order of their keys."""
        options = ReadOptions()
        if end is not None:
            options.set_iterate_upper_bound(end)
        rows = self._families[family].iter(options)
        rows.seek(start)
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()
        self._check(rows)

    def first_keys(self, family: str, prefixes: Iterable[bytes]) -> Iterator[bytes | None]:
        """The least key with each of `prefixes`, None where there is none; cheapest in the order of the keys.

        One iterator serves them all: to make one takes longer than to move it.
        """
        rows = self._families[family].iter(ReadOptions())
        for prefix in prefixes:
            rows.seek(prefix)
            if rows.valid():
                key: bytes = rows.key()
                yield key if key.startswith(prefix) else None
            else:
                self._check(rows)
                yield None

    def _check(self, rows: RdictIter) -> None:
        """Rows that cannot be read end a scan just as its end does: only their status tells."""
        try:
            rows.status()
        except Exception as error:
            raise self._error(error) from error

    def batch(self) -> Batch:
        return Batch(self)

    def write(self, batch: Batch, *, sync: bool = True) -> None:
        """Write `batch` atomically; with `sync` it has reached the disk when this returns."""
        options = WriteOptions()
        options.sync = sync
        try:
            self._rdict.write(batch.raw, options)
        except Exception as error:
            raise self._error(error) from error
        self._fit_cache()

    def _fit_cache(self) -> None:
        """Let the cache grow with the tables. It never shrinks: merging takes from them what writing adds again."""
        tables = sum(f.property_int_value("rocksdb.live-sst-files-size") or 0 for f in self._families.values())
        wanted = min(tables // _TABLES_TO_CACHE, self._layout.most_cache)
        if wanted > self.cache_capacity:
            self.cache_capacity = wanted
            self._cache.set_capacity(wanted)

    def size_on_disk(self) -> int:
        """Bytes of all files of the database."""
        size = 0
        for file in self.path.iterdir():
            with contextlib.suppress(FileNotFoundError):  # RocksDB deletes files whenever it has merged them
                size += file.stat().st_size
        return size

    def close(self) -> None:
        """Raises `StorageError` if a write has failed, now or before; what `write` returned from is on disk."""
        self.handles.clear()
        for family in self._families.values():
            with contextlib.suppress(Exception):  # closing a family twice is no error worth a message
                family.close()
        self._families.clear()
        try:
            self._rdict.close()
        except Exception as error:
            raise self._error(error) from error


def _options(layout: Layout, cache: Cache, family: str) -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    if family not in _SCANNED_FAMILIES:
        blocks.set_bloom_filter(10, block_based=False)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)  # else a look-up that misses the cache reads a whole file's filter
    blocks.set_pin_top_level_index_and_filter(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003
    options.create_missing_column_families(True)  # noqa: FBT003
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_db_write_buffer_size(_ALL_WRITE_BUFFERS_BYTES)
    options.set_max_total_wal_size(_LOG_BYTES)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    if layout.tune is not None:
        layout.tune(options, blocks)
    options.set_block_based_table_factory(blocks)
    return options


def _open(path: Path, layout: Layout, cache: Cache, *, read_only: bool = False) -> Rdict:
    families = {name: _options(layout, cache, name) for name in ("default", *layout.families)}
    if read_only:
        families["default"].set_max_open_files(-1)  # only an open file outlives its deletion by a crawl at work
    access = AccessType.read_only(error_if_log_file_exist=False) if read_only else AccessType.read_write()
    try:
        return Rdict(
            str(path),
            options=families["default"],
            column_families=families,
            access_type=access,
        )
    except Exception as error:
        if "Column family not found" in str(error) and _is_foreign(path):
            raise FormatMismatch(f"{path} is the database of another program: choose another directory") from error
        raise _storage_error(path, layout, error) from error


def _is_foreign(path: Path) -> bool:
    """Whether there are rows outside of a named family, where this project has none."""
    with contextlib.suppress(Exception):
        rdict = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        with contextlib.closing(rdict):
            return next(rdict.keys(), None) is not None
    return False


def _written(path: Path) -> float:
    """Bytes in the logs, and infinity where there are tables; 0 where nothing was ever written.

    RocksDB takes many steps to make a database, and asked for one that is missing it makes a directory, also to a
    reader.
    """
    try:
        # First the logs: what is in one of them goes into a table before it is deleted.
        logs = sum(file.stat().st_size for file in path.iterdir() if file.suffix == ".log")
        return inf if any(file.suffix == ".sst" for file in path.iterdir()) else logs
    except FileNotFoundError:
        return inf if path.exists() else 0  # a log that a crawl at work has put into tables
    except OSError:
        return _FIRST_BATCH_BYTES  # neither blank nor known to hold more: RocksDB says what is wrong


def _refuse_lost_database(path: Path) -> None:
    """A repair that was stopped has moved it away: a new one in its place would be in the way of the repaired one."""
    damaged = path.with_name(path.name + DAMAGED)
    if damaged.exists():
        raise CorruptFile(
            f"{path} holds nothing, and {damaged} is what a repair that was stopped has moved away: let "
            f"`scrapy check-crawl --repair {path.parent}` finish it"
        )


def _refuse_lost_tables(path: Path, layout: Layout) -> None:
    """Look before opening for writing: what a shortened MANIFEST does not name, RocksDB deletes at once, and so it
    does with a log that cannot be read from its start.
    """
    rdict = _open_patiently(path, layout, Cache(layout.least_cache))
    try:
        names_format = rdict.get_column_family("meta").get(meta.FORMAT) is not None
    except Exception as error:
        raise _storage_error(path, layout, error) from error
    finally:
        rdict.close()
    if not names_format:
        raise _lost_tables(path, layout)


def _open_patiently(path: Path, layout: Layout, cache: Cache) -> Rdict:
    """Read-only. A crawl at work may replace a file between two steps of it: then the next attempt succeeds.

    A log that goes meanwhile is no error to RocksDB, but what was in it may be in no table that it has heard of.
    """
    for _ in range(_OPENINGS - 1):
        logs = list(path.glob("*.log"))
        with contextlib.suppress(CorruptFile):
            rdict = _open(path, layout, cache, read_only=True)
            if all(log.exists() for log in logs):
                return rdict
            rdict.close()
        time.sleep(_PAUSE)
    return _open(path, layout, cache, read_only=True)


def _nothing_yet(path: Path) -> NothingYet:
    return NothingYet(
        f"{path} holds nothing yet: its crawl begins just now, or was stopped as it began. Look again later, or "
        "start it again with the same directory"
    )


def _lost_tables(path: Path, layout: Layout) -> CorruptFile:
    return _damaged(path, layout, "it names no format, so its list of tables or its log is damaged")


def _damaged(path: Path, layout: Layout, how: str) -> CorruptFile:
    remedy = layout.remedy.format(parent=path.parent)
    return CorruptFile(f"{path} cannot be read ({how}): restore it from a copy, or {remedy}")


def _storage_error(path: Path, layout: Layout, error: Exception) -> StorageError:
    """rocksdict raises bare `Exception`s: only their text tells them apart."""
    text = str(error)
    if "While lock file" in text and any(reason in text for reason in _NO_LOCKS):
        return StorageError(f"{path} cannot be locked ({text}): choose a directory on a file system with locks")
    if "While lock file" in text or "lock hold by current process" in text:
        return CrawlDirectoryInUse(f"{path} is open in another process: wait for it, or stop it")
    if "No space left" in text:
        return disk_full(path)
    if "Column families not opened" in text:
        return FormatMismatch(
            f"{path} holds tables that this version does not know ({text}): "
            "use the version that wrote it, or start in a new directory"
        )
    if text.startswith("Corruption") or "Invalid argument" in text or "No such file" in text:
        return _damaged(path, layout, text)
    return StorageError(f"{path}: {text}")
