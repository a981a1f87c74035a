"""The partitions that a worker has just now, and the frontier of one process over their rows.

Partitions come and go between two checkpoints, and another frontier goes on over the same database. The rows of what
comes are written before that, while the crawl goes on: what is read of Redis is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from math import inf
from typing import Final, NamedTuple, Protocol

import msgpack

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.standing import OfWorker, Whole
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import COMING, HELD
from sitecrawl.frontier.contract import Listener
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.moving import Facts, Move, Sums, forget, keys_of
from sitecrawl.frontier.succession import SeenBefore, succeed
from sitecrawl.frontier.urls.crawl_seen import SeenKeeper
from sitecrawl.frontier.urls.territory import Territory


class WorkerListener(Listener, Protocol):
    """Interface between a worker's frontier and its crawl."""

    def woken(self) -> None:
        """Called when there is something to hand out, or the crawl has ended."""

    def failed(self, error: StorageError) -> None:
        """Called when the crawl cannot go on."""

    def counted(self, name: str, number: int) -> None:
        """A figure for the crawl's statistics."""

    def moved(self) -> None:
        """Other sites are this worker's now: the database has their rows, and not those of others any more."""

    def ended(self, reason: str) -> None:
        """Another worker has ended the crawl, for Scrapy's finish reason `reason`."""

    def withdrawn(self, rows: list[int]) -> None:
        """These rows of the page index are not this worker's to have."""

    def checkpoint(self) -> None:
        """Make durable at once what has been done."""

    def seed_pushed(self, text: str) -> bool:
        """Take what was pushed to the seed queue; false if it is no seed."""

    def widened(self, url: str) -> None:
        """A seed came up on another worker, or its spider says something."""


FrontierMaker = Callable[[Database, Territory, SeenKeeper], DiskFrontier]
"""Makes a frontier over a database, given what it has of the crawl and who keeps its seen set."""


class Arrival(NamedTuple):
    """A partition that was lent; its rows are in the database, where no frontier knows of them yet."""

    held: Held
    facts: Facts
    sums: Sums


