"""A worker of a cluster as JSON: what others are told of it, and what they take for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sitecrawl.plugins.dashboard.figures import NUMBERS, Figures

NOTHING: Final[Mapping[str, int]] = dict.fromkeys(
    ("rate", "byte_rate", "in_flight", "waiting", "hosts", "active", "memory", "cpu", "partitions"), 0
)
"""Figures of one that is gone."""
GONE: Final = frozenset({"ended", "lost"})
"""States of such a worker."""
_NAMES: Final = ("name", "place", "spider")
_CHARACTERS: Final = 100
_LINE: Final = 500
"""Characters of what is said of its last fetches."""
_KEYS: Final = {*_NAMES, "state", "last", "figures", "rows"}
_FIGURES: Final = {*NUMBERS, "partitions"}

Worker = dict[str, Any]


def worker_of(
    names: Mapping[str, str], state: str, figures: Figures, partitions: int, *, last: str, rows: Mapping[str, Any]
) -> Worker:
    """A worker as others are told of it. It has so many `partitions`; `last` says what is fetched there when nothing
    is left but what is held back.
    """
    numbers = {name: round(getattr(figures, name), 4) for name in NUMBERS}
    told = {**numbers, "partitions": partitions}
    short = {name: names[name][:_CHARACTERS] for name in _NAMES}
    return {**short, "state": state, "last": last[:_LINE], "figures": told, "rows": dict(rows)}


def read(text: bytes) -> Worker | None:
    """Another worker's JSON; None unless it has exactly the keys of `worker_of`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_worker = isinstance(found, dict) and found.keys() == _KEYS and isinstance(found["figures"], dict)
    return found if is_worker and found["figures"].keys() == _FIGURES else None
