"""Tables as bytes."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.export.formats import _FIELDS, WRITERS, Field, _Row, fields_named, format_of

TIME = datetime(2026, 11, 23, 12, 0, 0, 5, UTC)
HOSTILE = "a\x1b]0;owned\x07\x9b2J\u202e\r\n\tb,\"';"
SOME = fields_named("url,status,last_fetched,importance,noindex,links")
ROW: _Row = {
    "url": HOSTILE, "status": 200, "last_fetched": TIME, "importance": 0.25, "noindex": True, "links": ["x", HOSTILE],
}  # fmt: skip
EMPTY: _Row = dict.fromkeys(ROW)


def written(name: str, rows: list[_Row]) -> bytes:
    into = BytesIO()
    WRITERS[name](SOME, rows, into)
    return into.getvalue()


def test_json_lines() -> None:
    """Every value comes back, times in ISO 8601, and nothing is a control character."""
    lines = written("jsonl", [ROW, EMPTY]).splitlines()
    assert [json.loads(line) for line in lines] == [{**ROW, "last_fetched": "2026-11-23T12:00:00.000005Z"}, EMPTY]
    assert all(32 <= byte < 127 for line in lines for byte in line)


def test_csv() -> None:
    """One line a row, with the control characters of the web written out."""
    header, values, nothing = csv.reader(StringIO(written("csv", [ROW, EMPTY]).decode()))
    assert header == list(ROW)
    assert values[0] == "a\\x1b]0;owned\\x07\\x9b2J\\u202e\\r\\n\\tb,\"';"
    assert values[1:5] == ["200", "2026-11-23T12:00:00.000005Z", "0.25", "True"]
    assert json.loads(values[5]) == ["x", HOSTILE]
    assert set(nothing) == {""}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\r=", "\uff1d"])
def test_no_formula(start: str) -> None:
    """A spreadsheet takes no cell of the web for a formula."""
    _, values = csv.reader(StringIO(written("csv", [{**ROW, "url": f"{start}cmd|' /C calc'!A0"}]).decode()))
    assert values[0].startswith(("'", "\\"))


def test_duckdb_reads_parquet(tmp_path: Path) -> None:
    """A database that is not ours finds the columns with their types, and every value."""
    path = tmp_path / "pages.parquet"
    path.write_bytes(written("parquet", [ROW] * 2_500 + [EMPTY]))
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        table = database.sql(f"SELECT * FROM '{path}'")
        assert [str(kind) for kind in table.types] == [
            "VARCHAR", "BIGINT", "TIMESTAMP WITH TIME ZONE", "DOUBLE", "BOOLEAN", "VARCHAR[]",
        ]  # fmt: skip
        found = database.sql(f"SELECT url, status, epoch_us(last_fetched), links FROM '{path}'").fetchall()
    assert found[:2_500] == [(HOSTILE, 200, round(TIME.timestamp() * 1_000_000), ["x", HOSTILE])] * 2_500
    assert found[2_500:] == [(None, None, None, None)]


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_gathered(name: str) -> None:
    """Bytes are written while rows are still asked for."""
    into, sizes = BytesIO(), list[int]()

    def rows() -> Iterator[_Row]:
        for number in range(60):
            sizes.append(into.tell())
            yield {**EMPTY, "url": f"{number}" + "x" * 1_000_000}

    WRITERS[name](SOME, rows(), into)
    assert len({*sizes}) > 2


@pytest.mark.parametrize("name", WRITERS)
def test_no_row(name: str, tmp_path: Path) -> None:
    """An export of nothing is a whole file."""
    path = tmp_path / f"none.{name}"
    path.write_bytes(written(name, []))
    if name == "parquet":
        with duckdb.connect() as database:
            assert database.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(0,)]
    else:
        assert path.read_text() == ("" if name == "jsonl" else "url,status,last_fetched,importance,noindex,links\n")


def test_without_pyarrow() -> None:
    """What is missing is named, with the command that brings it."""
    with mock.patch.dict(sys.modules, {"pyarrow": None}), pytest.raises(OptionError, match=r"\[export\]"):
        written("parquet", [])


@pytest.mark.parametrize(("text", "said"), [("url,titel", "is title meant"), ("url,url", "twice"), ("", "there are")])
def test_fields_that_are_none(text: str, said: str) -> None:
    """A field that does not exist, or is named twice, is refused."""
    with pytest.raises(OptionError, match=said):
        fields_named(text)


def test_formats_by_name() -> None:
    """The end of a file's name says what is in it."""
    names: dict[str, Any] = {"a/pages.PARQUET": "parquet", "x.csv": "csv", "jsonl": None, "pages.csv.gz": None}
    assert {name: format_of(name) for name in names} == names


def test_all_fields_are_documented() -> None:
    """docs/export.md has each."""
    document = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
    assert all(f"- `{field.name}`: " in document for field in _FIELDS)
    assert isinstance(_FIELDS[0], Field)
