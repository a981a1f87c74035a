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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgpack

from sitecrawl.cluster.entries import Entry, RecordingBatch, pack_entry
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import HELD
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import policy_named
from sitecrawl.frontier.contract import Capability, Listener
from sitecrawl.frontier.crawl_seen import SeenKeeper
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.moving import Facts, Move, Row, facts_of
from sitecrawl.frontier.record import NO_REFERRER, UrlState
from sitecrawl.frontier.succession import SeenBefore, succeed
from sitecrawl.frontier.territory import Message, Territory, pack, unpack
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link

UNSENT: Final = 50
"""Entries that Redis has not taken, over all partitions and checkpoints, with which a worker fetches on."""
_DRAIN: Final = 1.0
"""Seconds for which hosts of a partition that is to leave rest, again and again, until nothing of it is in flight."""


class WorkerListener(Listener, Protocol):
    """What a worker's frontier tells the crawl by itself, beside what any does."""

    def withdrawn(self, rows: list[int]) -> None:
        """Pages in these rows of the page index do not count: another worker has their partition now."""


class Arrival:
    """A partition that was lent, with all there is of it."""

    def __init__(self, held: Held, facts: Facts, rows: Sequence[Row]) -> None:
        self.held = held
        self.facts = facts
        self.rows = rows


class SharedFrontier:
    """See the module; what its calls mean is said in `frontier.contract`.

    `make` makes a frontier over the database, given a territory and who keeps its seen set; `seen` is that of the
    first one. `clock` gives monotonic seconds, as the frontier's.
    """

    can: Final = Capability.ALL

    def __init__(
        self,
        database: Database,
        holdings: Holdings,
        partitions: int,
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
        self._partitions = partitions
        self.frontier = make(database, self._territory(), seen)
        self.arrivals: list[Arrival] = []
        """What the next checkpoint lets in."""
        self.is_working = False
        """Whether Redis has confirmed what this worker had when it began."""
        self._rows: defaultdict[int, list[int]] = defaultdict(list)
        self._entries: list[Entry] = []
        self._orphans: set[bytes] = set()

    def _territory(self) -> Territory:
        return Territory(self._partitions, frozenset(self.holdings.held))

    @property
    def held(self) -> int:
        return self.frontier.held

    @property
    def territory(self) -> Territory:
        """What this worker has now."""
        return self._territory()

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        return self.frontier.add(found, depth=depth, referrer=referrer)

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        return 0 if visit.key in self._orphans else self.frontier.expand(visit, found, rest=rest)

    def receive(self, partition: int, bundle: bytes) -> None:
        """Let in a bundle of messages for a partition that this worker has."""
        held = self.holdings.held[partition]
        self.frontier.receive(unpack(bundle))
        held.received += 1
        held.read += 1

    # Work

    def next(self) -> Visit | None:
        if not self.is_working or self.is_behind:
            return None
        territory = self._territory()
        while (visit := self.frontier.next()) is not None:
            held = self.holdings.held[territory.partition(visit.key)]
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
        """Whether partitions wait to come or to go, or the others wait to hear that there is nothing left."""
        held = self.holdings.held.values()
        moves = bool(self.arrivals) or any(one.is_lost or one.is_leaving for one in held)
        return moves or (self.is_idle and any(one.received or one.tally != self._tally() for one in held))

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        if visit.key not in self._orphans:
            self.frontier.downloaded(visit, seconds, ip=ip, failed=failed, retry_after=retry_after)

    def judge_content(self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None) -> Verdict:
        if visit.key in self._orphans:
            return Verdict.NEW
        return self.frontier.judge_content(visit, sha1, title=title, text_hash=text_hash)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        if visit.key in self._orphans:
            self._orphans.discard(visit.key)
            self._listener.withdrawn([row] if row else [])
            return
        if row and visit.key in self.frontier.in_flight:
            self._rows[self._territory().partition(visit.key)].append(row)
        self.frontier.done(visit, state, status=status, good=good, row=row)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        if visit.key in self._orphans:
            self._orphans.discard(visit.key)
        else:
            self.frontier.retry(visit, priority=priority, request=request, volatile=volatile)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        if visit.key in self._orphans:
            self._orphans.discard(visit.key)
        else:
            self.frontier.put_back(visit, rest=rest)

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`, and with them the entries that tell Redis of them."""
        recorded = RecordingBatch(batch, self._territory())
        self.frontier.flush(recorded)
        sends, told = self._messages()
        ledger, graph = self.frontier.link_credit.ledger, self.frontier.link_credit.graph
        facts = facts_of(self._territory(), ledger, self.frontier.counts.serial, graph.seeds.items())
        self._entries = list(self._new_entries(facts, recorded, sends))
        self.holdings.flush(batch, self._entries, told)

    def _messages(self) -> tuple[dict[int, dict[int, bytes]], list[tuple[int, bytes]]]:
        """Bundles by the partition of the page and the one that they are for; and those that come from no page."""
        assert self.frontier.outbox is not None
        territory = self._territory()
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
        tally = self._tally()
        rows, self._rows = self._rows, defaultdict(list)
        for partition, held in self.holdings.held.items():
            changed, held.facts = held.facts != facts[partition], facts[partition]
            if held.is_lost:
                self._listener.withdrawn(rows.pop(partition, []))
                continue
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

    def _tally(self) -> bytes:
        """What others want to know: whether this worker has nothing left to do."""
        packed: bytes = msgpack.packb({"idle": self.is_idle})
        return packed

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to hand out of what this worker has, and nothing is in flight."""
        return not self.frontier.in_flight and self.frontier.is_finished()

    def flushed(self) -> None:
        self.frontier.flushed()
        self._entries = []
        self._let_in_and_out()

    def _let_in_and_out(self) -> None:
        """Partitions come and go. What comes to nothing is as if it had not been."""
        busy = {self._territory().partition(key) for key in self.frontier.in_flight}
        going = [
            one
            for one in self.holdings.held.values()
            if one.is_lost or (one.is_leaving and one.partition not in busy and not one.received)
        ]
        coming, self.arrivals = self.arrivals, []
        if not going and not coming:
            return
        move = Move(self._database, self._territory(), Ledger(policy_named("hosts")))
        for held in going:
            if held.is_lost:
                self.withdraw(held)
            move.drop(held.partition, held.facts.reserve)
            self.holdings.drop(held)
        for arrival in coming:
            held = arrival.held
            held.facts, changed = move.take(arrival.rows, arrival.facts)
            data = pack_entry(held.facts, {(family, key): value for family, key, value in changed})
            self.holdings.add(held)
            move.note(*self.holdings.journal(Entry(held.partition, held.number + 1, data)))
        move.note(HELD, self.holdings.packed())
        move.commit()
        self._go_on([key for one in coming for family, key, _ in one.rows if family == "urls"])

    def withdraw(self, held: Held) -> None:
        """Another worker has a partition: what Redis had not taken of it does not count."""
        self._listener.withdrawn(list(self.holdings.rows(held)))

    def _go_on(self, come: Iterable[bytes]) -> None:
        """With another frontier over the database as it is now."""
        before = self.frontier
        self.frontier = self._make(self._database, self._territory(), SeenBefore(before.seen, come, self._cache))
        self._orphans.update(visit.key for visit in succeed(before, self.frontier, self._clock()))
