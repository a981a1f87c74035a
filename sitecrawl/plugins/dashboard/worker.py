"""A worker of a cluster as JSON: how it is written, and read again with care.

What another worker has written may be of another version, cut short, or not a worker's at all: whatever is not as it
should be is left out, and the text of it is shown as the web's is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from sitecrawl.plugins.dashboard.figures import NUMBERS, Figures
from sitecrawl.plugins.dashboard.rows import NO_ROWS, Rows

_MAX_BYTES: Final = 256_000
"""What is longer is not a worker's."""
NOTHING: Final[Mapping[str, int]] = dict.fromkeys(
    ("rate", "byte_rate", "in_flight", "waiting", "hosts", "active", "memory", "cpu", "partitions"), 0
)
"""Figures of one that is gone."""
GONE: Final = frozenset({"ended", "lost"})
"""States of such a worker."""
_STATES: Final = frozenset({"running", "paused", "stopping", "ended"})
_GREATEST: Final = 1e18
_NAMES: Final = ("name", "place", "spider")
_CHARACTERS: Final = 100
_LINE: Final = 500
"""Characters of what is said of its last fetches."""
_ROWS: Final = 25
_EXAMPLES: Final = 8

Worker = dict[str, Any]


def worker_of(
    names: Mapping[str, str], state: str, figures: Figures, partitions: int, *, last: str, rows: Mapping[str, Any]
) -> Worker:
    """A worker as others are told of it. It has so many `partitions`; `last` says what is fetched there when nothing
    is left but what is held back.
    """
    numbers = {name: round(getattr(figures, name), 4) for name in NUMBERS}
    told = {**numbers, "partitions": partitions}
    return {**_short(names), "state": state, "last": last[:_LINE], "figures": told, "rows": dict(rows)}


def read(text: bytes) -> Worker | None:
    """What another worker has written; None if it cannot be one. All that it may have is there, and of its type."""
    if len(text) > _MAX_BYTES:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or str(found.get("state")) not in _STATES:
        return None
    given = found.get("figures")
    if not isinstance(given, dict):
        return None
    figures = {name: _number(given.get(name)) for name in (*NUMBERS, "partitions")}
    last = str(found.get("last", ""))[:_LINE]
    return {**_short(found), "state": found["state"], "last": last, "figures": figures, "rows": _rows(found)}


def _rows(found: Worker) -> Rows:
    given = found.get("rows")
    rows = {name: _list(given.get(name) if isinstance(given, dict) else None) for name in NO_ROWS}
    for name in ("hosts", "held"):
        rows[name] = [_plain(row) for row in rows[name]]
    rows["errors"] = [
        {
            "kind": str(row.get("kind"))[:_CHARACTERS],
            "count": _number(row.get("count")),
            "examples": [_plain(one) for one in _list(row.get("examples"))[:_EXAMPLES]],
        }
        for row in rows["errors"]
    ]
    return rows


def _list(value: object) -> list[dict[str, Any]]:
    return [row for row in value[:_ROWS] if isinstance(row, dict)] if isinstance(value, list) else []


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Text, numbers, and lists of what is shown of a row's URLs."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            plain[name] = _number(value)
        elif isinstance(value, str | bool) or value is None:
            plain[name] = value
    plain["fetched_urls"] = [{"url": str(one.get("url"))} for one in _list(row.get("fetched_urls"))]
    waiting = row.get("waiting_urls")
    plain["waiting_urls"] = [str(url) for url in waiting[:_ROWS]] if isinstance(waiting, list) else []
    return plain


def _short(names: Mapping[str, object]) -> dict[str, str]:
    return {name: str(names.get(name, ""))[:_CHARACTERS] for name in _NAMES}


def _number(value: object) -> float:
    if isinstance(value, int | float) and math.isfinite(value) and 0 <= value < _GREATEST:
        return value
    return 0
