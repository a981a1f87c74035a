"""A worker's frontier: that of one process, over the partitions of the crawl that the worker has.

Everything is decided here, by `frontier.disk`, as in a crawl of one process. Redis lends partitions, keeps what
becomes of them, and carries what one tells another. So a checkpoint is three things: a batch of this worker's
database, an entry in each partition's log on Redis, and bundles of messages for other partitions. The first happens
at once; the others when Redis takes them (`cluster.exchange`), in order, and only as long as the partition is this
worker's. What another worker has taken over meanwhile is gone from here, with the pages that Redis has not heard of.

Partitions come and go right after a checkpoint: their rows go in or out, and another frontier goes on over the same
database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgpack

from sitecrawl.cluster.entries import Entry, RecordingBatch, pack_entry
from sitecrawl.cluster.exchange import Arrival, Exchange, Totals
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.loose import Loose
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import HELD
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import policy_named
from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.crawl_seen import SeenKeeper
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.moving import Facts, Move, facts_of
from sitecrawl.frontier.record import NO_REFERRER, Flag, UrlState
from sitecrawl.frontier.succession import SeenBefore, succeed
from sitecrawl.frontier.tables import HostTable, UrlTable
from sitecrawl.frontier.territory import Message, Territory, pack, unpack
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import region_of

UNSENT: Final = 50
"""Entries that Redis has not taken, over all partitions and checkpoints, with which a worker fetches on."""
_DRAIN: Final = 1.0
"""Seconds for which hosts of a partition that is to leave rest, again and again, until nothing of it is in flight."""
_SOON: Final = 0.02
"""Seconds after which a worker that has nothing to do makes a checkpoint of what it has done."""


class SharedFrontier:
    """See the module; what its calls mean is said in `frontier.contract`.

    `make` makes a frontier over the database, given a territory and who keeps its seen set; `seen` is that of the
    first one. `clock` gives monotonic seconds, as the frontier's.
    """

    can: Final = Capability.NONE

    def __init__(
        self,
        database: Database,
        holdings: Holdings,
        store: PartitionStore,
        *,
        make: Callable[[Database, Territory, SeenKeeper], DiskFrontier],
        seen: SeenKeeper,
        listener: WorkerListener,
        clock: Callable[[], float],
        cache: int,
    ) -> None:
        self._database = database
        self._make = make
        self._listener = listener
        self._clock = clock
        self._cache = cache
        self.holdings = holdings
        self._partitions = store.keys.shards
        self.territory = self._territory()
        """What this worker has now."""
        self.frontier = make(database, self.territory, seen)
        self.arrivals: list[Arrival] = []
        """What the next checkpoint lets in."""
        self.is_working = False
        """Whether Redis has confirmed what this worker had when it began."""
        self._rows: defaultdict[int, list[int]] = defaultdict(list)
        self._orphans: set[bytes] = set()
        """URLs in flight whose partition is another worker's by now."""
        self._loose = Loose()
        self.counts = Totals()
        self.is_starting = True
        """The worker's spider has not yet said what it begins with."""
        self.has_ended = False
        """Nothing is left to do, on any worker."""
        self._flushed_at = 0.0
        self.exchange = Exchange(store, self, listener, clock)
        self._is_dirty = False
        """Whether something was done since the last checkpoint."""

    def _territory(self) -> Territory:
        return Territory(self._partitions, {number: one.counts for number, one in self.holdings.held.items()})

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        self._is_dirty = True
        return self.frontier.add(found, depth=depth, referrer=referrer)

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        if visit.key in self._loose.in_flight:
            return self.frontier.add(found, depth=visit.depth + 1)
        return 0 if visit.key in self._orphans else self.frontier.expand(visit, found, rest=rest)

    def add_request(
        self,
        found: Link,
        *,
        depth: int,
        priority: int,
        flags: int,
        request: bytes | None,
        referrer: bytes = NO_REFERRER,
        brings_credit: bool = False,
    ) -> bool:
        """True may mean that another worker filters it."""
        self._is_dirty = True
        if flags & Flag.VOLATILE:
            self._loose.add(found, depth=depth, flags=flags, referrer=referrer)
            return True
        return self.frontier.add_request(
            found,
            depth=depth,
            priority=priority,
            flags=flags,
            request=request,
            referrer=referrer,
            brings_credit=brings_credit,
        )

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """See `can`."""
        return False

    def receive(self, partition: int, bundle: bytes) -> None:
        """Let in a bundle of messages for a partition that this worker has."""
        held = self.holdings.held[partition]
        self.frontier.receive(unpack(bundle))
        held.received += 1
        held.read += 1
        self._is_dirty = True

    # Work

    @property
    def in_flight(self) -> Mapping[bytes, Visit]:
        return {**self.frontier.in_flight, **self._loose.in_flight} if self._loose else self.frontier.in_flight

    @property
    def urls(self) -> UrlTable:
        """Of what this worker has."""
        return self.frontier.urls

    @property
    def hosts(self) -> HostTable:
        return self.frontier.hosts

    @property
    def waiting(self) -> int:
        return max(0, self.counts.queued - len(self.in_flight))

    @property
    def held(self) -> int:
        return self.frontier.held

    @property
    def joined(self) -> int:
        return self.frontier.joined

    @property
    def silent(self) -> int:
        return self.frontier.silent

    @property
    def is_full(self) -> bool:
        return self.frontier.is_full

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, on any worker."""
        self.is_starting = False  # Scrapy asks when the spider has said all it begins with
        return self.has_ended and self.is_idle and not self._is_dirty

    def next_time(self) -> float | None:
        if self._is_dirty and not self.frontier.waiting:
            return _SOON
        return self.frontier.next_time()

    def pause(self) -> None:
        """What others could fetch meanwhile is theirs when this worker ends."""

    def is_out(self, visit: Visit) -> bool:
        return visit.key in self.frontier.in_flight and self.frontier.is_out(visit)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        if self.territory.has(region_of(host_name)):
            self.frontier.slow_down(host_name, crawl_delay)

    def next(self) -> Visit | None:
        if (loose := self._loose.next()) is not None:
            return loose
        if not self.is_working or self.is_behind:
            return None
        while (visit := self.frontier.next()) is not None:
            held = self.holdings.held[self.territory.partition(visit.key)]
            if not held.is_leaving and not held.is_lost:
                return visit
            self.frontier.put_back(visit, rest=_DRAIN)
        return None

    @property
    def is_behind(self) -> bool:
        """Whether Redis has yet to take so much that nothing more is to be fetched."""
        return sum(len(one.unsent) for one in self.holdings.held.values()) > UNSENT * max(len(self.holdings.held), 1)

    @property
    def wants_checkpoint(self) -> bool:
        """Whether partitions wait to come or to go, or others wait for what was done here."""
        held = self.holdings.held.values()
        if self.arrivals or any(one.is_lost or one.is_leaving for one in held):
            return True
        if self.frontier.in_flight or self.frontier.next_time() == 0.0:
            return False
        if self._clock() - self._flushed_at < _SOON:
            return False
        return self._is_dirty or (self.is_idle and any(one.tally != _tally(one, idle=True) for one in held))

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        if visit.key in self.frontier.in_flight:
            self.frontier.downloaded(visit, seconds, ip=ip, failed=failed, retry_after=retry_after)

    def judge_content(self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None) -> Verdict:
        if visit.key not in self.frontier.in_flight:
            return Verdict.NEW
        return self.frontier.judge_content(visit, sha1, title=title, text_hash=text_hash)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self._is_dirty = True
        if self._loose.done(visit):
            return
        if visit.key in self._orphans:
            self._orphans.discard(visit.key)
            self._listener.withdrawn([row] if row else [])
            return
        if row and visit.key in self.frontier.in_flight:
            self._rows[self.territory.partition(visit.key)].append(row)
        self.frontier.done(visit, state, status=status, good=good, row=row)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        self._is_dirty = True
        if volatile or visit.key in self._loose.in_flight:
            if visit.key in self.frontier.in_flight:
                self.frontier.done(visit, UrlState.FAILED)
            self._orphans.discard(visit.key)
            self._loose.retry(visit)
        elif visit.key in self._orphans:
            self._orphans.discard(visit.key)
        else:
            self.frontier.retry(visit, priority=priority, request=request, volatile=volatile)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        if self._loose.put_back(visit):
            return
        if visit.key in self._orphans:
            self._orphans.discard(visit.key)
        else:
            self.frontier.put_back(visit, rest=rest)

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`, and with them the entries that tell Redis of them."""
        self._is_dirty, self._flushed_at = False, self._clock()
        recorded = RecordingBatch(batch, self.territory)
        self.frontier.flush(recorded)
        sends, told = self._messages()
        ledger, graph = self.frontier.link_credit.ledger, self.frontier.link_credit.graph
        facts = facts_of(self.territory, ledger, self.frontier.counts.serial, graph.seeds.items())
        self.holdings.flush(batch, list(self._new_entries(facts, recorded, sends)), told)

    def _messages(self) -> tuple[dict[int, dict[int, bytes]], list[tuple[int, bytes]]]:
        """Bundles by the partition of the page and the one that they are for; and those that come from no page."""
        assert self.frontier.outbox is not None
        territory = self.territory
        sends: defaultdict[int, dict[int, bytes]] = defaultdict(dict)
        told: list[tuple[int, bytes]] = []
        for target, messages in self.frontier.outbox.take().items():
            by_source: defaultdict[int, list[Message]] = defaultdict(list)
            for message in messages:
                source = territory.partition(message.referrer) if message.referrer != NO_REFERRER else -1
                by_source[source if source in territory.held else -1].append(message)
            for source, some in by_source.items():
                if source < 0:
                    told.append((target, pack(some)))
                else:
                    sends[source][target] = pack(some)
        return sends, told

    def _new_entries(
        self, facts: dict[int, Facts], recorded: RecordingBatch, sends: dict[int, dict[int, bytes]]
    ) -> Iterator[Entry]:
        rows, self._rows = self._rows, defaultdict(list)
        idle = self.is_idle
        for partition, held in self.holdings.held.items():
            changed, held.facts = held.facts != facts[partition], facts[partition]
            if held.is_lost:
                self._listener.withdrawn(rows.pop(partition, []))
                continue
            tally = _tally(held, idle=idle)
            changes, out = recorded.changes.get(partition, {}), sends.get(partition, {})
            if not (changes or out or held.received or changed or tally != held.tally):
                continue
            held.tally = tally
            yield Entry(
                partition,
                held.number + 1,
                pack_entry(facts[partition], changes),
                tally,
                held.received,
                out,
                rows.get(partition, []),
            )

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to hand out of what this worker has, and nothing is in flight."""
        is_busy = self.is_starting or self._loose or self.frontier.in_flight
        return not is_busy and self.frontier.is_finished()

    def flushed(self) -> None:
        self.frontier.flushed()
        self._let_in_and_out()
        self.exchange.kick()

    def _let_in_and_out(self) -> None:
        """Partitions come and go. What comes to nothing is as if it had not been."""
        busy = {self.territory.partition(key) for key in self.frontier.in_flight}
        going, (coming, self.arrivals) = self.holdings.going(busy), (self.arrivals, [])
        if not going and not coming:
            return
        move = Move(self._database, self.territory, Ledger(policy_named("hosts")))
        for held in going:
            if held.is_lost:
                self.withdraw(held)
            move.drop(held.partition, held.facts)
            self.holdings.drop(held)
        for arrival in coming:
            held = arrival.held
            held.facts, held.counts, changed = move.take(arrival.rows, arrival.facts)
            move.note(*self.holdings.begin(held, changed))
        move.note(HELD, self.holdings.packed())
        move.commit()
        self._go_on([key for one in coming for family, key, _ in one.rows if family == "urls"])

    def withdraw(self, held: Held) -> None:
        """Another worker has a partition: what Redis had not taken of it does not count."""
        self._listener.withdrawn(list(self.holdings.rows(held)))

    def _go_on(self, come: Iterable[bytes]) -> None:
        """With another frontier over the database as it is now."""
        before = self.frontier
        self.territory = self._territory()
        self.frontier = self._make(self._database, self.territory, SeenBefore(before.seen, come, self._cache))
        self._orphans.update(visit.key for visit in succeed(before, self.frontier, self._clock()))

    def save(self) -> None:
        """The filter of the seen set is filled again by the next start."""

    # Life

    def start(self) -> None:
        self.exchange.start()

    async def close(self) -> None:
        """Send what was flushed, and let others have what this worker had."""
        await self.exchange.close()

    def stats(self) -> Mapping[str, int | float]:
        return {"cluster/partitions": len(self.territory.held)}


def _tally(held: Held, *, idle: bool) -> bytes:
    """What others want to know of a partition: how many URLs are in which state, and whether its worker has nothing
    left to do.
    """
    packed: bytes = msgpack.packb({"idle": idle, "states": held.counts.states})
    return packed
