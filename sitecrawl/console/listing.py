"""Rows for people and programs: the formats of `scrapy pages`, `frontier`, `rank` and `sitemaps`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TextIO, TypeVar

from sitecrawl.base.display import csv_cell, one_line
from sitecrawl.export.formats import iso
from sitecrawl.export.fulltext import FOUND, Hit
from sitecrawl.frontier.held import HeldSet, Unit, name_of
from sitecrawl.frontier.reader import KnownRule, KnownUrl, Site
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.printing import time_of
from sitecrawl.sitemap import printing
from sitecrawl.sitemap.record import SitemapRecord

FORMATS: Final = ("csv", "jsonl", "table", "urls")
"""The last one only where a row has a URL."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Layout(Generic[Row]):
    """How rows of one kind are written."""

    header: str
    """Of the table; empty where there is none."""
    line: Callable[[Row], str]
    """Of the table: the row without its line end."""
    columns: Sequence[str]
    facts: Callable[[Row], Mapping[str, Any]]
    """The columns' values."""


def write(rows: Iterable[Row], layout: Layout[Row], out: TextIO, *, format: str) -> None:  # noqa: A002 - as in `--format`
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


# The frontier


def _url(url: KnownUrl) -> str:
    return f"{url.importance:>10.4g}  {url.depth:>5}  {url.status or '-':>6}  {url.state:<8}  {one_line(url.url)}"


def _site(site: Site) -> str:
    return f"{site.importance:>10.4g}  {site.pages:>11,}  {site.known:>11,}  {one_line(site.site)}"


def _unit(unit: Unit) -> str:
    """What is demoted, or set free by hand, has the reason in a line of its own."""
    numbers = f"{unit.waiting:>11,}  {unit.known:>11,}  {unit.fetched:>11,}  {unit.good:>11,}"
    reason = f"\n{' ' * 13}{unit.reason}" if unit.reason else ""
    return f"{numbers}  {unit.novelty:>7.2f}  {one_line(name_of(unit.host, unit.shape))}{reason}"


_MORE = f"\n{' ' * 13}"


def _held(held: HeldSet) -> str:
    """Lines of their own for the reason, and for each sample: what was fetched, and what waits."""
    numbers = f"{held.waiting:>11,}  {held.known:>11,}  {held.fetched:>11,}  {held.good:>11,}  {held.novelty:>7.2f}"
    elsewhere = "-" if held.elsewhere is None else f"{held.elsewhere:.0%}"
    came = [(str(one.status or "-"), "good" if one.good else "not good", one.url) for one in held.fetched_urls]
    lines = [
        f"{numbers}  {elsewhere:>9}  {one_line(name_of(held.host, held.shape))}",
        one_line(held.reason),
        *(f"fetched  {status:>3}  {worth:<8}  {one_line(url)}" for status, worth, url in came),
        *(f"waits{' ' * 17}{one_line(url)}" for url in held.waiting_urls),
    ]
    return _MORE.join(lines)


def _held_facts(held: HeldSet) -> Mapping[str, Any]:
    samples = [one._asdict() for one in held.fetched_urls]
    return {**held._asdict(), "fetched_urls": samples, "waiting_urls": list(held.waiting_urls)}


URLS: Final = Layout(
    f"{'importance':>10}  {'depth':>5}  {'status':>6}  {'state':<8}  url", _url, KnownUrl._fields, KnownUrl._asdict
)
SITES: Final = Layout(f"{'importance':>10}  {'pages':>11}  {'known':>11}  site", _site, Site._fields, Site._asdict)
UNITS: Final = Layout(
    "    waiting        known      fetched         good  novelty  host or section",
    _unit,
    Unit._fields,
    Unit._asdict,
)

HELD: Final = Layout(
    "    waiting        known      fetched         good  novelty  elsewhere  host or section",
    _held,
    HeldSet._fields,
    _held_facts,
)


def _rule(rule: KnownRule) -> str:
    numbers = f"{rule.waiting:>9,}  {rule.agreed:>7,}  {rule.differed:>7,}  {rule.tests:>7,}  {rule.failed:>6,}"
    return f"{rule.state:<9}  {numbers}  {one_line(rule.id)}: {one_line(rule.rule)}"


RULES: Final = Layout(
    f"{'state':<9}  {'waiting':>9}  {'agreed':>7}  {'against':>7}  {'tests':>7}  {'failed':>6}  rule",
    _rule,
    KnownRule._fields,
    KnownRule._asdict,
)


# Stored pages

_TITLE_WIDTH: Final = 50
_LINE_BREAKS = re.compile(r"[\t\n]+")


def _capture(capture: Capture) -> str:
    title = one_line(_LINE_BREAKS.sub(" ", capture.title or f"({capture.kind})"))
    if len(title) > _TITLE_WIDTH:
        title = title[: _TITLE_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"
    size = capture.payload_size if capture.size is None else capture.size
    numbers = f"{time_of(capture)}  {capture.status:>6}  {size:>9}"
    return f"{numbers}  {title:<{_TITLE_WIDTH}}  {one_line(capture.url)}"


CAPTURES: Final = Layout(
    f"{'fetched (UTC)':<19}  {'status':>6}  {'size':>9}  {'title':<{_TITLE_WIDTH}}  url",
    _capture,
    Capture._fields,
    Capture._asdict,
)


# Pages by their words

_SPACE: Final = re.compile(r"\s+")


def _plain(hit: Hit) -> Mapping[str, Any]:
    """What was asked for stands in brackets."""
    snippet = hit.snippet
    for mark, bracket in zip(FOUND, "[]", strict=True):
        snippet = snippet.replace(mark, bracket)
    return {
        **hit._asdict(),
        "snippet": _SPACE.sub(" ", snippet),
        "fetched": iso(datetime.fromtimestamp(hit.fetched, UTC)),
    }


def _hit(hit: Hit) -> str:
    title = one_line(_SPACE.sub(" ", hit.title or "(no title)"))
    return f"{title}\n    {one_line(hit.url)}\n    {one_line(_plain(hit)['snippet'])}"


HITS: Final = Layout("", _hit, Hit._fields, _plain)


# Sitemaps


def _sitemap(record: SitemapRecord) -> str:
    following = (printing.time_of(record.next_visit) or "-")[:16]
    return (
        f"{record.state.name.lower():<8} {record.form.value:<7} {record.how.value:<6} "
        f"{record.entries:>9,} {record.new:>9,} {record.good_share:>5.0%} {record.spam_share:>5.0%}  "
        f"{following:<16}  {one_line(record.url)}"
    )


SITEMAPS: Final = Layout(
    f"{'state':<8} {'form':<7} {'how':<6} {'entries':>9} {'new':>9} {'good':>5} {'spam':>5}  next visit        url",
    _sitemap,
    printing.COLUMNS,
    printing.facts,
)
