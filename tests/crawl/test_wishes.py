"""A wish is heard once, at the next checkpoint, and forgotten when that is on disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.wishes import Wishes, wish
from sitecrawl.crawldir.database import Database
from sitecrawl.urls.fingerprint import HASH_NAME


def test_a_wish(tmp_path: Path) -> None:
    """A crash before the checkpoint is on disk does not lose it."""
    calls: list[int] = []
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        wishes = Wishes(tmp_path, lambda: calls.append(1))
        wishes.prepare(database.batch())
        wishes.committed()
        assert not calls
        wish(tmp_path)
        wishes.prepare(database.batch())
        Wishes(tmp_path, lambda: calls.append(2)).prepare(database.batch())  # after a crash
        wishes.committed()
        wishes.prepare(database.batch())
    assert calls == [1, 2]


def test_a_directory_that_there_is_not(tmp_path: Path) -> None:
    """Says what cannot be done, and why."""
    with pytest.raises(StorageError, match="No such file"):
        wish(tmp_path / "none")
