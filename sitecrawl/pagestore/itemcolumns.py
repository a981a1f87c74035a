"""Items of a crawl in a table whose columns are their fields, in any database that SQLAlchemy reaches.

The table is made from the first items, those of one transaction: a column a field, of the narrowest type that holds
all its values. Later items have to fit, and one that does not is an error, not a row with a hole: who has items of
many shapes has JSON (`sitecrawl.pagestore.itemtable`), or makes the table beforehand. A table that is there already
is taken as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import SQLAlchemyError

from sitecrawl.base.errors import FormatMismatch
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.pagestore.database import CRAWL, DatabaseStore
from sitecrawl.pagestore.itemtable import DIGEST, ItemStore, item_row

_KEYS: Final = (CRAWL, DIGEST)
_INTEGERS: Final = range(-(1 << 63), 1 << 63)
_TYPES: Final[dict[type, Any]] = {
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    float: sa.Double(),
    str: sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
}
_WORDS: Final = {bool: "true or false", int: "whole numbers", float: "numbers", str: "text"}


def table_for(name: str, items: Iterable[Mapping[str, Any]]) -> sa.Table:
    """A table for items like these. Raises `FormatMismatch` for fields that cannot be columns of one table."""
    fields: dict[str, list[Any]] = {}
    for item in items:
        for field, value in item.items():
            fields.setdefault(field, []).append(value)
    _check_names(fields)
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column(CRAWL, sa.String(190), primary_key=True),
        sa.Column(DIGEST, sa.CHAR(32), primary_key=True),
        *(sa.Column(field, _TYPES[type_of(values)]) for field, values in fields.items()),
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )


def type_of(values: Iterable[Any]) -> type:
    """The type of a column for `values`: bool, int, float, or str, which takes any."""
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) == 1:
        return kinds.pop()
    return float if kinds == {int, float} else str


def _kind(value: Any) -> type:
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return int if value in _INTEGERS else str
    return float if isinstance(value, float) else str


def fitted(value: Any, kind: type) -> Any:
    """`value` for a column of the type `kind`. Raises `ValueError` if it does not fit."""
    if value is None:
        return None
    if kind is str:
        return _text(value)
    found = _kind(value)
    if found is not kind and (found, kind) != (int, float):
        raise ValueError(value)
    return kind(value)


def _text(value: Any) -> str:
    """Lists and mappings become JSON."""
    if isinstance(value, list | tuple | dict):
        value = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return clean_text(str(value))


def _check_names(fields: Iterable[str]) -> None:
    """Some databases take no heed of the case of a column's name, and PyMySQL reads a per cent sign as a place."""
    names = Counter(name.casefold() for name in (*_KEYS, *fields))
    if twice := sorted(field for field in fields if names[field.casefold()] > 1 or "%" in field):
        raise FormatMismatch(
            f"Items with the fields {', '.join(twice)} cannot have a column each: a table has {' and '.join(_KEYS)} "
            "of its own, upper and lower case are one, and % is none of its letters. Rename them, or leave out "
            "SITECRAWL_ITEMS_COLUMNS"
        )


class ItemColumnStore(DatabaseStore):
    """Gathers items and writes them in transactions, as an `ItemStore` does, their fields as columns.

    `flush` raises `FormatMismatch` for an item that does not fit the table, and takes nothing after that.
    """

    key = DIGEST
    what = ItemStore.what

    @staticmethod
    def make_row(item: Mapping[str, Any], crawl: str) -> dict[str, Any]:
        """The row but for its columns, which its table decides on."""
        row = item_row(item, crawl)
        return {CRAWL: row[CRAWL], DIGEST: row[DIGEST], "item": item}

    def _prepare(self) -> None:
        self._reflect()

    def _reflect(self) -> bool:
        """Take the table as it is, if it is there."""
        name = self._options.table
        if not sa.inspect(self._engine).has_table(name):
            return False
        table = sa.Table(name, sa.MetaData(), autoload_with=self._engine)
        if [column.name for column in table.primary_key] != [*_KEYS]:
            raise FormatMismatch(
                f"the table {name!r} of {self.where} has not the primary key {', '.join(_KEYS)}: "
                "name another table in SITECRAWL_ITEMS_TABLE"
            )
        self._use(table)
        self._kinds = {column.name: _kind_of(column) for column in table.columns if column.name not in _KEYS}
        return True

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._table is None:
            self._make_table([row["item"] for row in rows])
        super()._write([{CRAWL: row[CRAWL], DIGEST: row[DIGEST], **self._columns(row["item"])} for row in rows])

    def _make_table(self, items: Sequence[Mapping[str, Any]]) -> None:
        table = table_for(self._options.table, items)
        try:
            table.create(self._engine)
        except SQLAlchemyError:
            if not self._reflect():  # else another worker has made it, just now
                raise
        else:
            self._reflect()

    def _columns(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """All of them: a field that the item has not is empty."""
        values: dict[str, Any] = dict.fromkeys(self._kinds)
        for field, value in item.items():
            kind = self._kinds.get(field)
            if kind is None:
                raise self._misfit(item, field, "no column for it: add one")
            try:
                values[field] = fitted(value, kind)
            except ValueError:
                holds = f"{_WORDS[kind]} there, not {clean_text(repr(value))[:100]}: give the column another type"
                raise self._misfit(item, field, holds) from None
        return values

    def _misfit(self, item: Mapping[str, Any], field: str, has: str) -> FormatMismatch:
        page = clean_text(str(item.get("url", "a page")))[:500]
        return FormatMismatch(
            f"The item of {page} has the field {field!r}, and the table {self._options.table!r} of {self.where} has "
            f"{has}, name another table in SITECRAWL_ITEMS_TABLE, or leave out SITECRAWL_ITEMS_COLUMNS. Nothing is "
            "lost: started again with the same directory, the crawl goes on where it is"
        )


def _kind_of(column: sa.Column[Any]) -> type:
    """Python type of an existing table's column. MySQL keeps booleans as integers of one digit."""
    if isinstance(column.type, sa.Boolean) or getattr(column.type, "display_width", None) == 1:
        return bool
    if isinstance(column.type, sa.Integer):
        return int
    return float if isinstance(column.type, sa.Numeric) else str
