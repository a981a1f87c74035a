"""Rows for people and programs: the formats of `scrapy pages`, `search`, `frontier`, `rank` and `sitemaps`.

What rows each of them has stands in a module of its own: a command imports those that it writes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TextIO, TypeVar

from sitecrawl.base.display import csv_cell, one_line

FORMATS: Final = ("csv", "jsonl", "table", "urls")
"""The last one only where a row has a URL."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Layout(Generic[_Row]):
    """How rows of one kind are written."""

    header: str
    """Of the table; empty where there is none."""
    line: Callable[[_Row], str]
    """Of the table: the row without its line end."""
    columns: Sequence[str]
    facts: Callable[[_Row], Mapping[str, Any]]
    """The columns' values."""


def write(rows: Iterable[_Row], layout: Layout[_Row], out: TextIO, *, format: str) -> None:  # noqa: A002 - as in `--format`
    """Write rows line by line: no list is held in memory. Only CSV begins with a header where there is no row."""
    if format == "urls":
        out.writelines(one_line(row.url) + "\n" for row in rows)  # type: ignore[attr-defined]
    elif format == "jsonl":
        out.writelines(json.dumps(layout.facts(row)) + "\n" for row in rows)
    elif format == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(layout.columns)
        for row in rows:
            values = layout.facts(row).values()
            writer.writerow([csv_cell(value) for value in values])
    else:
        for number, row in enumerate(rows):
            out.write(("" if number or not layout.header else f"{layout.header}\n") + f"{layout.line(row)}\n")
