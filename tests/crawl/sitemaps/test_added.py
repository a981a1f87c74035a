"""Sitemaps that are added to a crawl from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.sitemaps.added import Added, leave
from sitecrawl.crawldir.database import Database
from sitecrawl.urls.url import parse

URLS = [parse(f"http://a.example/{number}.xml") for number in range(3)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "db", hash_name="test")) as opened:
        yield opened


def test_each_once(tmp_path: Path) -> None:
    """What is left is taken once, in its order."""
    added = Added(tmp_path)
    assert added.take() == []
    leave(tmp_path, URLS)
    assert added.take() == URLS
    assert added.take() == []


def test_a_crash(tmp_path: Path, database: Database) -> None:
    """What was taken and is in no checkpoint is taken again by the next run; what is in one is gone."""
    leave(tmp_path, URLS)
    for _ in range(2):
        added = Added(tmp_path)
        assert added.take() == URLS
    added.prepare(database.batch())
    assert Added(tmp_path).take() == URLS
    leave(tmp_path, URLS[:1])
    added.committed()  # what was left since then was not part of it
    assert Added(tmp_path).take() == URLS[:1]
    assert added.take() == URLS[:1]


def test_damage(tmp_path: Path) -> None:
    """Lines that are no URL are left out, and what cannot be read is."""
    (tmp_path / "x.added-sitemaps").write_bytes(b"\xff\x00\nhttp://a.example/1.xml\nmailto:x\n")
    (tmp_path / "y.added-sitemaps").mkdir()
    assert Added(tmp_path).take() == URLS[1:2]


def test_no_place(tmp_path: Path) -> None:
    """Where nothing can be written, the error says so."""
    with pytest.raises(StorageError, match="Nothing can be added"):
        leave(tmp_path / "missing", URLS)
