"""The log of a partition grows with the crawl; what it comes to does not: now and then a snapshot takes its place.

It is made of the worker's own rows, as they were after some entry, beside all else: in a thread, part by part, so
memory holds one part and the event loop hardly notices. The parts go to Redis under another name, and take the place
of the log up to that entry in one step. Whoever dies before that has changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Final, TypeVar

import redis

from sitecrawl.cluster.connection import is_transient
from sitecrawl.cluster.holdings import Held
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.snapshots import Fingerprint, pack_part
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.moving import Facts, Row, parts_of
from sitecrawl.frontier.urls.territory import Territory

LEAST: Final = 4 << 20
"""Bytes of a log that are worth a snapshot."""
GROWTH: Final = 2.0
"""So many times the snapshot's bytes the log may have. Twice that means half the work and more memory: at most
`1 + GROWTH` times the snapshot, and on average half of `GROWTH` less."""
URLS: Final = 32_768
"""URLs of one part, about: 20 MB of memory while it is made. Larger parts take less for URLs of large sites."""
PAUSE: Final = 30.0
"""Seconds after one that Redis has refused, as it does when it is full."""
_SOON: Final = 0.1
"""Seconds until Redis is asked again for an entry that it has yet to take."""

logger = logging.getLogger(__name__)

_Found = TypeVar("_Found")


class Compaction:
    """Compact a worker's partitions, one at a time."""

    def __init__(self, store: PartitionStore, database: Database) -> None:
        self._store = store
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def look(self, held: Iterable[Held], territory: Territory, fingerprint: Fingerprint) -> None:
        """Begin, if a log has grown enough. The database is what the newest entry of each of `held` says.

        Raises what the last compaction has raised, unless it may succeed another time.
        """
        if self._task is not None:
            if not self._task.done():
                return
            self._end(self._task)
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before:
            return
        due = [one for one in held if one.log > max(LEAST, GROWTH * one.snapshot)]
        if due:
            longest = max(due, key=lambda one: one.log)
            parts = parts_of(self._database, territory.regions(longest.partition), URLS)
            work = self._compact(longest, longest.number, longest.facts, parts, fingerprint)
            self._task = loop.create_task(work)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._task = None
        try:
            task.result()
        except (redis.RedisError, OSError) as error:
            if not is_transient(error):
                raise
            logger.warning("A log on Redis stays longer than it should: %s", error or type(error).__name__)
            self._not_before = asyncio.get_running_loop().time() + PAUSE

    async def cease(self) -> None:
        """Let go of the database; what has come to Redis is left there, and is nothing."""
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=0.1)

    async def _compact(
        self, held: Held, number: int, facts: Facts, rows: Generator[list[Row]], fingerprint: Fingerprint
    ) -> None:
        try:
            with closing(rows):
                parts, size = await self._put_parts(held, facts, rows, fingerprint)
            log = held.log
            if parts and await self._have_taken(held, parts, size, number):
                held.snapshot, held.log = size, max(0, held.log - log)
        except (redis.RedisError, OSError):
            with contextlib.suppress(redis.RedisError, OSError):
                await self._store.drop_parts(held.partition)  # who has no room for it needs what it takes
            raise

    async def _put_parts(
        self, held: Held, facts: Facts, rows: Generator[list[Row]], fingerprint: Fingerprint
    ) -> tuple[int, int]:
        """Return the number of parts and their bytes; zeros if the partition has gone meanwhile."""

        def next_part() -> bytes | None:
            found = next(rows, None)
            return None if found is None else pack_part(facts, found, fingerprint)

        parts = size = 0
        while (part := await in_thread(next_part)) is not None:
            if not await self._store.put_part(held.partition, held.token, parts, part):
                return 0, 0
            parts, size = parts + 1, size + len(part)
        return parts, size

    async def _have_taken(self, held: Held, parts: int, size: int, number: int) -> bool:
        """Whether the parts stand in the place of the log, as soon as Redis has all that they say."""
        while not held.is_lost:
            answer = await self._store.compact(held.partition, held.token, parts, size, number)
            if answer != b"early":
                return bool(answer == b"done")
            await asyncio.sleep(_SOON)
        return False


async def in_thread(work: Callable[[], _Found]) -> _Found:
    """Run `work` in a thread. A cancelled caller waits for its end, because it reads a database."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise
