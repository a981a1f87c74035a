"""The helper with databases that tests hand on: each test finds one as if it were new."""

from __future__ import annotations

from pathlib import Path

import pytest
from database_files import database_at, opened, put_away

from sitecrawl.crawldir.database import FAMILIES, Database


def rows(database: Database) -> dict[str, list[tuple[bytes, bytes]]]:
    return {family: found for family in FAMILIES if (found := list(database.scan(family)))}


def put(database: Database) -> None:
    """A row into each family."""
    batch = database.batch()
    for family in FAMILIES:
        batch.put(family, b"key", b"value")
    database.write(batch)


@pytest.mark.parametrize("name", ["one hash", "another hash"])
def test_one_that_was_put_away_is_as_a_new_one(name: str, tmp_path: Path) -> None:
    """It has the rows of a new one, in whatever place, and takes others."""
    with_names = rows(opened(tmp_path / "new", hash_name=name))
    one = database_at(tmp_path / "one", name)
    put(one)
    put_away(one)
    other = database_at(tmp_path / "other", name)
    assert other is one
    assert rows(other) == with_names
    put(other)
    assert len(rows(other)) == len(FAMILIES)
    put_away(other)


def test_one_that_was_opened_again_is_not_handed_on(tmp_path: Path) -> None:
    """Its files are no longer those of a new one."""
    one = database_at(tmp_path / "db", "opened again")
    put(one)
    one.close()
    again = database_at(tmp_path / "db", "opened again")
    assert len(rows(again)) == len(FAMILIES)
    put_away(again)
    assert database_at(tmp_path / "other", "opened again") is not again


def test_one_with_many_rows_is_not_handed_on(tmp_path: Path) -> None:
    """Whoever looks for a row would pass those that are gone."""
    one = database_at(tmp_path / "db", "many rows")
    batch = one.batch()
    for number in range(5_000):
        batch.put("urls", b"%d" % number, b"")
    one.write(batch)
    put_away(one)
    assert database_at(tmp_path / "other", "many rows") is not one
