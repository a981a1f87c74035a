"""A worker's talk with Redis: what it has done goes out, what others have told comes in, partitions come and go.

A round takes what there is, in this order, so that nothing is said of a partition that was lost: entries, bundles of
messages, inboxes, trust; then who has how many partitions. A fair share is all of them over the workers that are
alive, rounded up. Who has less takes what nobody has; who has more gives back, one at a time, when nothing of it is
in flight.

Whether the crawl has ended is seen from all partitions together: every one has said that its worker has nothing left
to do, no bundle is on its way, and nothing of that has changed when all of it is asked once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, NamedTuple, Protocol

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.connection import back_off, is_transient
from sitecrawl.cluster.entries import Entry, replay, snapshot
from sitecrawl.cluster.holdings import Held, Holdings, tally_of
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.partition_store import Commit, PartitionStore, Standing
from sitecrawl.credit.trust import Elsewhere
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.moving import Facts, Row
from sitecrawl.frontier.territory import Territory

BUNDLES: Final = 50
"""Bundles of an inbox that are let in within one round."""
LENT_AT_ONCE: Final = 4
"""Partitions that a worker takes within one round: each is read as a whole."""
COMPACT: Final = 64
"""Entries of a log that is replaced by a snapshot, at least."""
_PART: Final = 1 << 20
"""Bytes of rows in one part of a snapshot."""
_TRUST_SECONDS: Final = 2.0
_EVERY: Final = 0.2
"""Seconds between two rounds of a worker that has nothing to tell."""
_SOON: Final = 0.005
_CLOSING: Final = 10.0
"""Seconds for which the end waits for Redis; what is not sent by then is sent by the next start."""

logger = logging.getLogger(__name__)


class Arrival(NamedTuple):
    """A partition that was lent, with all there is of it."""

    held: Held
    facts: Facts
    rows: Sequence[Row]


class Totals(NamedTuple):
    """The crawl's counts, as Redis has heard of them last."""

    queued: int = 0
    fetched: int = 0
    failed: int = 0
    excluded: int = 0

    @property
    def known(self) -> int:
        return sum(self)


class Worker(Protocol):
    """What of a worker's frontier its talk with Redis is about."""

    holdings: Holdings
    frontier: DiskFrontier
    territory: Territory
    arrivals: list[Arrival]
    counts: Totals
    is_working: bool
    has_ended: bool

    @property
    def is_idle(self) -> bool: ...

    def receive(self, partition: int, bundle: bytes) -> None: ...

    def withdraw(self, held: Held) -> None: ...


