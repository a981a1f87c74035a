"""Items as rows whose columns are their fields, in each database that runs here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from pagestore_helpers import NO_BATCH

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.pagestore.database import DatabaseOptions
from sitecrawl.pagestore.itemcolumns import ItemColumnStore, type_of

BIKE = {
    "url": "http://site.example/1",
    "name": "Bike \N{SNOWMAN}\0",
    "price": 99,
    "weight": 12.5,
    "new": True,
    "sizes": ["M", "L"],
    "note": None,
}


@contextmanager
def opened(url: str, crawl: str = "test", table: str = "items") -> Iterator[ItemColumnStore]:
    store = ItemColumnStore(DatabaseOptions(url=url, crawl=crawl, table=table))
    try:
        yield store
    finally:
        store.close()


def write(url: str, *items: Mapping[str, Any], crawl: str = "test") -> None:
    """A run of a crawl that takes these items."""
    with opened(url, crawl) as store:
        for item in items:
            store.add(item)
        store.prepare(NO_BATCH)


def rows(url: str, order: str = "url") -> list[dict[str, Any]]:
    """Without the key."""
    engine = sa.create_engine(url)
    try:
        table = sa.Table("items", sa.MetaData(), autoload_with=engine)
        with engine.connect() as connection:
            found = connection.execute(sa.select(table).order_by(order)).mappings().all()
    finally:
        engine.dispose()
    return [{name: value for name, value in row.items() if name not in ("crawl", "item_digest")} for row in found]


def test_fields_are_columns(url: str) -> None:
    """Numbers are numbers, lists are JSON, and what databases stumble over is replaced."""
    write(url, BIKE)
    (row,) = rows(url)
    assert row == {**BIKE, "name": "Bike \N{SNOWMAN}\ufffd", "sizes": '["M", "L"]'}
    assert isinstance(row["price"], int)


def test_the_first_items_make_the_table(url: str) -> None:
    """It has the fields of all of them, and types that hold all their values; what an item has not is empty."""
    write(url, {"url": "a", "price": 1}, {"url": "b", "price": 1.5, "stock": 3}, {"url": "c", "stock": "many"})
    assert rows(url) == [
        {"url": "a", "price": 1.0, "stock": None},
        {"url": "b", "price": 1.5, "stock": "3"},
        {"url": "c", "price": None, "stock": "many"},
    ]


def test_later_runs_write_into_it(url: str) -> None:
    """An item that comes again is the same row, in whatever order its fields are; other crawls have their own."""
    write(url, {"url": "a", "price": 1, "new": True})
    write(url, {"new": True, "price": 1, "url": "a"}, {"url": "b", "new": False})
    write(url, {"url": "a", "price": 1, "new": True}, crawl="other")
    assert [(row["url"], row["price"], row["new"]) for row in rows(url)] == [
        ("a", 1, True),
        ("a", 1, True),
        ("b", None, False),
    ]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"url": "b", "prize": 1}, "b has the field 'prize', and the table 'items' of .* has no column for it"),
        ({"url": "b", "price": "9 {} €"}, "has whole numbers there, not '9 {} €': give the column another type"),
        ({"url": "b", "price": 9.5}, "whole numbers there, not 9.5"),
        ({"url": "b", "price": 1 << 64}, "whole numbers there, not 18446744073709551616"),
        ({"url": "b", "price": True}, "whole numbers there, not True"),
    ],
)  # fmt: skip
def test_another_shape_is_an_error(url: str, item: dict[str, Any], says: str) -> None:
    """One line says what does not fit and what to do; nothing of that transaction is written, nothing after it."""
    write(url, {"url": "a", "price": 1})
    with opened(url) as store:
        store.add({"url": "0", "price": 2})
        store.add(item)
        with pytest.raises(FormatMismatch, match=says) as error:
            store.flush()
        assert "\n" not in str(error.value)
        with pytest.raises(StorageError):
            store.add({"url": "c", "price": 3})
    assert [row["url"] for row in rows(url)] == ["a"]


def test_a_column_that_was_added_is_used(url: str) -> None:
    """What the message says to do helps."""
    write(url, {"url": "a", "price": 1})
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE items ADD COLUMN stock INTEGER"))
    engine.dispose()
    write(url, {"url": "b", "stock": 3})
    assert rows(url)[1] == {"url": "b", "price": None, "stock": 3}


@pytest.mark.parametrize("fields", [{"crawl": 1}, {"Item_Digest": 1}, {"Price": 1, "price": 2}, {"share in %": 1}])
def test_fields_that_can_be_no_columns(url: str, fields: dict[str, Any]) -> None:
    """The table has two columns of its own, databases take no heed of the case, and a driver reads %."""
    with pytest.raises(FormatMismatch, match="cannot have a column each"):
        write(url, {"url": "a", **fields})


def test_fields_with_any_name(url: str) -> None:
    """A field of rules or of a spider may be called what it likes."""
    item = {"url": "a", "order": 1, "per cent": 2, 'it\'s (so): "x"': 3, "Größe": 4}
    write(url, item)
    assert rows(url) == [item]


def test_a_table_of_something_else_is_refused(url: str) -> None:
    """At the start, before anything is crawled."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE items (url VARCHAR(100) PRIMARY KEY)"))
    engine.dispose()
    with (
        pytest.raises(FormatMismatch, match=r"the table 'items' of .* has not the primary key crawl, item_digest"),
        opened(url),
    ):
        pass


def test_two_workers_make_it_at_once(url: str) -> None:
    """The one that comes second takes the table of the first."""
    with opened(url, "one") as one, opened(url, "other") as other:
        for store in (one, other):
            store.add({"url": "a", "price": 1})
        one.flush()
        other.flush()
    assert len(rows(url)) == 2


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None], str),
        ([True, None, False], bool),
        ([1, None], int),
        ([1, 2.5], float),
        ([1 << 63], str),
        ([True, 1], str),
        (["a", 1], str),
        ([[1]], str),
    ],
)
def test_the_type_of_a_column(values: list[Any], kind: type) -> None:
    """The narrowest that holds all values."""
    assert type_of(values) is kind
