"""Facts about a sitemap for people and programs, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TextIO

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.crawl.sitemaps import schedule
from sitecrawl.crawl.sitemaps.entry import Problem
from sitecrawl.crawl.sitemaps.record import NEVER, SitemapRecord

_TIMES: Final = frozenset({"found", "visited", "lastmod", "newest", "next_visit"})
_HIDDEN: Final = frozenset({"digest", "text_hash", "gain", "watched", "listed"})


def show(record: SitemapRecord, out: TextIO) -> None:
    """Print all facts about a sitemap, one a line."""
    out.writelines(
        f"{name.replace('_', ' '):<14} {one_line(_words(value))}\n" for name, value in _facts(record).items()
    )


def _facts(record: SitemapRecord) -> dict[str, Any]:
    """Facts by name; times as ISO 8601, None for never."""
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
        return _time_of(value)
    if name == "news":
        return [[_time_of(at), count] for at, count in value]
    if isinstance(value, Problem):
        return [str(problem.name).lower() for problem in Problem if problem in value]
    return value.name.lower() if isinstance(value, Enum) else value


def _time_of(at: float) -> str | None:
    """Unix seconds in ISO 8601; None for never."""
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


def ordered(records: Iterable[SitemapRecord]) -> Iterator[SitemapRecord]:
    """Records with the most good new links first."""
    return iter(sorted(records, key=lambda record: (-schedule.rate(record), record.url)))


def _row(record: SitemapRecord) -> str:
    following = (_time_of(record.next_visit) or "-")[:16]
    return (
        f"{record.state.name.lower():<8} {record.form.value:<7} {record.how.value:<6} "
        f"{record.entries:>9,} {record.new:>9,} {record.good_share:>5.0%} {record.spam_share:>5.0%}  "
        f"{following:<16}  {one_line(record.url)}"
    )


SITEMAPS: Final = Layout(
    f"{'state':<8} {'form':<7} {'how':<6} {'entries':>9} {'new':>9} {'good':>5} {'spam':>5}  next visit        url",
    _row,
    tuple(_facts(SitemapRecord("", ""))),
    _facts,
)
