"""Facts about a sitemap for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TextIO

from sitecrawl.base.display import one_line
from sitecrawl.sitemap import schedule
from sitecrawl.sitemap.entry import Problem
from sitecrawl.sitemap.record import NEVER, SitemapRecord

_TIMES: Final = frozenset({"found", "visited", "lastmod", "newest", "next_visit"})
_HIDDEN: Final = frozenset({"digest", "text_hash", "gain", "watched", "listed"})


def show(record: SitemapRecord, out: TextIO) -> None:
    """Print all facts about a sitemap, one a line."""
    out.writelines(
        f"{name.replace('_', ' '):<14} {one_line(_words(value))}\n" for name, value in facts(record).items()
    )


def facts(record: SitemapRecord) -> dict[str, Any]:
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
        return time_of(value)
    if name == "news":
        return [[time_of(at), count] for at, count in value]
    if isinstance(value, Problem):
        return [str(problem.name).lower() for problem in Problem if problem in value]
    return value.name.lower() if isinstance(value, Enum) else value


def time_of(at: float) -> str | None:
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


COLUMNS: Final = tuple(facts(SitemapRecord("", "")))
"""The names of the facts."""
