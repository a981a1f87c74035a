"""Databases with rows in them, and what may happen to their files."""

from __future__ import annotations

import atexit
import itertools
import random
import shutil
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from sitecrawl.crawldir import meta
from sitecrawl.crawldir.database import FAMILIES, Database


def opened(path: Path, **how) -> Database:
    return Database(path, **{"hash_name": "test", **how})


_TEMPORARY = gettempdir()
"""Not one that a test has put in its place."""


@cache
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="databases-", dir=_TEMPORARY)).resolve()
    atexit.register(shutil.rmtree, folder)
    return folder


_numbers = itertools.count()
_ready: defaultdict[str, list[Database]] = defaultdict(list)
"""Open databases without rows, by the names of their hashes."""
_MOST_ROWS = 3_000
"""Of one that is handed on, though they are gone: whoever looks for a row passes them."""


def database_at(path: Path, hash_name: str) -> Database:
    """The database in `path`, open. Where there is none, it is one that another test has put away, or a new one."""
    if path.exists():
        return Database(path, hash_name=hash_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    ready = _ready[hash_name]
    database = ready.pop() if ready else Database(_folder() / str(next(_numbers)), hash_name=hash_name)
    path.symlink_to(database.path)
    database.path = path
    return database


def put_away(database: Database) -> None:
    """Another test may have it, without its rows: to open a database takes longer than most tests do.

    One that was opened a second time, or has tables or many rows, is closed; and so is one in a folder that goes.
    """
    database.path = database.path.resolve()
    stays = database.path.is_relative_to(_folder()) and not database.had_entries
    tables, rows = (_sum(database, figure) for figure in ("live-sst-files-size", "num-entries-active-mem-table"))
    if not stays or tables or rows > _MOST_ROWS:
        database.close()
        return
    named = {name: database.get("meta", name) or b"" for name in (meta.FORMAT, meta.HASH)}
    batch = database.batch()
    for family in FAMILIES:
        if next(database.scan(family), None) is not None:
            batch.delete_between(family)
    for name, value in named.items():
        batch.put("meta", name, value)
    database.write(batch, sync=False)
    _ready[named[meta.HASH].decode()].append(database)


def _sum(database: Database, figure: str) -> int:
    """Of all families."""
    return sum(family.property_int_value(f"rocksdb.{figure}") or 0 for family in database._families.values())


def copied(database: Path, to: Path) -> Path:
    """The files of a database, without what belongs to the process that has it open."""
    return shutil.copytree(database, to, ignore=shutil.ignore_patterns("LOCK", "LOG*"))


def filled(path: Path, rows: int = 2_000) -> Path:
    """A closed database with `rows` rows of 200 bytes in an SST file of `urls`."""
    noise = random.Random(1)
    database = opened(path)
    batch = database.batch()
    for number in range(rows):
        batch.put("urls", b"%06d" % number, noise.randbytes(200))
    database.write(batch)
    database._families["urls"].flush()
    database.close()
    return path


def largest_sst(path: Path) -> Path:
    return max(path.glob("*.sst"), key=lambda file: file.stat().st_size)


def damage(file: Path, place: float) -> None:
    """Invert 20 bytes of `file`."""
    content = bytearray(file.read_bytes())
    start = int(len(content) * place)
    content[start : start + 20] = bytes(255 - byte for byte in content[start : start + 20])
    file.write_bytes(content)
