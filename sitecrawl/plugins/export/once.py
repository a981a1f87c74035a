"""What has come before, on disk: memory does not grow with it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import Final, Self

_BYTES: Final = 16
_TABLE: Final = "CREATE TABLE met (key BLOB PRIMARY KEY) WITHOUT ROWID"


class Once:
    """A set of texts, known by a BLAKE2b of 16 bytes each, in a passing database, which SQLite removes itself."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute(_TABLE)

    def is_new(self, *parts: str) -> bool:
        """Whether it has not been asked for; from now on it has."""
        hashed = hashlib.blake2b(digest_size=_BYTES)
        for part in parts:
            data = part.encode("utf-8", "replace")
            hashed.update(len(data).to_bytes(8))
            hashed.update(data)
        return self._db.execute("INSERT OR IGNORE INTO met VALUES (?)", (hashed.digest(),)).rowcount > 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._db):
            return
