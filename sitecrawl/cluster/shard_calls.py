"""Calls of steps, what the shards said in their answers, and what is done when none comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.connection import back_off, is_transient
from sitecrawl.cluster.shards import Call, Shards

logger = logging.getLogger(__name__)

_WRITES: Final = frozenset({"apply", "renew", "resign"})
"""Steps that write whatever they find. A Redis that is full or read-only answers others as if it were well."""


class Shard:
    """What is known of a shard since it last answered."""

    __slots__ = ("ends", "look_at", "numbers", "settled")

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        """Its counts, as `finish` in shard.lua has them."""
        self.settled = False
        """Nothing was lent or on its way, then."""
        self.ends = False
        """And nothing was left to do."""
        self.look_at = 0.0
        """When it may have something to lend, in monotonic seconds."""

    def __getitem__(self, name: str) -> int:
        return int(self.numbers.get(name, 0))

    def hear(self, answer: dict[bytes, float], *, changed: bool) -> None:
        """`changed`: what was done may have left something to lend, a probe of what is held back, or nothing."""
        self.numbers = {name.decode(): value for name, value in answer.items()}
        is_empty = self.numbers["rest"] < 0 and not any(self.numbers[name] for name in ("ready", "leased", "outbox"))
        if changed and (self.numbers["ready"] or self.numbers["demoted"] or is_empty):
            self.look_at = 0.0
        elif self.numbers["rest"] >= 0:
            self.look_at = min(self.look_at, time.monotonic() + self.numbers["rest"] / 1000 + 0.002)


class ShardCalls:
    """The worker's line to the shards. A call that fails because Redis is away is not repeated here: whoever made it
    keeps what it was about, and makes it again.
    """

    def __init__(self, shards: Shards, session: str, lease_seconds: float, *, on_fault: Callable[[], None]) -> None:
        self.steps = shards
        self.client = shards.client
        self.keys = shards.keys
        self.session = session
        self.shards = {number: Shard() for number in range(shards.keys.shards)}
        self.failures = 0
        """Calls that failed since the last that did not."""
        self.in_doubt = False
        """An answer was lost, and with it perhaps leases."""
        self.calls = 0
        self._on_fault = on_fault
        self._ms = int(1000 * lease_seconds)

    def args(self, shard: int, **more: Any) -> dict[str, Any]:
        """What every step is told, and `more`."""
        common = {"session": self.session, "ms": self._ms, "channel": self.keys.channel, "shard": shard}
        return {**common, **more}

    async def call(self, calls: list[Call]) -> list[dict[bytes, Any] | None]:
        """Answers, None for those that did not come. Raises `StorageError` for what will not come right by itself."""
        if not calls:
            return []
        self.calls += len(calls)
        found: list[dict[bytes, Any] | None] = []
        problem: tuple[int, BaseException] | None = None
        for call, answer in zip(calls, await self.steps.call_many(calls), strict=True):
            if isinstance(answer, BaseException):
                problem = call.shard, answer
                found.append(None)
            else:
                self.shards[call.shard].hear(answer[b"shard"], changed=call.step != "lease")
                found.append(answer)
        if problem is not None:
            shard, error = problem
            self.fault(error, shard)
        elif self.failures and calls[0].step in _WRITES:
            self.failures = 0
            logger.warning("Redis answers again")
        return found

    def fault(self, error: BaseException, shard: int | None = None) -> None:
        """A call has failed, to `shard` if it was a step. Raises `StorageError` if the next one would, too."""
        if not is_transient(error):
            where = "" if shard is None else f" on shard {shard} ({self.keys.base(shard)}*)"
            advice = "`scrapy check-crawl redis://...` names the keys that are spoilt, and `--repair` mends them"
            raise StorageError(f"Redis refuses the crawl's work{where}: {error}. {advice}") from error
        self.failures += 1
        self.in_doubt = True
        self._on_fault()
        if self.failures == 1:
            logger.warning("Waiting for Redis: %s", error or type(error).__name__)

    @property
    def pause(self) -> float:
        """Seconds to wait before the next attempt; 0 if none has failed."""
        return back_off(self.failures)

    def total(self, name: str) -> int:
        """Over all shards, as they last said."""
        return sum(shard[name] for shard in self.shards.values())
