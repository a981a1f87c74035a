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

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.bundles import Bundle
from sitecrawl.cluster.entries import Entry, RecordingBatch, pack_entry
from sitecrawl.cluster.exchange import Arrival, Exchange
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.loose import Loose
from sitecrawl.cluster.page_limit import PageLimit
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.rescue import rescued
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.standing import OfWorker, Tally, Totals, Whole
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import HELD
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import policy_named
from sitecrawl.frontier.by_hand import Act
from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.crawl_seen import SeenKeeper
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.left import held_back
from sitecrawl.frontier.moving import Facts, Move, facts_of
from sitecrawl.frontier.record import NO_REFERRER, Flag, UrlState
from sitecrawl.frontier.succession import SeenBefore, succeed
from sitecrawl.frontier.tables import HostTable, UrlTable
from sitecrawl.frontier.territory import Message, Territory
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import region_of

logger = logging.getLogger(__name__)

UNSENT: Final = 50
"""Entries that Redis has not taken, over all partitions and checkpoints, with which a worker fetches on."""
_DRAIN: Final = 1.0
"""Seconds for which hosts of a partition that is to leave rest, again and again, until nothing of it is in flight."""
_SHORT: Final = 0.1
"""The same where the limit of pages leaves a partition nothing for now."""
_PATIENCE: Final = 3.0
"""Seconds for which a worker that can fetch nothing keeps what it has."""
_SOON: Final = 0.02
"""Seconds after which a worker that has nothing to do makes a checkpoint of what it has done."""


