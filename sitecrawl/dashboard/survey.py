"""Looking over many things without holding up the crawl: in slices, with pauses in which the event loop goes on."""

from __future__ import annotations

import heapq
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

Item = TypeVar("Item")
Row = TypeVar("Row")

_STEP: Final = 16
"""Items between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much of the event loop a survey may take."""

    work: float = 0.002
    """Seconds of a slice."""
    rest: float = 0.03
    """Seconds between two."""


@dataclass(frozen=True, slots=True)
class Found(Generic[Row]):
    """What a survey has found."""

    rows: list[Row]
    """The first by the key, at most as many as were asked for."""
    total: int
    """How many there were."""
    seconds: float
    """What it cost."""


async def look_over(
    items: Sequence[Item],
    rows_of: Callable[[Item], Iterable[Row]],
    *,
    key: Callable[[Row], Any],
    keep: int,
    pause: Callable[[float], Awaitable[object]],
    pace: Pace | None = None,
) -> Found[Row]:
    """Look over all `items`; of what `rows_of` gives, keep the `keep` greatest by `key`, in their order.

    `items` may have changed meanwhile: `rows_of` sees each as it is when its turn comes.
    """
    pace = pace or Pace()
    best: list[Row] = []
    total, cost, begun = 0, 0.0, time.perf_counter()
    for number, item in enumerate(items):
        for row in rows_of(item):
            total += 1
            best.append(row)
        if len(best) > 4 * keep + 64:
            best = heapq.nlargest(keep, best, key=key)
        if number % _STEP == 0 and time.perf_counter() - begun >= pace.work:
            cost += time.perf_counter() - begun
            await pause(pace.rest)
            begun = time.perf_counter()
    best = heapq.nlargest(keep, best, key=key)
    return Found(best, total, cost + time.perf_counter() - begun)
