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
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from sitecrawl.cluster.entries import Entry, replay, snapshot
from sitecrawl.cluster.holdings import Held, tally_of
from sitecrawl.cluster.partition_store import Fenced, PartitionStore, Standing
from sitecrawl.cluster.shared_frontier import Arrival, SharedFrontier
from sitecrawl.credit.trust import Elsewhere

BUNDLES: Final = 50
"""Bundles of an inbox that are let in within one round."""
LENT_AT_ONCE: Final = 4
"""Partitions that a worker takes within one round: each is read as a whole."""
COMPACT: Final = 64
"""Entries of a log that is replaced by a snapshot, at least."""
_PART: Final = 1 << 20
"""Bytes of rows in one part of a snapshot."""
_TRUST_SECONDS: Final = 2.0


class Exchange:
    """See the module. `clock` gives monotonic seconds."""

    def __init__(self, store: PartitionStore, frontier: SharedFrontier, clock: Callable[[], float]) -> None:
        self._store = store
        self._frontier = frontier
        self._holdings = frontier.holdings
        self._clock = clock
        self._trust_at = 0.0
        self._before: list[Standing] | None = None
        self._entries: defaultdict[int, int] = defaultdict(int)
        """Entries in the log of each partition."""
        self.has_ended = False

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
        await self._look_for_the_end()

    async def _resume(self) -> None:
        """What this worker had when it ended is its own still, if nobody has had it since."""
        for held in [*self._holdings.held.values(), *self._holdings.departed]:
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
        for held in [*self._holdings.held.values(), *self._holdings.departed]:
            if held.is_lost:
                continue
            try:
                await self._commit(held)
                if not held.has_left and self._entries[held.partition] >= COMPACT:
                    await self._compact(held)
            except Fenced:
                await self._lose(held)
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

    async def _commit(self, held: Held) -> None:
        """Send its entries, or renew its lease."""
        entries: list[Entry | None] = [*held.unsent]
        for entry in entries or [None]:
            arrived, held.arrived = held.arrived, []
            try:
                number = await self._store.commit(held.partition, held.token, entry, arrived)
            except BaseException:
                held.arrived = arrived
                raise
            self._entries[held.partition] += entry is not None
            self._holdings.confirmed(held, number)

    async def _compact(self, held: Held) -> None:
        """The log grows with the crawl; what it comes to does not."""
        log = await self._store.load(held.partition)
        facts, rows = replay(log.entries)
        parts = list(snapshot(facts, rows, _PART))
        if len(parts) < len(log.entries) // 2:
            await self._store.compact(held.partition, held.token, parts, len(log.entries))
            self._entries[held.partition] = len(parts)
        else:
            self._entries[held.partition] = 0  # the log is nearly as short as it can be: look again when it has grown

    async def _deliver(self) -> None:
        for held in self._holdings.held.values():
            if held.is_lost:
                continue
            for name, bundle in list(held.outgoing.items()):
                number, _, target = name.partition(":")
                await self._store.deliver(int(target), str(held.partition), int(number), bundle)
                held.arrived.append(name)
                del held.outgoing[name]
        for told in list(self._holdings.told.values()):
            await self._store.deliver(told.partition, self._store.session, told.number, told.bundle)
            self._holdings.delivered(told)

    async def _hear(self) -> None:
        for held in list(self._holdings.held.values()):
            if not held.is_lost and not held.is_leaving:
                for bundle in await self._store.inbox(held.partition, held.read, BUNDLES):
                    self._frontier.receive(held.partition, bundle)

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
        ours = {*self._holdings.held, *(one.partition for one in self._holdings.departed)}
        ours.update(arrival.held.partition for arrival in self._frontier.arrivals)
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

    async def _look_for_the_end(self) -> None:
        """See the module."""
        nobody_waits = self._frontier.is_idle and not self._holdings.told and not self._frontier.arrivals
        if not nobody_waits:
            self._before = None
            return
        standing = await self._store.standing()
        idle = all(tally_of(one.tally).get("idle") and not one.waiting for one in standing)
        self.has_ended = idle and standing == self._before
        self._before = standing if idle else None

    async def leave(self) -> None:
        """The worker ends: what Redis has wholly, others may have at once."""
        await self._send()
        for held in self._holdings.held.values():
            if not held.unsent and not held.is_lost:
                await self._store.release(held.partition, held.token)