class Partitions:
    """See the module; `total` is how many the crawl has. `run` has the limit of pages, `make` makes each frontier,
    and `seen` is for the first one; the others have a cache of `cache` URLs. `clock` gives monotonic seconds, as the
    frontier's.
    """

    def __init__(
        self,
        holdings: Holdings,
        total: int,
        *,
        run: Run,
        make: FrontierMaker,
        seen: SeenKeeper,
        listener: WorkerListener,
        clock: Callable[[], float],
        cache: int,
    ) -> None:
        self.holdings: Final = holdings
        self.total: Final = total
        self.listener: Final = listener
        self.clock: Final = clock
        self._run = run
        self._make = make
        self._cache = cache
        for held in holdings.held.values():
            held.counts.turn(run.account)
        self.territory = self._territory()
        self._is_reading = False
        self._forget(msgpack.unpackb(holdings.database.get("meta", COMING) or b"\x90"))
        self.frontier = make(holdings.database, self.territory, seen)
        self.level = 0
        """Level that all workers have reached; without meaning unless depth is limited."""
        self.begin_level(0)
        self.arrivals: list[Arrival] = []
        """Partitions that arrive with the next change."""
        self.orphans: set[bytes] = set()
        """URLs in flight whose partition is another worker's by now."""

    def _territory(self) -> Territory:
        return Territory(self.total, {number: one.counts for number, one in self.holdings.held.items()})

    def begin_level(self, level: int) -> None:
        """All URLs of the levels before are done, on all workers."""
        self.level = level
        if self.frontier.keeps_levels:
            self.frontier.counts.deepest = level

    # What is here

    @property
    def share(self) -> float:
        """Share of all sites that this worker has."""
        return len(self.holdings.held) / self.total

    @property
    def ours(self) -> list[Held]:
        """Partitions that, as far as known, no other worker has."""
        return [held for held in self.holdings.held.values() if not held.is_lost]

    def has(self, host_name: str) -> bool:
        """Whether a host is this worker's."""
        return self.territory.has(self.frontier.hosts.key_of(host_name))

    def of(self, key: bytes) -> Held:
        """Partition of a key of this worker."""
        return self.holdings.held[self.territory.partition(key)]

    def in_flight(self, partition: int) -> int:
        """Number of URLs in flight of a partition that may become pages."""
        visits = self.frontier.in_flight.values()
        return sum(self.territory.partition(one.key) == partition and not one.is_requisite for one in visits)

    def rests_until(self, held: Held) -> float:
        """When the last host of a partition may be asked again, but for those that have asked for their rest: who has
        them next knows of it.
        """
        hosts = (one for one in self.frontier.hosts.live() if self.territory.partition(one.key) == held.partition)
        return max((one.free_at for one in hosts if one.free_at > one.asked_until), default=0.0)

    def standing(self, *, idle: bool) -> OfWorker:
        """State of this worker."""
        figures = self.frontier.figures
        found = figures.held
        held = {int(reason): (urls, found.sets[reason]) for reason, urls in found.urls.items()}
        others = figures.joined, figures.silent, figures.silent_hosts, self.frontier.judge.good
        ledger = self.frontier.link_credit.ledger
        credit = ledger.spent, float(ledger.total)
        return OfWorker(self.holdings.session, idle, self._lowest(), held, *others, *credit)

    def hear(self, whole: Whole) -> None:
        """Take the figures of all workers, beside which hosts are judged and credit is weighed."""
        self.frontier.judge.elsewhere = whole.good_beside(self.holdings.session)
        self.frontier.link_credit.ledger.elsewhere = whole.flow_beside(self.holdings.session)

    def _lowest(self) -> int | None:
        """The lowest level of which something is not done; None where none waits for another."""
        if not self.frontier.keeps_levels:
            return None
        level = self.frontier.counts.own_level
        return None if level == inf else int(level)

    def forget_orphan(self, key: bytes) -> bool:
        """The fetch of a URL is over. Returns whether it has become another worker's meanwhile."""
        is_orphan = key in self.orphans
        self.orphans.discard(key)
        return is_orphan

    # What comes and goes

    @contextmanager
    def reading(self, partition: int) -> Iterator[None]:
        """The rows of a partition may come to the database meanwhile, and nothing else comes or goes. If that breaks
        off, or the worker dies before they are let in, they are deleted.
        """
        coming = [partition, *(one.held.partition for one in self.arrivals)]
        batch = self.holdings.database.batch()
        batch.put("meta", COMING, msgpack.packb(coming))
        self.holdings.database.write(batch, sync=False)
        self._is_reading = True
        try:
            yield
        except BaseException:
            self._forget([partition])
            raise
        finally:
            self._is_reading = False

    def _forget(self, partitions: Iterable[int]) -> None:
        for partition in partitions:
            batch = self.holdings.database.batch()
            forget(batch, self.holdings.database, self.territory.regions(partition))
            self.holdings.database.write(batch)

    @property
    def wants_change(self) -> bool:
        """Whether any wait to come, or to go and have nothing in flight."""
        held = self.holdings.held.values()
        if self._is_reading:
            return False
        if self.arrivals or any(one.is_lost for one in held):
            return True
        leaving = {one.partition for one in held if one.is_leaving}
        return bool(leaving) and not leaving <= self._busy()

    def _busy(self) -> set[int]:
        """Partitions with something in flight."""
        return {self.territory.partition(key) for key in self.frontier.in_flight}

    def change(self) -> None:
        """Let in what has come, and out what is lost, or leaves and has nothing in flight; not while one is read. All
        is as of the last checkpoint; what comes to nothing is as if it had not been.
        """
        if not self.wants_change:
            return
        going, (coming, self.arrivals) = self.holdings.going(self._busy()), (self.arrivals, [])
        if not going and not coming:
            return
        move = Move(self.holdings.database, self.territory, Ledger(policy_named("hosts")))
        for held in going:
            held.rests_until = self.rests_until(held)
            move.drop(held.partition, held.facts)
            self.holdings.drop(held)
        for arrival in coming:
            self._let_in(arrival, move)
        move.note(HELD, self.holdings.packed())
        move.note(COMING, msgpack.packb([]))
        move.commit()
        regions = [self.territory.regions(one.held.partition) for one in coming]
        self._go_on(chain.from_iterable(keys_of(self.holdings.database, some) for some in regions))

    def _let_in(self, arrival: Arrival, move: Move) -> None:
        held = arrival.held
        held.facts, held.counts, changed = move.settle(held.partition, arrival.facts, arrival.sums)
        held.counts.turn(self._run.account)
        held.tally = held.tally_of(OfWorker(self.holdings.session, level=0 if self.frontier.keeps_levels else None))
        move.note(*self.holdings.begin(held, changed))

    def _go_on(self, come: Iterable[bytes]) -> None:
        """With another frontier over the database as it is now."""
        before = self.frontier
        self.territory = self._territory()
        seen = SeenBefore(before.seen, come, self._cache)
        self.frontier = self._make(self.holdings.database, self.territory, seen)
        self.begin_level(self.level)
        self.listener.moved()
        self.orphans.update(visit.key for visit in succeed(before, self.frontier, self.clock()))
