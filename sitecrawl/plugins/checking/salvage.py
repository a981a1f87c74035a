"""A database that RocksDB cannot open or read to its end: what of it can be read is put into a new one.

RocksDB's own repair works in place and leaves half a database when it is stopped. So it works on a copy here, in
which the tables, which never change, are hard links:

    db           db is damaged
    db + db.new  the copy is made and repaired; a crash leaves db as it was, and the next attempt begins anew
    db.damaged + db.new     db has been moved away
    db.damaged + db         the repaired copy is in its place

The repair reads every table and leaves out those with damage, and takes of the log what is whole; of MANIFEST,
CURRENT and OPTIONS it needs none. It learns of the families from the tables, and a young crawl has none: all of it is
in the log, which names families by numbers, and of a family that it does not know RocksDB drops the rows (`RepairDB`,
db/repair.cc). So a table for each family is put beside the others, with nothing in it but the deletion of a key that
no family has.

The families may then be of different moments: what they say has to be checked, and mended, afterwards. Where nothing
can be read, a new database takes the place of the damaged one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from rocksdict import BottommostLevelCompaction, Cache, CompactOptions, Options, Rdict

from sitecrawl.base.errors import CorruptFile, NothingYet, StorageError
from sitecrawl.crawldir import meta
from sitecrawl.crawldir.database import CRAWL, FAMILIES, FORMAT, Database
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.opening import DAMAGED, make_families
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.urls.fingerprint import HASH_NAME

_DRAFT: Final = "db.new"
_DAMAGED: Final = f"db{DAMAGED}"
_NAMED: Final = "db.families"
"""Where the tables are made that name the families."""
_NO_KEY: Final = b""
"""No row of ours has it."""


def is_readable(path: Path) -> str:
    """Why the database cannot be read to its end; empty if it can. Raises what is no damage."""
    has_pages = (path.parent / INDEX_FILE).exists() or any((path.parent / WARC_DIRECTORY).glob("*"))
    try:
        database = Database(path, hash_name=HASH_NAME, read_only=True)
    except CorruptFile as error:
        return str(error)
    except NothingYet:
        if has_pages:  # a crawl makes its database first
            return "it is missing or empty, and there is a page store beside it"
        raise
    try:
        for family in FAMILIES:
            for _ in database.scan(family):
                pass
    except CorruptFile as error:
        return str(error)
    finally:
        database.close()
    return ""


def finish_move(directory: Path) -> None:
    """Where a crash came between the two renames, do the second."""
    if not (directory / "db").exists() and (directory / _DAMAGED).exists() and (directory / _DRAFT).exists():
        (directory / _DRAFT).rename(directory / "db")


def salvage(directory: Path) -> Path:
    """Put a repaired copy in the place of the database; returns where the damaged one is now.

    Raises `CorruptFile` if nothing can be read.
    """
    source, draft, damaged = directory / "db", directory / _DRAFT, directory / _DAMAGED
    with file_errors(source):
        source.mkdir(exist_ok=True)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        _copy(source, draft)
        _add_families(draft)
    try:
        Rdict.repair(str(draft), Options(raw_mode=True))
        _write_anew(draft)
    except StorageError:
        raise
    except Exception as error:
        raise CorruptFile(f"{source} cannot be repaired ({error}): restore it from a copy") from error
    with file_errors(source):
        shutil.rmtree(damaged, ignore_errors=True)
        source.rename(damaged)
        draft.rename(source)
        sync_directory(directory)
    return damaged


def _copy(source: Path, draft: Path) -> None:
    """The files that hold rows: tables, which never change, as hard links, and logs."""
    for file in source.iterdir():
        if file.suffix == ".sst":
            os.link(file, draft / file.name)
        elif file.suffix == ".log":
            shutil.copyfile(file, draft / file.name)


def _add_families(draft: Path) -> None:
    """Let the repair know all families, whatever tables there are: see the module."""
    named = draft.with_name(_NAMED)
    shutil.rmtree(named, ignore_errors=True)
    make_families(named, CRAWL, Cache(CRAWL.least_cache))
    database = Rdict(str(named), Options(raw_mode=True), dict.fromkeys(FAMILIES, Options(raw_mode=True)))
    for name in FAMILIES:
        family = database.get_column_family(name)
        family.delete(_NO_KEY)
        family.flush()
    database.close()
    newest = max((int(file.stem) for file in draft.iterdir() if file.stem.isdigit()), default=0)
    for number, table in enumerate(sorted(named.glob("*.sst")), newest + 1):
        table.rename(draft / f"{number:06d}.sst")
    shutil.rmtree(named)


def _write_anew(path: Path) -> None:
    """Make the families and the format's name again that were lost with their table, and all tables.

    The repair reads the rows alone: of a table whose filter is damaged it keeps both.
    """
    names = set(Rdict.list_cf(str(path), Options(raw_mode=True)))
    families = {name: Options(raw_mode=True) for name in names}
    database = Rdict(str(path), Options(raw_mode=True), column_families=families)
    try:
        for name in FAMILIES:
            if name not in names:
                database.create_column_family(name, Options(raw_mode=True))
        rows = database.get_column_family("meta")
        if rows.get(meta.FORMAT) is None:
            rows[meta.FORMAT], rows[meta.HASH] = FORMAT, HASH_NAME.encode()
        rows[meta.LINKS_READ] = bytes(8)  # nobody knows which URLs were in what could not be read
        every_table = CompactOptions()
        every_table.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        for name in names:
            database.get_column_family(name).compact_range(None, None, every_table)
    finally:
        database.close()
