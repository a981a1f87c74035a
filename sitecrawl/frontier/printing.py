"""Rows of the frontier for people and programs: the formats of `scrapy rank` and `scrapy frontier`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Final, TextIO

from sitecrawl.base.display import one_line
from sitecrawl.frontier.reader import KnownUrl, Site, Unit

FORMATS: Final = ("csv", "jsonl", "table")

Row = KnownUrl | Site | Unit


def write(kind: type[Row], rows: Iterable[Row], out: TextIO, *, format: str) -> None:  # noqa: A002 - as in `--format`
    """Write rows of one `kind`, line by line: no list is held in memory."""
    if format == "jsonl":
        out.writelines(json.dumps(row._asdict()) + "\n" for row in rows)
    elif format == "csv":
        _write_csv(kind, rows, out)
    else:
        _write_table(kind, rows, out)


def write_urls(urls: Iterable[KnownUrl], out: TextIO) -> None:
    """One URL a line: a list of seeds."""
    out.writelines(one_line(url.url) + "\n" for url in urls)


def _write_csv(kind: type[Row], rows: Iterable[Row], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kind._fields)
    for row in rows:
        writer.writerow([one_line(value) if isinstance(value, str) else value for value in row])


def _write_table(kind: type[Row], rows: Iterable[Row], out: TextIO) -> None:
    for number, row in enumerate(rows):
        if not number:
            out.write(_HEADERS[kind] + "\n")
        out.write(_line(row) + "\n")


_HEADERS: Final[dict[type[Row], str]] = {
    KnownUrl: f"{'importance':>10}  {'depth':>5}  {'status':>6}  {'state':<8}  url",
    Site: f"{'importance':>10}  {'pages':>11}  {'known':>11}  site",
    Unit: "    waiting        known      fetched         good  novelty  host or section",
}


def _line(row: Row) -> str:
    if isinstance(row, Unit):
        return _unit(row)
    if isinstance(row, Site):
        return f"{row.importance:>10.4g}  {row.pages:>11,}  {row.known:>11,}  {one_line(row.site)}"
    return f"{row.importance:>10.4g}  {row.depth:>5}  {row.status or '-':>6}  {row.state:<8}  {one_line(row.url)}"


def _unit(unit: Unit) -> str:
    """What is demoted, or set free by hand, has the reason in a line of its own."""
    numbers = f"{unit.waiting:>11,}  {unit.known:>11,}  {unit.fetched:>11,}  {unit.good:>11,}"
    reason = f"\n{' ' * 13}{unit.reason}" if unit.reason else ""
    return f"{numbers}  {unit.novelty:>7.2f}  {one_line(unit.host + unit.shape)}{reason}"
