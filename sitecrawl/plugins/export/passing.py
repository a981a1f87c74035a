"""Texts on disk, for as long as they are needed: memory does not grow with them.

They are in passing databases, which SQLite removes itself, also when the process is killed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Final, Self

_BYTES: Final = 16


class _Passing:
    """One table in a database without a name."""

    table: str

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute(f"CREATE TABLE {self.table}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._db):
            return


class Once(_Passing):
    """A set of texts, known by a BLAKE2b of 16 bytes each."""

    table = "met (key BLOB PRIMARY KEY) WITHOUT ROWID"

    def is_new(self, *parts: str) -> bool:
        """Whether it has not been asked for; from now on it has."""
        hashed = hashlib.blake2b(digest_size=_BYTES)
        for part in parts:
            data = part.encode("utf-8", "replace")
            hashed.update(len(data).to_bytes(8))
            hashed.update(data)
        return self._db.execute("INSERT OR IGNORE INTO met VALUES (?)", (hashed.digest(),)).rowcount > 0


class Sorted(_Passing):
    """Lines, added in any order and iterated in the order of their bytes."""

    table = "lines (line BLOB)"

    def add(self, line: bytes) -> None:
        self._db.execute("INSERT INTO lines VALUES (?)", (line,))

    def __iter__(self) -> Iterator[bytes]:
        return (line for (line,) in self._db.execute("SELECT line FROM lines ORDER BY line"))
