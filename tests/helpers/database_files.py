"""Databases with rows in them, and what may happen to their files."""

from __future__ import annotations

import atexit
import random
import shutil
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from sitecrawl.crawldir.database import Database


def opened(path: Path, **how) -> Database:
    return Database(path, **{"hash_name": "test", **how})


def database_at(path: Path, hash_name: str) -> Database:
    """The database in `path`, open. Where there is none, a new one is copied: to make its families one by one takes
    half a second, and tests/crawldir looks at that.
    """
    if not path.exists():
        shutil.copytree(_new(hash_name), path)
    return Database(path, hash_name=hash_name)


@cache
def _new(hash_name: str) -> Path:
    """The files of a database as it is made, before anything is written to it."""
    folder = Path(mkdtemp(prefix="database-"))
    atexit.register(shutil.rmtree, folder)
    with closing(Database(folder / "open", hash_name=hash_name)):
        return copied(folder / "open", folder / "new")


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
