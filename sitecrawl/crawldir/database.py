"""The crawl's database: one RocksDB, several column families, one atomic batch a checkpoint. A seen set that is
alone (`sitecrawl.frontier.seen.exact`) is another one, of a `Layout` of its own.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, cast

from rocksdict import Cache, RdictIter, ReadOptions, WriteBatch, WriteOptions

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.crawldir import meta
from sitecrawl.crawldir.opening import Layout, lost_tables, nothing_yet, open_rocksdb, storage_error

FORMAT: Final = b"sitecrawl-db-11"
FAMILIES: Final = (
    "urls",
    "queue",
    "levels",
    "children",
    "requests",
    "given_up",
    "hosts",
    "sites",
    "sections",
    "edges",
    "content",
    "classes",
    "rules",
    "sitemaps",
    "revisits",
    "meta",
)

_BEHIND: Final = b"\xff" * 64
"""Greater than every key."""
_TABLES_TO_CACHE = 20
"""A cache is as much smaller than the tables: what is larger holds blocks that are not asked for again."""
CRAWL: Final = Layout(FORMAT, FAMILIES, "let `scrapy check-crawl --repair {parent}` keep what can be read")


def _nobody_hears(error: StorageError) -> None:
    pass


def next_prefix(prefix: bytes) -> bytes | None:
    """The least key that is greater than every key with `prefix`; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


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

    def delete_between(self, family: str, start: bytes = b"", end: bytes | None = None) -> None:
        """Delete the rows from `start` (inclusive) to `end` (exclusive), but none that is put later."""
        self._raw.delete_range(start, _BEHIND if end is None else end, self._handles[family])

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
        self.cache_capacity = layout.least_cache
        """Bytes of the tables' blocks that are kept in memory."""
        self._cache = Cache(self.cache_capacity)
        self._rdict, is_new = open_rocksdb(path, layout, self._cache, read_only=read_only)
        self.had_entries = not is_new
        """Whether there were tables, or more in the log than the names of format and hash."""
        self.on_error: Callable[[StorageError], None] = _nobody_hears
        """Called with every error before it is raised, because the caller's caller may swallow it."""
        self._families = {name: self._rdict.get_column_family(name) for name in layout.families}
        self.handles = {name: self._rdict.get_column_family_handle(name) for name in layout.families}
        self._fit_cache()
        self._check_format(hash_name.encode(), is_new=is_new, read_only=read_only)

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
            raise nothing_yet(self.path) if is_new else lost_tables(self.path, self._layout)
        elif stored != wanted:
            self.close()
            raise FormatMismatch(
                f"{self.path} was written as {stored}, and this version reads {wanted}: "
                "use the version that wrote it, or start in a new directory"
            )

    def _error(self, error: Exception) -> StorageError:
        told = storage_error(self.path, self._layout, error)
        self.on_error(told)
        return told

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
        rows = self._rows(family, options)
        rows.seek(start)
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()
        self._check(rows)

    def first_keys(self, family: str, prefixes: Iterable[bytes]) -> Iterator[bytes | None]:
        """The least key with each of `prefixes`, None where there is none; cheapest in the order of the keys.

        One iterator serves them all: to make one takes longer than to move it.
        """
        rows = self._rows(family, ReadOptions())
        for prefix in prefixes:
            rows.seek(prefix)
            if rows.valid():
                key: bytes = rows.key()
                yield key if key.startswith(prefix) else None
            else:
                self._check(rows)
                yield None

    def last_key(self, family: str, prefix: bytes) -> bytes | None:
        """The greatest key with `prefix`, None where there is none."""
        rows = self._rows(family, ReadOptions())
        rows.seek_for_prev(prefix + _BEHIND)
        if not rows.valid():
            self._check(rows)
            return None
        key: bytes = rows.key()
        return key if key.startswith(prefix) else None

    def _rows(self, family: str, options: ReadOptions) -> RdictIter:
        try:
            return self._families[family].iter(options)
        except Exception as error:  # it is closed, for one
            raise self._error(error) from error

    def _check(self, rows: RdictIter) -> None:
        """Raise the error that ended a scan, if one did: RocksDB tells it by the status alone."""
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
        self.on_error = _nobody_hears
        self.handles.clear()
        for family in self._families.values():
            with contextlib.suppress(Exception):  # closing a family twice is no error worth a message
                family.close()
        self._families.clear()
        try:
            self._rdict.close()
        except Exception as error:
            raise self._error(error) from error
