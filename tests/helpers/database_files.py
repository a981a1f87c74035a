"""Databases with rows in them, and what may happen to their files."""

from __future__ import annotations

import random
from pathlib import Path

from sitecrawl.crawldir.database import Database


def opened(path: Path, **how) -> Database:
    return Database(path, **{"hash_name": "test", **how})


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
