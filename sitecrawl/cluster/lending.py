"""Borrowing, returning and losing partitions.

A fair share is all of them over the workers that are alive, rounded up. Who has less takes what nobody has; who has
more gives back what is above it, when nothing of it is in flight.

Sites are of all sizes, so a share may come to its end long before the others. A worker without a URL to fetch is then
lent a partition by whoever has most of those in which URLs wait (work stealing: Blumofe and Leiserson 1999).

If Redis stood still for longer than a lease (a disk that does not write, a machine that slept), all leases are over
when it goes on, and their workers live. Each has its partitions again with its next word (`commit.lua`), unless
another one was quicker: so who has heard nothing for half a lease waits as long, once, until it takes any.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final, TypeVar

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.compaction import in_thread
from sitecrawl.cluster.entries import Entry, unpack_entry
from sitecrawl.cluster.holdings import Held
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.partitions import Arrival, Partitions
from sitecrawl.cluster.snapshots import unpack_part
from sitecrawl.cluster.standing import Whole
from sitecrawl.frontier.moving import NO_FACTS, Change, Facts, Sums, write_rows
from sitecrawl.frontier.urls.record import UrlState

LENT_AT_ONCE: Final = 2 << 20
"""Bytes of snapshots and logs after which a worker takes no more partitions within one round: the round waits for
them."""
_LONG: Final = 1 << 14
"""Bytes of an entry or a part that takes more than some milliseconds to unpack."""
_AGAIN: Final = 1.0
"""Seconds after which a worker looks again whether there is anything to be had."""
_LOST: Final = (
    "Partition %d is not this worker's any more: Redis has heard nothing of it for longer than a lease, or has "
    "forgotten some of it. %d pages that were fetched do not count, and are fetched again. On a slow machine set a "
    "longer SITECRAWL_LEASE_SECONDS"
)
"""Said once."""
_LONGEST_REST: Final = 60.0
"""Seconds for which a partition that was given back is kept from others, so that its hosts rest, at most."""

logger = logging.getLogger(__name__)

_Found = TypeVar("_Found")


class Lending:
    """See the module. `give_up` is told of the entries of a partition that was lost when it had left. `hear` asks
    Redis what the limits of the crawl are. What is awaited raises `redis.RedisError`, and is to be repeated then.
    """

    def __init__(
        self,
        store: PartitionStore,
        partitions: Partitions,
        *,
        give_up: Callable[[Iterable[Entry]], None],
        hear: Callable[[], Awaitable[object]],
    ) -> None:
        self._store = store
        self._partitions = partitions
        self._holdings = partitions.holdings
        self._listener = partitions.listener
        self._clock = partitions.clock
        self._give_up = give_up
        self._hear = hear
        self._take_at = 0.0
        self._looked_at = inf
        self._waits_until: float | None = None
        """While others that were cut off may come back."""
        self._has_waited = False
        """Whether that time has ended with this round."""
        self._has_warned = False

    # What this worker has

    async def resume(self) -> None:
        """Take back the partitions of the last run that nobody has had since."""
        unsure = [held for held in self._holdings.all if not held.is_sure]
        for held in unsure:
            lent = await self._store.lease(held.partition, held.token)
            if lent is None or not lent[1]:
                await self.lose(held)
                if lent is not None:
                    await self._store.release(held.partition, lent[0])
            else:
                held.token = lent[0]
                held.is_on_redis(await self._store.extent(held.partition))
            held.is_sure = True
        if unsure:
            self._holdings.keep_tokens()

    async def fenced(self, held: Held) -> None:
        """Redis takes nothing of a partition any more. Raises `StorageError` if it is lent to another worker of the
        same name: two of them would take it from one another for ever.
        """
        if await self._store.is_lent_to_namesake(held.partition, held.token):
            raise StorageError(
                f"Another worker works with a copy of {self._holdings.database.path.parent}: each needs a JOBDIR of "
                "its own, which has to be empty when it begins"
            )
        await self.lose(held)

    async def lose(self, held: Held) -> None:
        """Another worker has had it, or Redis has forgotten some of it. What is there stays, also if its answer was
        lost; what is not does not count.
        """
        accepted = await self._store.accepted(held.partition, held.token)
        self._holdings.confirmed(held, accepted)
        self._listener.withdrawn([row for entry in held.recent if entry.number > accepted for row in entry.rows])
        await self._store.release(held.partition, held.token)
        held.is_lost = True
        pages = sum(len(entry.rows) for entry in held.unsent)
        self._listener.counted("cluster/lost_partitions", 1)
        logger.log(logging.DEBUG if self._has_warned else logging.WARNING, _LOST, held.partition, pages)
        self._has_warned = True

    async def let_go(self) -> None:
        """Release partitions that have left, once Redis has all their news."""
        for held in list(self._holdings.departed):
            if held.is_lost:
                self._give_up(self._holdings.give_up(held))
            elif not held.unsent:
                await self._release(held, held.rests_until)
            if held.is_lost or not held.unsent:
                self._holdings.gone(held)

    async def let_go_of_all(self) -> None:
        """The worker ends: what Redis has wholly, others may have."""
        for held in self._partitions.ours:
            if not held.unsent:
                await self._release(held, self._partitions.rests_until(held))

    async def _release(self, held: Held, rests_until: float) -> None:
        """Release a partition; the next worker may ask its hosts at once."""
        rest = min(rests_until - self._clock(), _LONGEST_REST)
        await self._store.release(held.partition, held.token, max(rest, 0.0))

    # What it is to have

    async def rebalance(self, fair: int, alive: Sequence[str], whole: Whole, *, is_through: bool) -> bool:
        """Have so many; a worker that is through keeps what it has. `alive` are the workers that count, `whole` what
        was last heard of all partitions. Returns whether any may have come.
        """
        self._end_wait()
        self._look()
        held, coming = self._holdings.held, len(self._partitions.arrivals)
        is_settled = bool(held) and not any(one.is_leaving or one.is_lost for one in held.values())
        idle = [one for one in held.values() if not one.counts.states[UrlState.QUEUED]]
        busy = [one for one in held.values() if one.counts.states[UrlState.QUEUED]]
        lender, waiting = whole.lender(alive), whole.waiting
        lends = self._lends(lender, whole) and len(busy) > 1
        if is_settled and not is_through and (lends or len(held) + coming > fair):
            for _ in range(min(max(len(held) + coming - fair, 1), len(held))):
                has_more = lends or not idle or (len(busy) - 1) * max(len(alive), 1) >= len(waiting)
                kind = busy if busy and has_more else idle
                leaving = max(kind, key=lambda one: one.partition)
                kind.remove(leaving)
                leaving.is_leaving = True
            self._listener.woken()
            return False
        lacks_work = bool(lender and fair) and not busy and not coming
        if lacks_work or (len(held) + coming < fair and self._clock() >= self._take_at):
            await self._take(fair - len(held) - coming, waiting if lender else (), lacks_work=lacks_work)
            return True
        return False

    def _end_wait(self) -> None:
        """The round in which a wait ends takes whatever is free, however slow this worker is: or it would wait for
        ever, and have nothing.
        """
        self._has_waited = self._waits_until is not None and self._clock() >= self._waits_until
        if self._has_waited:
            self._waits_until = None

    def _look(self) -> bool:
        """Whether others that were cut off may come back just now."""
        now, lease = self._clock(), self._store.leases.seconds
        was_cut_off, self._looked_at = now - self._looked_at > lease / 2, now
        if was_cut_off and not self._has_waited and self._waits_until is None:
            self._waits_until = now + lease / 2
        return self._waits_until is not None

    def _lends(self, lender: str, whole: Whole) -> bool:
        """Whether this worker is the lender, and what it has lent before is with somebody."""
        session, held = self._holdings.session, self._holdings.held
        own = [partition for partition in whole.waiting if whole.tallies[partition].worker.session == session]
        return lender == session and all(partition in held for partition in own)

    async def _take(self, most: int, waiting: Sequence[int], *, lacks_work: bool) -> None:
        """Have partitions lent that nobody has. Those in which URLs are `waiting` are for who lacks work: one at a
        time, beyond his number as well.
        """
        arrivals = [one.held for one in self._partitions.arrivals]
        ours = {one.partition for one in (*self._holdings.all, *arrivals)}
        free = [one for one in await self._store.free() if one not in ours]
        if self._look():
            return
        wanted = [one for one in free if one in waiting][:1] if lacks_work else []
        wanted = wanted or [one for one in free if one not in waiting][: max(most, 0)]
        room = LENT_AT_ONCE
        for partition in wanted:
            if room > 0 and (lent := await self._store.lease(partition)) is not None:
                arrival = await self._arrival(partition, lent[0])
                self._partitions.arrivals.append(arrival)  # another list by now, if there was a checkpoint
                room -= arrival.held.snapshot + arrival.held.log
        self._looked_at = self._clock()
        if not self._partitions.arrivals:
            self._take_at = self._clock() + _AGAIN

    async def _arrival(self, partition: int, token: int) -> Arrival:
        """Read a borrowed partition. What cannot be read is not this worker's: its lease is renewed no more."""
        try:
            extent = await self._store.extent(partition)
            held = Held(partition, token, extent.number)
            held.is_on_redis(extent)
            with self._partitions.reading(partition):
                facts = await self._read(partition)
                regions = self._partitions.territory.regions(partition)
                sums = partial(Sums.of, self._holdings.database, regions, facts.dividend)
                added_up = await _beside(extent.snapshot + extent.log, sums)
                await self._hear()  # who looked before it was lent has not counted what may be fetched of it
        except BaseException:
            self._store.leases.drop(partition, token)
            raise
        return Arrival(held, facts, added_up)

    async def _read(self, partition: int) -> Facts:
        """Write the partition's rows to the database, piece by piece."""
        database, fingerprint = self._holdings.database, self._partitions.frontier.fingerprint

        def write(facts: Facts, rows: Iterable[Change]) -> Facts:
            write_rows(database, rows)
            return facts

        def begin(part: bytes) -> Facts:
            return write(*unpack_part(part, fingerprint))

        def go_on(entry: bytes) -> Facts:
            return write(*unpack_entry(entry))

        facts = NO_FACTS
        async for part in self._store.snapshot(partition):
            facts = await _beside(len(part), partial(begin, part))
        async for entry in self._store.log(partition):
            facts = await _beside(len(entry), partial(go_on, entry))
        return facts


async def _beside(size: int, work: Callable[[], _Found]) -> _Found:
    """Do what goes through `size` bytes. A thread costs more than a short step, and a lease does not wait."""
    return await in_thread(work) if size > _LONG else work()
