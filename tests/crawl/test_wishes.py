"""A wish is heard once, at the next checkpoint, and forgotten when that is on disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.wishes import Wishes, wish
from sitecrawl.crawldir.database import Database
from sitecrawl.urls.fingerprint import HASH_NAME


def wishes_in(directory: Path, calls: list[int], number: int) -> Wishes:
    """Those of a crawl in which nobody is given up: it notes `number` where it is asked to retry."""
    by_hand = SimpleNamespace(retry_given_up=lambda: calls.append(number))
    ours: Any = SimpleNamespace(team=None, is_replaced=False, local=SimpleNamespace(by_hand=by_hand))
    return Wishes(directory, get_crawler(), ours)


def test_a_wish(tmp_path: Path) -> None:
    """A crash before the checkpoint is on disk does not lose it."""
    calls: list[int] = []
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        wishes = wishes_in(tmp_path, calls, 1)
        wishes.prepare(database.batch())
        wishes.committed()
        assert not calls
        wish(tmp_path)
        wishes.prepare(database.batch())
        wishes_in(tmp_path, calls, 2).prepare(database.batch())  # after a crash
        wishes.committed()
        wishes.prepare(database.batch())
    assert calls == [1, 2]


def test_a_directory_that_there_is_not(tmp_path: Path) -> None:
    """Says what cannot be done, and why."""
    with pytest.raises(StorageError, match="No such file"):
        wish(tmp_path / "none")
