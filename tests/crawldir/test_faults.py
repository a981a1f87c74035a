"""What goes wrong with a crawl's files, in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.crawldir.faults import file_errors


def test_a_text_that_is_none_is_damage(tmp_path: Path) -> None:
    """A flipped bit in a text: the file is not what was written, and can be made again."""
    with closing(sqlite3.connect(tmp_path / "pages.sqlite")) as db:
        db.execute("CREATE TABLE pages (title TEXT)")
        db.execute("INSERT INTO pages VALUES (CAST(x'41C342' AS TEXT))")
        with pytest.raises(CorruptFile, match="check-crawl --repair"), file_errors(tmp_path / "pages.sqlite"):
            db.execute("SELECT title FROM pages").fetchall()


def test_what_is_no_damage(tmp_path: Path) -> None:
    """A question that is none says nothing of the file."""
    with closing(sqlite3.connect(tmp_path / "pages.sqlite")) as db:
        with pytest.raises(StorageError, match="no such table") as raised, file_errors(tmp_path / "pages.sqlite"):
            db.execute("SELECT title FROM pages")
        assert not isinstance(raised.value, CorruptFile)
