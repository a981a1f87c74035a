"""Sitemaps for people and programs: the formats of `scrapy sitemaps`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TextIO

from sitecrawl.base.display import one_line
from sitecrawl.sitemap import schedule
from sitecrawl.sitemap.entry import Problem
from sitecrawl.sitemap.record import NEVER, SitemapRecord

FORMATS: Final = ("csv", "jsonl", "table", "urls")

_TIMES: Final = frozenset({"found", "visited", "lastmod", "newest", "next_visit"})
_HIDDEN: Final = frozenset({"digest", "text_hash", "gain", "watched"})
_HEADER: Final = (
    f"{'state':<8} {'form':<7} {'how':<6} {'entries':>9} {'new':>9} {'good':>5} {'spam':>5}  next visit        url"
)


def write(records: Iterable[SitemapRecord], out: TextIO, *, format: str) -> None:  # noqa: A002 - as in `--format`
    """Write a sitemap a line."""
    if format == "urls":
        out.writelines(one_line(record.url) + "\n" for record in records)
    elif format == "jsonl":
        out.writelines(json.dumps(facts(record)) + "\n" for record in records)
    elif format == "csv":
        writer = csv.writer(out, lineterminator="\n")
        for number, record in enumerate(records):
            row = facts(record)
            if not number:
                writer.writerow(row)
            writer.writerow([one_line(value) if isinstance(value, str) else value for value in row.values()])
    else:
        for number, record in enumerate(records):
            out.write(_HEADER + "\n" if not number else "")
            out.write(_line(record) + "\n")


def show(record: SitemapRecord, out: TextIO) -> None:
    """All that is known of one sitemap, a fact a line."""
    out.writelines(
        f"{name.replace('_', ' '):<14} {one_line(_words(value))}\n" for name, value in facts(record).items()
    )


def facts(record: SitemapRecord) -> dict[str, Any]:
    """What a person may want to know, by name; times as ISO 8601, None for never."""
    found = {f.name: _plain(f.name, getattr(record, f.name)) for f in fields(record) if f.name not in _HIDDEN}
    return found | {
        "success_rate": round(record.success_rate, 3),
        "good_share": round(record.good_share, 3),
        "spam_share": round(record.spam_share, 3),
        "trust": round(schedule.trust(record), 3),
        "links_a_day": round(schedule.rate(record) * schedule.DAY, 3),
    }


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _time(value)
    if name == "news":
        return [[_time(at), count] for at, count in value]
    if isinstance(value, Problem):
        return [str(problem.name).lower() for problem in Problem if problem in value]
    return value.name.lower() if isinstance(value, Enum) else value


def _time(at: float) -> str | None:
    if not 0 < at < NEVER:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, part)) if isinstance(part, list) else str(part) for part in value) or "-"
    return "-" if value is None or value == "" else str(value)


def _line(record: SitemapRecord) -> str:
    following = (_time(record.next_visit) or "-")[:16]
    return (
        f"{record.state.name.lower():<8} {record.form.value:<7} {record.how.value:<6} "
        f"{record.entries:>9,} {record.new:>9,} {record.good_share:>5.0%} {record.spam_share:>5.0%}  "
        f"{following:<16}  {one_line(record.url)}"
    )


def ordered(records: Iterable[SitemapRecord]) -> Iterator[SitemapRecord]:
    """Those that bring the most good new links first."""
    return iter(sorted(records, key=lambda record: (-schedule.rate(record), record.url)))
