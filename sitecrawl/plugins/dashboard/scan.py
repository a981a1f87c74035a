"""Looking over many things without holding up the crawl: in slices, with pauses in which the event loop goes on."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Row = TypeVar("Row")

_SLICE: Final = 0.002
"""Seconds of work at a time."""
_REST: Final = 0.03
"""Seconds between two slices."""
_STEP: Final = 16
"""Items between two looks at the clock."""


class ScanResult(NamedTuple, Generic[Row]):
    rows: list[Row]
    """The greatest by the key, at most as many as were asked for."""
    total: int
    """How many there were."""
    seconds: float
    """What it cost."""


async def scan(
    items: Sequence[Item],
    rows_of: Callable[[Item], Iterable[Row]],
    *,
    key: Callable[[Row], Any],
    keep: int,
    work: float = _SLICE,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ScanResult[Row]:
    """Look over all `items`; of what `rows_of` gives, keep the `keep` greatest by `key`, in their order.

    `items` may have changed meanwhile: `rows_of` sees each as it is when its turn comes.
    """
    best: list[Row] = []
    total, cost, begun = 0, 0.0, time.perf_counter()
    for number, item in enumerate(items):
        for row in rows_of(item):
            total += 1
            best.append(row)
        if len(best) > 4 * keep + 64:
            best = heapq.nlargest(keep, best, key=key)
        if number % _STEP == 0 and time.perf_counter() - begun >= work:
            cost += time.perf_counter() - begun
            await pause(_REST)
            begun = time.perf_counter()
    best = heapq.nlargest(keep, best, key=key)
    return ScanResult(best, total, cost + time.perf_counter() - begun)
