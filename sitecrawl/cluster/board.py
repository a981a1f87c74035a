"""What the workers of a crawl tell each other, for who looks at it: a board on Redis.

It has a connection of its own, so it works until a worker is gone, and the crawl waits for nothing that is done here.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final, NamedTuple

import redis

from sitecrawl.base.batches import batches
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.steps import Steps

MAX_WORKERS: Final = 500
"""Workers that are listed, those heard last."""
_FORGET: Final = 600_000
"""Milliseconds after which a silent worker is no longer listed."""
_PATIENCE: Final = 8_000
"""Milliseconds for which a wish outlives the last worker: a pause does not outlive the run."""
_SECONDS: Final = 5.0
"""For which Redis' answer is waited for."""


class Heard(NamedTuple):
    """Last report of a worker."""

    session: str
    age: float
    """Seconds since then, by Redis' clock."""
    text: bytes
    """The report as written; it may be malformed."""


class News(NamedTuple):
    """An answer of the board."""

    workers: list[Heard]
    """None, unless they were asked for."""
    wish: str
    """Operator request to all workers; empty for none."""
    wished: int
    """When, in Unix milliseconds of Redis, as the next."""
    now: int


class Board:
    """`session` is this worker's name."""

    def __init__(self, steps: Steps, session: str) -> None:
        self._steps = steps
        self.session = session

    async def tell(self, text: str, *, read: bool, wish: str = "") -> News | None:
        """Write what is to be known of this worker, and hear the others; None if Redis does not answer."""
        args = [self.session, text, int(read), MAX_WORKERS, _FORGET, wish, _PATIENCE]
        try:
            async with asyncio.timeout(_SECONDS):
                now, what, at, *told = await self._steps.run("watch", PLACE, *args)
        except (redis.RedisError, OSError):  # TimeoutError is one
            return None
        workers = [
            Heard(session.decode(errors="replace"), max(0.0, int(age) / 1000), text)
            for session, age, text in batches(told, 3)
        ]
        return News(workers, what.decode(errors="replace"), int(at), int(now))

    async def close(self) -> None:
        with contextlib.suppress(redis.RedisError, OSError):
            await self._steps.client.aclose()
