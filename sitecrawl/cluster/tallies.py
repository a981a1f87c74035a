"""Scrapy's `CLOSESPIDER_*` over all workers: what each has counted is added up on Redis.

A worker tells how much it has counted since it was started, so what is told twice counts once. It does so at once
when that is more than a small part of what is left to a limit, and otherwise once a second: near a limit every count
is told by itself, and far from it they cost Redis next to nothing. Limits of time are those of the run, whose
beginning Redis knows; a worker that cannot ask it goes by what it heard last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import redis

from sitecrawl.cluster.options import CrawlLimits
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.steps import Steps

_PART: Final = 32
"""Largest part of what is left to a limit that a worker may count without telling: one in so many."""
_SECONDS: Final = 1.0
"""Longest time for which counts are kept back."""
_COUNTED: Final = ("itemcount", "pagecount", "errorcount")
_TIMES: Final = ("timeout", "timeout_no_item")
_MILLISECONDS: Final = 1000
_MILLISECOND: Final = 0.001


class Tallies:
    """See the module. `met` is told, once, the name of the limit that the run has met; Redis is asked after `every`
    seconds at the latest. Times are monotonic seconds.
    """

    def __init__(
        self,
        steps: Steps,
        limits: CrawlLimits,
        stream: str,
        *,
        clock: Callable[[], float],
        every: float,
        met: Callable[[str], None],
    ) -> None:
        self._steps = steps
        self._limits = limits.of_run
        self._stream = stream
        self._clock = clock
        self._every = every
        self._met = met
        self._counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._bare = 0
        self._left: dict[str, float] = {}
        """What was left to each limit when last heard: a number, or milliseconds."""
        self._heard_at = clock()
        self._at = 0.0
        self._is_met = False

    def count(self, name: str) -> bool:
        """One more of what the limit of that name counts. Whether Redis is to hear of it sooner than of the last."""
        self._counts[name] += 1
        if name == "itemcount":
            self._bare = 0
        elif name == "pagecount":
            self._bare += 1
        at = 0.0 if self._is_much() else self._clock() + _SECONDS
        is_sooner = at < self._at
        self._at = min(at, self._at)
        return is_sooner

    def _is_much(self) -> bool:
        """Whether what Redis has not heard is more than a small part of what is left to a limit."""
        left = [self._left.get(limit, 0.0) for limit in self._limits if limit not in _TIMES]
        return bool(left) and (self._counts - self._told).total() * _PART >= min(left)

    def next_look(self) -> float:
        """Time of the next question to Redis."""
        return self._at if self._limits and not self._is_met else float("inf")

    async def __call__(self, now: float) -> None:
        """Tell Redis what is due. Raises `redis.RedisError`."""
        if now < self.next_look():
            return
        counts = Counter(self._counts)
        self._at = float("inf")  # what comes while the answer does not may be due before the next look
        try:
            met, *left = await self._steps.run("tally", PLACE, *self._args(counts))
        except (redis.RedisError, OSError):
            self._at = min(self._at, now + _SECONDS)
            if self._left.get("timeout", float("inf")) <= _MILLISECONDS * (now - self._heard_at):
                self._end("timeout")
            raise
        self._told, self._heard_at = counts, now
        self._left = {name.decode(): float(left) for name, left in zip(left[::2], left[1::2], strict=True)}
        times = [self._left[name] / _MILLISECONDS for name in _TIMES if name in self._left]
        self._at = min(self._at, now + max(0.0, min([self._every, *times])) + _MILLISECOND)
        if met:
            self._end(met.decode())

    def _args(self, counts: Counter[str]) -> list[Any]:
        limits = {name: _MILLISECONDS * value if name in _TIMES else value for name, value in self._limits.items()}
        told = [counts[name] for name in _COUNTED]
        return [self._stream, *told, self._bare, *chain.from_iterable(limits.items())]

    def _end(self, name: str) -> None:
        if not self._is_met:
            self._is_met = True
            self._met(name)
