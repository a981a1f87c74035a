"""Open a RocksDB: options, checks, and error messages.

RocksDB makes a new database in a directory without one, and deletes what it cannot read. So the directory is checked
before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
)

from sitecrawl.base import descriptors
from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, NothingYet, StorageError
from sitecrawl.crawldir import meta
from sitecrawl.crawldir.faults import disk_full

DAMAGED: Final = ".damaged"
"""Suffix of a database that a repair has replaced."""
_WRITE_BUFFER_BYTES = 16 << 20
_ALL_WRITE_BUFFERS_BYTES = 32 << 20
"""Limit over all families; each by itself could hold two full buffers."""
_LOG_BYTES = 128 << 20
"""Most bytes of the log, all of which is read again on opening."""
_SCANNED_FAMILIES: Final = frozenset({"queue"})
"""Families without Bloom filters, as they are only scanned."""
_FOUND_FAMILIES: Final = frozenset({"urls"})
"""Families asked for existing keys only, as the seen set's Bloom filter answers for others."""
_NO_LOCKS = tuple(map(os.strerror, (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)))
"""Error messages of file systems without locks."""
_FIRST_BATCH_BYTES = 512
"""Size of a log with format and hash, and without a checkpoint."""
_OPENING_THREADS = 1
"""Threads that read a family's tables while it is opened. RocksDB's 16 for each family would be 225 in all, take
twice the processor time, and seven times as long on a busy machine."""
_OPENINGS = 5
_PAUSE = 0.05
"""Seconds between two of them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Parts of one kind of database."""

    format: bytes
    """Value of `format` in `meta`; a database with another one is refused."""
    families: tuple[str, ...]
    """`meta` is one of them."""
    remedy: str
    """Advice for a damaged database without a copy; `{parent}` is its directory."""
    least_cache: int = 16 << 20
    most_cache: int = 64 << 20
    """Bytes of blocks in memory, filters and indexes included: the filter of ten million keys has 12 MB."""
    tune: Callable[[Options, BlockBasedOptions], None] | None = None
    """Changes the options that a family has otherwise."""


def open_rocksdb(path: Path, layout: Layout, cache: Cache, *, read_only: bool) -> tuple[Rdict, bool]:
    """Open the database in `path`. Returns whether it is new, too: then format and hash may be missing.

    Raises as `Database` does.
    """
    written = _written(path)
    if not written:
        _refuse_lost_database(path)
        if read_only:
            raise nothing_yet(path)
    had_entries = written > _FIRST_BATCH_BYTES  # then the names of format and hash have to be there
    if had_entries and not read_only:
        _refuse_lost_tables(path, layout)
    if read_only:
        return _open_patiently(path, layout, cache), not had_entries
    return _open(path, layout, cache, makes=not had_entries), not had_entries


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
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_db_write_buffer_size(_ALL_WRITE_BUFFERS_BYTES)
    options.set_max_total_wal_size(_LOG_BYTES)
    # A torn last record is what a kill leaves. Damage before it is an error: RocksDB would open as of before it, and
    # delete the rest of the log.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_max_open_files(descriptors.for_database())
    options.set_max_file_opening_threads(_OPENING_THREADS)
    options.set_keep_log_file_num(2)
    if family in _FOUND_FAMILIES:
        expect_found(options)
    if layout.tune is not None:
        layout.tune(options, blocks)
    options.set_block_based_table_factory(blocks)
    return options


def expect_found(options: Options) -> None:
    """Optimise a family for keys that exist, as a Bloom filter before it answers for new ones."""
    options.set_optimize_filters_for_hits(True)  # none on the last level: 1.25 bytes a key less, and 4 us a look-up
    # Few known keys are among the newest, and to look for one in their skip list takes 2 us, and 8 on a busy machine.
    options.set_memtable_prefix_bloom_ratio(0.05)
    options.set_memtable_whole_key_filtering(True)


def _open(path: Path, layout: Layout, cache: Cache, *, read_only: bool = False, makes: bool = False) -> Rdict:
    """`makes`: the families that are missing, all in one go: RocksDB writes all options down after each step."""
    families = {name: _options(layout, cache, name) for name in ("default", *layout.families)}
    if read_only:
        families["default"].set_max_open_files(-1)  # only an open file outlives its deletion by a crawl at work
    families["default"].create_missing_column_families(makes)
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
        raise storage_error(path, layout, error) from error


def _is_foreign(path: Path) -> bool:
    """Whether the default family has rows, as no database of ours."""
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
    """Raise `CorruptFile` if an interrupted repair has moved the database away."""
    damaged = path.with_name(path.name + DAMAGED)
    if damaged.exists():
        raise CorruptFile(
            f"{path} holds nothing, and {damaged} is what a repair that was stopped has moved away: let "
            f"`scrapy check-crawl --repair {path.parent}` finish it"
        )


def _refuse_lost_tables(path: Path, layout: Layout) -> None:
    """Check before opening for writing that the format is there: RocksDB deletes tables that a damaged MANIFEST does
    not name, and a log whose start is damaged.
    """
    rdict = _open_patiently(path, layout, Cache(layout.least_cache))
    try:
        names_format = rdict.get_column_family("meta").get(meta.FORMAT) is not None
    except Exception as error:
        raise storage_error(path, layout, error) from error
    finally:
        rdict.close()
    if not names_format:
        raise lost_tables(path, layout)


def _open_patiently(path: Path, layout: Layout, cache: Cache) -> Rdict:
    """Open read-only, several times if a running crawl replaces files meanwhile. RocksDB does not report a log that
    was deleted meanwhile, whose rows may be in a newer table.
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


def nothing_yet(path: Path) -> NothingYet:
    return NothingYet(
        f"{path} holds nothing yet: its crawl begins just now, or was stopped as it began. Look again later, or "
        "start it again with the same directory"
    )


def lost_tables(path: Path, layout: Layout) -> CorruptFile:
    return _damaged(path, layout, "it names no format, so its list of tables or its log is damaged")


def _damaged(path: Path, layout: Layout, how: str) -> CorruptFile:
    remedy = layout.remedy.format(parent=path.parent)
    return CorruptFile(f"{path} cannot be read ({how}): restore it from a copy, or {remedy}")


def storage_error(path: Path, layout: Layout, error: Exception) -> StorageError:
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