class Exchange:
    """See the module. `clock` gives monotonic seconds."""

    def __init__(
        self,
        store: PartitionStore,
        frontier: Worker,
        listener: WorkerListener,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._listener = listener
        self._frontier = frontier
        self._holdings = frontier.holdings
        self._clock = clock
        self._trust_at = 0.0
        self._before: list[Standing] | None = None
        self._entries: defaultdict[int, int] = defaultdict(int)
        """Entries in the log of each partition."""
        self._kick = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    # Life

    def kick(self) -> None:
        """There is something to tell."""
        self._kick.set()

    def start(self) -> None:
        """Begin to talk, inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Send what is left, let others have what this worker had, and stop."""
        self._is_closing = True
        self._kick.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_CLOSING)
        await self.cease()
        with contextlib.suppress(redis.RedisError, OSError):
            await self._store.client.aclose()

    async def abandon(self) -> None:
        """As a kill leaves it: nothing more is sent, and nothing is given back."""
        await self.cease()
        await self._store.client.aclose()

    async def cease(self) -> None:
        """End the task where it is. Before Python 3.12 `asyncio.wait_for`, which redis-py uses, may swallow a
        cancellation: so it is said until it is heard.
        """
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=0.1)

    async def _run(self) -> None:
        failures = 0
        try:
            while not self._is_closing:
                try:
                    await self.round()
                    failures = 0
                except (redis.RedisError, OSError) as error:
                    failures += 1
                    self._fault(error, failures)
                await self._sleep(back_off(failures) or _EVERY)
            await self.leave()
        except StorageError as error:
            self._listener.failed(error)
        except (redis.RedisError, OSError) as error:
            logger.warning("What Redis has not heard of is sent by the next start: %s", error)
        except Exception as error:
            logger.exception("The worker's connection to Redis broke down")
            self._listener.failed(StorageError(f"The worker's connection to Redis broke down: {error!r}"))

    def _fault(self, error: BaseException, failures: int) -> None:
        """Raises `StorageError` if the next attempt would fail, too."""
        if not is_transient(error):
            raise StorageError(f"Redis refuses the crawl's work: {error}") from error
        self._listener.counted("cluster/faults", 1)
        if failures == 1:
            logger.warning("Waiting for Redis: %s", error or type(error).__name__)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()
        await asyncio.sleep(_SOON)

    async def round(self) -> None:
        """Raises `redis.RedisError`; then it is to be repeated."""
        alive = await self._store.alive()
        if not self._frontier.is_working:
            await self._resume()
        await self._send()
        await self._deliver()
        await self._hear()
        await self._share_trust(alive)
        await self._rebalance(len(alive))
        await self._look_around()
        if self._frontier.arrivals or self._frontier.has_ended:
            self._listener.woken()

    async def _resume(self) -> None:
        """What this worker had when it ended is its own still, if nobody has had it since."""
        for held in self._holdings.all:
            if held.is_sure:
                continue
            lent = await self._store.lease(held.partition, held.token)
            if lent is None or not lent[1]:
                await self._lose(held)
                if lent is not None:
                    await self._store.release(held.partition, lent[0])
            else:
                held.token = lent[0]
                log = await self._store.load(held.partition)
                held.outgoing = dict(log.outbox)
                self._entries[held.partition] = len(log.entries)
            held.is_sure = True
        self._frontier.is_working = True

    async def _send(self) -> None:
        holders = [one for one in self._holdings.all if not one.is_lost]
        commits, of = [], []
        for held in holders:
            entries: list[Entry | None] = [*held.unsent]
            for place, entry in enumerate(entries or [None]):
                commits.append(Commit(held.partition, held.token, entry, () if place else list(held.arrived)))
                of.append(held)
        for held, commit, number in zip(of, commits, await self._store.commit(commits), strict=True):
            await self._committed(held, commit, number)
        for held in holders:
            if not held.has_left and not held.is_lost and self._entries[held.partition] >= COMPACT:
                await self._compact(held)
        await self._let_go()

    async def _committed(self, held: Held, commit: Commit, number: int | None) -> None:
        if number is None:
            if not held.is_lost:
                await self._lose(held)
            return
        held.arrived = [name for name in held.arrived if name not in commit.arrived]
        self._entries[held.partition] += commit.entry is not None
        self._holdings.confirmed(held, number)

    async def _let_go(self) -> None:
        """Of partitions that have left, once Redis has heard the last of them."""
        for held in list(self._holdings.departed):
            if held.is_lost:
                self._frontier.withdraw(held)
            elif not held.unsent:
                await self._store.release(held.partition, held.token)
            if held.is_lost or not held.unsent:
                self._holdings.gone(held)

    async def _lose(self, held: Held) -> None:
        """Another worker has had it. What Redis had taken before stays, also if its answer was lost."""
        self._holdings.confirmed(held, await self._store.accepted(held.partition, held.token))
        held.is_lost = True

    async def _compact(self, held: Held) -> None:
        """The log grows with the crawl; what it comes to does not."""
        log = await self._store.load(held.partition)
        facts, rows = replay(log.entries)
        parts = list(snapshot(facts, rows, _PART))
        if len(parts) < len(log.entries) // 2:
            if await self._store.compact(held.partition, held.token, parts, len(log.entries)):
                self._entries[held.partition] = len(parts)
        else:
            self._entries[held.partition] = 0  # the log is nearly as short as it can be: look again when it has grown

    async def _deliver(self) -> None:
        ours = [held for held in self._holdings.held.values() if not held.is_lost]
        # What comes behind a later one of its sender counts as told before.
        out = [(held, name) for held in ours for name in sorted(held.outgoing, key=_number)]
        told = list(self._holdings.told.values())
        bundles = [self._bundle(held, name) for held, name in out]
        bundles += [(one.partition, self._store.session, one.number, one.bundle) for one in told]
        await self._store.deliver(bundles)
        for held, name in out:
            held.arrived.append(name)
            del held.outgoing[name]
        for one in told:
            self._holdings.delivered(one)

    @staticmethod
    def _bundle(held: Held, name: str) -> tuple[int, str, int, bytes]:
        number, _, target = name.partition(":")
        return int(target), str(held.partition), int(number), held.outgoing[name]

    async def _hear(self) -> None:
        ours = {one.partition: one for one in self._holdings.held.values() if not one.is_lost and not one.is_leaving}
        starts = {partition: held.read for partition, held in ours.items()}
        for partition, bundles in (await self._store.inboxes(starts, BUNDLES)).items():
            for bundle in bundles:
                self._frontier.receive(partition, bundle)
                self._listener.woken()

    async def _share_trust(self, alive: Sequence[str]) -> None:
        if (now := self._clock()) < self._trust_at:
            return
        self._trust_at = now + _TRUST_SECONDS
        graph, territory = self._frontier.frontier.link_credit.graph, self._frontier.territory
        flows: defaultdict[int, dict[bytes, float]] = defaultdict(dict)
        for host, amount in graph.outflow.items():
            flows[territory.partition(host)][host] = amount
        await self._store.tell_trust(graph.total, graph.seed_count, flows)
        total, seeds, inflow = await self._store.hear_trust(sorted(territory.held), alive)
        graph.hear(Elsewhere(inflow, total, seeds))

    # Who has what

    async def _rebalance(self, alive: int) -> None:
        fair = ceil(self._store.keys.shards / max(alive, 1))
        held = self._holdings.held
        coming = len(self._frontier.arrivals)
        staying = [one for one in held.values() if not one.is_leaving and not one.is_lost]
        if len(staying) + coming > fair and not any(one.is_leaving for one in held.values()):
            max(staying, key=lambda one: one.partition).is_leaving = True
        elif len(held) + coming < fair:
            await self._take(min(fair - len(held) - coming, LENT_AT_ONCE))

    async def _take(self, most: int) -> None:
        """Have partitions lent that nobody has."""
        ours = {one.partition for one in (*self._holdings.all, *(one.held for one in self._frontier.arrivals))}
        for partition, holder in enumerate(await self._store.holders()):
            if most == 0:
                return
            if holder or partition in ours:
                continue
            if (lent := await self._store.lease(partition)) is not None:
                log = await self._store.load(partition)
                facts, rows = await asyncio.to_thread(replay, log.entries)
                held = Held(partition, lent[0], log.number, outgoing=dict(log.outbox))
                self._entries[partition] = len(log.entries)
                self._frontier.arrivals.append(Arrival(held, facts, rows))
                most -= 1

    async def _look_around(self) -> None:
        """How it stands with the crawl as a whole, and whether it has ended: see the module."""
        standing = await self._store.standing()
        tallies = [tally_of(one.tally) for one in standing]
        sums = [sum(counts) for counts in zip(*(tally.get("states", [0] * 4) for tally in tallies), strict=True)]
        self._frontier.counts = Totals(*sums)
        is_here = self._frontier.is_idle and not self._holdings.told and not self._frontier.arrivals
        idle = is_here and all(
            tally.get("idle") and not one.waiting for tally, one in zip(tallies, standing, strict=True)
        )
        self._frontier.has_ended = idle and standing == self._before
        self._before = standing if idle else None
        if idle and not self._frontier.has_ended:
            self._kick.set()

    async def leave(self) -> None:
        """The worker ends: what Redis has wholly, others may have at once."""
        await self._send()
        for held in self._holdings.held.values():
            if not held.unsent and not held.is_lost:
                await self._store.release(held.partition, held.token)


def _number(name: str) -> int:
    """Of the entry that a bundle of the outbox came with."""
    return int(name.partition(":")[0])