class SharedFrontier:
    """See the module; what its calls mean is said in `frontier.contract`.

    `make` makes a frontier over the database, given a territory and who keeps its seen set; `seen` is that of the
    first one. `run` has the crawl's limits; with `watch` nothing left to do is no end. `seeds_key` names a queue of
    further seeds on Redis. `clock` gives monotonic seconds, as the frontier's.
    """

    can: Final = Capability.AGAIN

    def __init__(
        self,
        database: Database,
        holdings: Holdings,
        store: PartitionStore,
        *,
        run: Run,
        make: Callable[[Database, Territory, SeenKeeper], DiskFrontier],
        seen: SeenKeeper,
        listener: WorkerListener,
        clock: Callable[[], float],
        cache: int,
        watch: bool = False,
        seeds_key: str = "",
    ) -> None:
        self._database = database
        self._make = make
        self._listener = listener
        self._clock = clock
        self._cache = cache
        self._run = run
        self._watch = watch
        self.holdings = holdings
        self._partitions = store.keys.shards
        self._page_limit = PageLimit(run, holdings.held, self._in_flight, clock)
        for held in holdings.held.values():
            self._page_limit.turn(held)
        self.territory = self._territory()
        """What this worker has now."""
        self.frontier = make(database, self.territory, seen)
        self._level = 0
        """To which all workers have come; of no account without a depth limit."""
        self._begin_level()
        self.arrivals: list[Arrival] = []
        """What the next checkpoint lets in."""
        self.is_working = False
        """Whether Redis has confirmed what this worker had when it began."""
        self._rows: defaultdict[int, list[int]] = defaultdict(list)
        self._orphans: set[bytes] = set()
        """URLs in flight whose partition is another worker's by now."""
        self._loose = Loose()
        self._rescued: list[Message] = []
        """For partitions of others, to be told with the next checkpoint."""
        self._acts: defaultdict[int, list[Act]] = defaultdict(list)
        """What the next checkpoint lets be done in each partition."""
        self.counts = Totals()
        self.is_starting = True
        """The worker's spider has not yet said what it begins with."""
        self.has_ended = False
        """Nothing is left to do, on any worker."""
        self._flushed_at = 0.0
        self._recorded: RecordingBatch | None = None
        """Into which the checkpoint is written that is made just now."""
        self._flushes = 0
        self._unheard: set[tuple[int, int]] = set()
        """What Redis did not know at the last one."""
        self._paused_at: float | None = None
        """Since when it was asked for nothing."""
        self._has_nothing = False
        """Whether there was nothing to hand out when it was asked for last."""
        self.exchange = Exchange(store, run, self, listener, clock, seeds_key=seeds_key)
        self._is_dirty = False
        """Whether something was done since the last checkpoint."""

    def _begin_level(self) -> None:
        if self.frontier.keeps_levels:
            self.frontier.counts.deepest = self._level

    def _in_flight(self, partition: int) -> int:
        return sum(self.territory.partition(key) == partition for key in self.frontier.in_flight)

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
        if not self.territory.has(key):
            return False
        self._is_dirty = True
        return self.frontier.again(key, priority=priority, request=request)

    def receive(self, partition: int, bundle: bytes) -> None:
        """Let in a bundle of messages for a partition that this worker has."""
        held, found = self.holdings.held[partition], Bundle.unpack(bundle)
        self.frontier.receive(found.messages)
        self._page_limit.receive(held, found)
        for act in found.acts:
            self._do(act)
        held.received += 1
        held.read += 1
        self._is_dirty = True

    # By hand

    def act(self, act: Act) -> None:
        """Have it done, once, by whoever has the partition of its host when it comes there; for no host, by all.

        Raises `OptionError` for what is known to be impossible.
        """
        if act.host:
            act.check(self.frontier, is_here=self.has(act.host))
        where = [self.territory.partition(region_of(act.host))] if act.host else range(self._partitions)
        for partition in where:
            self._acts[partition].append(act)
        self._is_dirty = True

    def retry_given_up(self) -> int:
        """Ask the hosts again that were given up, of those that this worker has: as `DiskFrontier.retry_given_up`."""
        self._is_dirty = True
        return self.frontier.retry_given_up()

    def has(self, host_name: str) -> bool:
        """Whether a host is this worker's."""
        return self.territory.has(region_of(host_name))

    def _do(self, act: Act) -> None:
        try:
            if done := act.do(self.frontier):
                logger.info("By hand: %s", done)
        except OptionError as error:
            logger.warning("%s cannot be done, as was wanted by hand: %s", act.name.capitalize(), error)

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
        return self.counts.held.urls.total()

    @property
    def joined(self) -> int:
        return self.counts.joined

    @property
    def silent(self) -> int:
        return self.counts.silent

    @property
    def share(self) -> float:
        """Of all sites, what this worker has."""
        return len(self.territory.held) / self._partitions

    @property
    def is_full(self) -> bool:
        return 0 < self._run.max_pages <= self.counts.fetched

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, on any worker."""
        self.is_starting = False  # Scrapy asks when the spider has said all it begins with
        if self.is_full:
            return not self.in_flight
        return self.has_ended and self.is_idle and not self._is_dirty

    def next_time(self) -> float | None:
        if self._is_dirty and self.has_nothing_to_do:
            return _SOON
        at = self.frontier.next_time()
        return _SHORT if at == 0.0 and self._has_nothing else at  # what waits for others is not asked for at once

    def pause(self) -> None:
        """What this worker has goes to others if it takes long, until it is asked for something again."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    @property
    def is_resting(self) -> bool:
        """Whether this machine can fetch nothing for some time."""
        return self._paused_at is not None and self._clock() - self._paused_at >= _PATIENCE

    def is_out(self, visit: Visit) -> bool:
        return visit.key in self.frontier.in_flight and self.frontier.is_out(visit)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        if self.has(host_name):
            self.frontier.slow_down(host_name, crawl_delay)

    def next(self) -> Visit | None:
        self._paused_at = None
        visit = self._next()
        self._has_nothing = visit is None
        return visit

    def _next(self) -> Visit | None:
        if self.is_full:
            return None
        if (loose := self._loose.next()) is not None:
            return loose
        if not self.is_working or self.is_behind:
            return None
        while (visit := self.frontier.next()) is not None:
            held = self.holdings.held[self.territory.partition(visit.key)]
            if held.is_leaving or held.is_lost:
                self.frontier.put_back(visit, rest=_DRAIN)
            elif not self._page_limit.admits(held):
                self.frontier.put_back(visit, rest=_SHORT)
            else:
                held.asked_at = self._clock()
                return visit
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
        if self._clock() - self._flushed_at < _SOON:
            return False
        if self._page_limit.has_gifts or any(one.short != one.tally.short for one in held):
            return True
        if not self.has_nothing_to_do:
            return False
        return self._is_dirty or bool(self._stale_tallies())

    @property
    def has_nothing_to_do(self) -> bool:
        """Whether nothing is in flight, and nothing may be handed out for now."""
        return self._has_nothing and not self.in_flight

    def _stale_tallies(self) -> list[Held]:
        """Partitions of which the others know something else than what is so."""
        worker = self._worker()
        return [one for one in self.holdings.held.values() if one.tally != _tally(one, worker)]

    def _worker(self) -> OfWorker:
        """How it stands with this worker."""
        frontier, found = self.frontier, held_back(self.frontier)
        held = {int(reason): (urls, found.sets[reason]) for reason, urls in found.urls.items()}
        silent = frontier.silent, len(frontier.silent_hosts)
        return OfWorker(self.holdings.session, self.is_idle, self._lowest(), held, frontier.joined, *silent)

    def _lowest(self) -> int | None:
        """The lowest level of which something is not done; None where none waits for another."""
        if not self.frontier.keeps_levels:
            return None
        return min((level for level, urls in self.frontier.counts.levels.items() if urls), default=None)

    def stands(self, whole: Whole, *, unchanged: bool) -> None:
        """So it stands with the crawl; `unchanged` since this was asked before."""
        self.counts = whole.totals()
        self._page_limit.share(whole)
        is_sure = unchanged and not self._is_dirty and not self.arrivals
        level = whole.level
        if is_sure and self.has_nothing_to_do and whole.is_still and level is not None and level > self._level:
            self._level = level
            self._begin_level()
            self._listener.woken()
        self.has_ended = is_sure and self.is_idle and whole.is_idle and not self._watch
        if self.has_ended or self.is_full:
            self._listener.woken()

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

    def recording(self, batch: Batch) -> Batch:
        """What is about a site goes to Redis, whoever writes it."""
        self._recorded = RecordingBatch(batch, self.territory)
        return self._recorded

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`, and with them the entries that tell Redis of them."""
        self._is_dirty, self._flushed_at = False, self._clock()
        recorded = self._recorded if batch is self._recorded else RecordingBatch(batch, self.territory)
        self._recorded = None
        self.frontier.flush(recorded)
        sends, told = self._bundles()
        facts = facts_of(self.territory, self.frontier.link_credit.ledger, self.frontier.counts.serial)
        self.holdings.flush(batch, list(self._new_entries(facts, recorded, sends)), told)

    def _bundles(self) -> tuple[dict[int, dict[int, bytes]], list[tuple[int, bytes]]]:
        """By the partition of the page and the one that they are for; and those that come from no page."""
        assert self.frontier.outbox is not None
        sends: defaultdict[int, defaultdict[int, list[Message]]] = defaultdict(lambda: defaultdict(list))
        told: list[tuple[int, bytes]] = []
        for target, messages in self.frontier.outbox.take().items():
            rootless: list[Message] = []
            for message in messages:
                source = self._source(message)
                (rootless if source is None else sends[source][target]).append(message)
            if rootless:
                told.append((target, Bundle(rootless).pack()))
        told += ((self.territory.partition(one.link.key), Bundle([one]).pack()) for one in self._rescued)
        self._rescued = []
        told += [(target, Bundle(acts=acts).pack()) for target, acts in self._acts.items()]
        self._acts.clear()
        return {one: dict(self._packed(one, sends[one])) for one in self.holdings.held}, told

    def _source(self, message: Message) -> int | None:
        """The partition of the page that it comes from, if this worker has it."""
        if message.referrer == NO_REFERRER or not self.territory.has(message.referrer):
            return None
        return self.territory.partition(message.referrer)

    def _packed(self, source: int, messages: Mapping[int, Sequence[Message]]) -> Iterator[tuple[int, bytes]]:
        gifts = self._page_limit.gifts(source)
        for target in {**messages, **gifts}:
            yield target, Bundle(messages.get(target, ()), self._run.account, gifts.get(target, 0)).pack()

    def _new_entries(
        self, facts: dict[int, Facts], recorded: RecordingBatch, sends: dict[int, dict[int, bytes]]
    ) -> Iterator[Entry]:
        rows, self._rows = self._rows, defaultdict(list)
        worker = self._worker()
        for partition, held in self.holdings.held.items():
            changed, held.facts = _differ(held, facts[partition]), facts[partition]
            if held.is_lost:
                self._listener.withdrawn(rows.pop(partition, []))
                continue
            told, tally = held.tally, _tally(held, worker)
            changes, out = recorded.changes.get(partition, {}), sends[partition]
            if not (changes or out or held.received or changed or self._is_news(told, tally)):
                continue
            held.tally = tally
            yield Entry(
                partition,
                held.number + 1,
                pack_entry(facts[partition], changes),
                tally.pack(),
                held.received,
                out,
                rows.get(partition, []),
            )

    def _is_news(self, told: Tally, tally: Tally) -> bool:
        """Whether others have to know of it, though nothing else has changed."""
        is_other = (told.worker.idle, told.short) != (tally.worker.idle, tally.short)
        return is_other or (tally != told and self.has_nothing_to_do)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to hand out of what this worker has, and nothing is in flight."""
        is_busy = self.is_starting or self._loose or self.frontier.in_flight or self.exchange.awaits_seeds
        return not is_busy and self.frontier.is_finished()

    def flushed(self) -> None:
        self.frontier.flushed()
        self._let_in_and_out()
        self._flushes += 1
        self._unheard = self.holdings.unheard()
        if self._unheard:
            self.exchange.kick()

    def _let_in_and_out(self) -> None:
        """Partitions come and go. What comes to nothing is as if it had not been."""
        if self.is_idle:  # nobody would have any use for them, and the crawl may end while nobody has them
            for held in self.holdings.held.values():
                held.is_leaving = False
        busy = {self.territory.partition(key) for key in self.frontier.in_flight}
        going, (coming, self.arrivals) = self.holdings.going(busy), (self.arrivals, [])
        if not going and not coming:
            return
        move = Move(self._database, self.territory, Ledger(policy_named("hosts")))
        for held in going:
            if held.is_lost:
                self.withdraw(held)
            held.rests_until = self.rests_until(held)
            move.drop(held.partition, held.facts)
            self.holdings.drop(held)
        for arrival in coming:
            held = arrival.held
            held.facts, held.counts, changed = move.take(arrival.rows, arrival.facts)
            self._page_limit.turn(held)
            busy_here = OfWorker(self.holdings.session, level=0 if self.frontier.keeps_levels else None)
            held.tally = _tally(held, busy_here)
            move.note(*self.holdings.begin(held, changed))
        move.note(HELD, self.holdings.packed())
        move.commit()
        self._go_on([key for one in coming for family, key, _ in one.rows if family == "urls"])

    def rests_until(self, held: Held) -> float:
        """When the last host of a partition may be asked again."""
        hosts = self.frontier.hosts.live()
        return max((one.free_at for one in hosts if self.territory.partition(one.key) == held.partition), default=0.0)

    def withdraw(self, held: Held) -> None:
        """Another worker has a partition: what Redis had not taken of it does not count."""
        self._give_up(held.unsent)

    def _give_up(self, entries: Iterable[Entry]) -> None:
        """Redis will never take them: their pages do not count, and what was found is told to others."""
        if not (entries := list(entries)):
            return
        self._listener.withdrawn([row for entry in entries for row in entry.rows])
        self._rescued += rescued(entries, self.territory)
        self._is_dirty = True

    def _go_on(self, come: Iterable[bytes]) -> None:
        """With another frontier over the database as it is now."""
        before = self.frontier
        self.territory = self._territory()
        self.frontier = self._make(self._database, self.territory, SeenBefore(before.seen, come, self._cache))
        self._begin_level()
        self._listener.moved()
        self._orphans.update(visit.key for visit in succeed(before, self.frontier, self._clock()))

    def save(self) -> None:
        """The filter of the seen set is filled again by the next start."""

    # Life

    def start(self) -> None:
        self._give_up(self.holdings.orphans)
        self.holdings.forget_orphans()
        self.exchange.start()

    async def close(self) -> None:
        """Send what was flushed, and let others have what this worker had."""
        await self.exchange.close()

    def stats(self) -> Mapping[str, int | float]:
        return {"cluster/commands": self.exchange.commands}

    # What all workers do together

    def count(self, name: str) -> None:
        """One more of what the run's limit of that name counts."""
        self.exchange.count(name)

    def end(self, reason: str) -> None:
        """Let all workers end, for Scrapy's finish reason `reason`."""
        self.exchange.end(reason)

    def widen(self, url: str) -> None:
        """Let the other workers know that this is a seed, too."""
        self.exchange.scope.add(url)

    def settling(self) -> Callable[[], bool]:
        """What says whether Redis has all that was handed to the frontier up to now."""
        flushes = self._flushes + 1
        waits_for: set[tuple[int, int]] | None = None

        def has_settled() -> bool:
            nonlocal waits_for
            if self._flushes < flushes:
                return False
            waits_for = self._unheard if waits_for is None else waits_for
            return waits_for.isdisjoint(self.holdings.unheard())

        return has_settled


def _differ(held: Held, facts: Facts) -> bool:
    """Whether what is new in the facts of a partition matters to it: without hosts that wait, no dividend does."""
    if held.counts.states[UrlState.QUEUED]:
        return held.facts != facts
    return held.facts._replace(dividend=facts.dividend, serial=facts.serial) != facts


def _tally(held: Held, worker: OfWorker) -> Tally:
    return Tally(worker, tuple(held.counts.states), held.counts.allowance.account, held.short)
