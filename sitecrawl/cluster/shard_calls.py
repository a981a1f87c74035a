"""Calls of steps, what the shards said in their answers, and what is done when none comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.shards import Call, Shards

logger = logging.getLogger(__name__)

_BACK_OFF: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to reach a Redis that is away."""
_AWAY: Final = (
    OSError,
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    redis.exceptions.ClusterError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.RedisClusterException,
)
"""Of these redis-py has taken the error's name away."""
_TRANSIENT: Final = (
    "LOADING",
    "MISCONF",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MASTERDOWN",
    "NOREPLICAS",
    "BUSY",
    "OOM",
)


_WRITES: Final = frozenset({"apply", "renew", "resign"})
"""Steps that write whatever they find. A Redis that is full or read-only answers others as if it were well."""


class Shard:
    """What is known of a shard since it last answered."""

    __slots__ = ("ends", "look_at", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        """Its counts, as `finish` in shard.lua has them."""
        self.ends = False
        """It had nothing left to do, then."""
        self.look_at = 0.0
        """When it may have something to lend, in monotonic seconds."""

    def __getitem__(self, name: str) -> int:
        return int(self.numbers.get(name, 0))

    def hear(self, answer: dict[bytes, float], *, changed: bool) -> None:
        """`changed`: what was done may have left something to lend, a probe of what is held back, or nothing."""
        self.numbers = {name.decode(): value for name, value in answer.items()}
        is_empty = not any(self.numbers[name] for name in ("waiting", "leased", "outbox"))
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
        problem: BaseException | None = None
        for call, answer in zip(calls, await self.steps.call_many(calls), strict=True):
            if isinstance(answer, BaseException):
                problem = answer
                found.append(None)
            else:
                self.shards[call.shard].hear(answer[b"shard"], changed=call.step != "lease")
                found.append(answer)
        if problem is not None:
            self.fault(problem)
        elif self.failures and calls[0].step in _WRITES:
            self.failures = 0
            logger.warning("Redis answers again")
        return found

    def fault(self, error: BaseException) -> None:
        """A call has failed. Raises `StorageError` if the next one would, too."""
        if not is_transient(error):
            raise StorageError(f"Redis refuses the crawl's work: {error}") from error
        self.failures += 1
        self.in_doubt = True
        self._on_fault()
        if self.failures == 1:
            logger.warning("Waiting for Redis: %s", error or type(error).__name__)

    @property
    def pause(self) -> float:
        """Seconds to wait before the next attempt; 0 if none has failed."""
        return _BACK_OFF[min(self.failures, len(_BACK_OFF)) - 1] if self.failures else 0.0

    def total(self, name: str) -> int:
        """Over all shards, as they last said."""
        return sum(shard[name] for shard in self.shards.values())


def is_transient(error: BaseException) -> bool:
    """Whether an error goes when Redis is well again."""
    if isinstance(error, redis.AuthenticationError | redis.exceptions.NoPermissionError):
        return False
    if isinstance(error, _AWAY):
        return True
    text = str(error)  # a command inside of a script puts a minus before its error
    return any(text.startswith(name) or f"-{name} " in text for name in _TRANSIENT)
