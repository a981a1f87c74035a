"""What listing commands share: which captures they are about, the formats of rows, and why there is no row."""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Generic, TextIO, TypeVar

from scrapy.exceptions import UsageError

from sitecrawl.base.display import counted, csv_cell, one_line
from sitecrawl.base.errors import OptionError
from sitecrawl.pagestore.console import parse_since
from sitecrawl.pagestore.reader import PageFilter
from sitecrawl.pagestore.record import KINDS
from sitecrawl.pagestore.workers import Reader, readers_of

FORMATS: Final = ("csv", "jsonl", "table", "urls")
"""`urls` needs rows with a URL."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Layout(Generic[_Row]):
    """How rows of one kind are written."""

    header: str
    """First line of the table; empty for none."""
    line: Callable[[_Row], str]
    """A row of the table, without line end."""
    columns: Sequence[str]
    facts: Callable[[_Row], Mapping[str, Any]]
    """Values by column."""


def write(rows: Iterable[_Row], layout: Layout[_Row], out: TextIO, *, format: str) -> int:  # noqa: A002 - as in `--format`
    """Write rows line by line: no list is held in memory. Only CSV begins with a header where there is no row.
    Returns how many there were.
    """
    number = 0
    writer = csv.writer(out, lineterminator="\n")
    if format == "csv":
        writer.writerow(layout.columns)
    for number, row in enumerate(rows, 1):
        if format == "urls":
            out.write(one_line(row.url) + "\n")  # type: ignore[attr-defined]
        elif format == "jsonl":
            out.write(json.dumps(layout.facts(row)) + "\n")
        elif format == "csv":
            writer.writerow([csv_cell(value) for value in layout.facts(row).values()])
        else:
            out.write((f"{layout.header}\n" if number == 1 and layout.header else "") + f"{layout.line(row)}\n")
    return number


def add_filters(parser: argparse.ArgumentParser, *, since: str = "") -> None:
    """Add the options of `filter_of`. `since`: what else `--since` takes."""
    parser.add_argument("--status", type=int, metavar="N", help="only responses with this HTTP status")
    parser.add_argument("--host", help="only this host (with :port if it is not the scheme's own)")
    parser.add_argument("--type", metavar="TYPE", help="only this media type, such as text/html or image")
    parser.add_argument("--url-like", metavar="PART", help="only URLs with this in them; * stands for anything")
    parser.add_argument("--since", metavar="TIME", help=f"only what was fetched since: 2026-11-21, 12h, 7d{since}")
    parser.add_argument("--kind", choices=KINDS, help="only captures of this kind")


def filter_of(opts: argparse.Namespace) -> PageFilter:
    """The captures that the options name. Raises `UsageError` for an invalid `--since`."""
    try:
        since = parse_since(opts.since, datetime.now(UTC)) if opts.since else None
    except OptionError as error:
        raise UsageError(f"--since: {error}", print_help=False) from error
    return PageFilter(
        status=opts.status,
        host=opts.host.lower() if opts.host else None,
        content_type=opts.type.lower() if opts.type else None,
        url_like=opts.url_like,
        since=since,
        kind=opts.kind,
    )


_OPTIONS: Final = {
    "kind": "--kind",
    "status": "--status",
    "host": "--host",
    "content_type": "--type",
    "url_like": "--url-like",
}
"""Options by field of a `PageFilter`, without `since`, whose value is a time by then."""


def why_nothing(reader: Reader, wanted: PageFilter) -> str:
    """Message for a `wanted` that leaves no capture: what the store holds, and which option leaves none of it."""
    asked = {name: getattr(wanted, name) for name in (*_OPTIONS, "since")}
    said = {name: _option(name, value) for name, value in asked.items() if value is not None}
    if not said:
        return in_store(reader)
    nobody = PageFilter()
    alone = [words for name, words in said.items() if not _count(reader, replace(nobody, **{name: asked[name]}))]
    words = alone[0] if alone else " and ".join(said.values())
    return in_store(reader, f"nothing has {words}")


def in_store(reader: Reader, why: str = "") -> str:
    """What the store holds, after `why` that is of no use."""
    kinds: Counter[str] = Counter()
    for one in readers_of(reader):
        kinds.update(dict(one.rows("SELECT kind, count(*) FROM pages GROUP BY kind")))
    if not kinds:
        return "the store is empty"
    parts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
    total = f"the store holds {counted(kinds.total(), 'capture')} ({parts})"
    return f"{why}: {total}" if why else total


def _count(reader: Reader, wanted: PageFilter) -> int:
    return sum(one.number_of(wanted) for one in readers_of(reader))


def _option(name: str, value: object) -> str:
    return f"{_OPTIONS[name]} {value}" if name in _OPTIONS else "the time of --since"
