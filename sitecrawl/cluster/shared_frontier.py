"""A worker's frontier: that of one process, over the partitions of the crawl that the worker has.

Everything is decided here, by `frontier.disk`, as in a crawl of one process. Redis lends partitions, keeps what
becomes of them, and carries what one tells another. So a checkpoint is three things: a batch of this worker's
database, an entry in each partition's log on Redis, and bundles of messages for other partitions
(`cluster.recorder`). The first happens at once; the others when Redis takes them (`cluster.exchange`), in order, and
only as long as the partition is this worker's. What another worker has taken over meanwhile is gone from here, with
the pages that Redis has not heard of. Right after a checkpoint partitions come and go (`cluster.partitions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sitecrawl.cluster.entries import Bundle, Entry
from sitecrawl.cluster.exchange import Exchange
from sitecrawl.cluster.leases import Renewal
from sitecrawl.cluster.loose import Loose
from sitecrawl.cluster.page_limit import REST, PageLimit
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.partitions import Partitions
from sitecrawl.cluster.recorder import Recorder
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.standing import Whole
from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.base import Peers
from sitecrawl.frontier.by_hand import Act
from sitecrawl.frontier.contract import Asked, Capability, Contents, Figures, Manners
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlState
from sitecrawl.frontier.urls.tables import HostTable, UrlTable
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link

_DRAIN: Final = 1.0
"""Seconds for which hosts of a partition that is to leave rest, again and again, until nothing of it is in flight."""
_SHORT: Final = 0.1
"""The same where its lease could not be renewed; and until a worker with nothing to hand out is asked again."""
_PATIENCE: Final = 3.0
"""Seconds for which a worker that can fetch nothing keeps what it has."""
_SOON: Final = 0.02
"""Seconds after which a worker that has nothing to do makes a checkpoint of what it has done."""


class SharedFrontier(Peers):
    """See the module; what its calls mean is said in `frontier.contract` and `frontier.base.Peers`.

    `run` has the crawl's limits; with `watch` nothing left to do is no end. `seeds_key` names a queue of further
    seeds on Redis.
    """

    can: Final = Capability.AGAIN

    def __init__(
        self,
        partitions: Partitions,
        store: PartitionStore,
        renewal: Renewal,
        *,
        run: Run,
        watch: bool = False,
        seeds_key: str = "",
    ) -> None:
        self.partitions: Final = partitions
        self.holdings: Final = partitions.holdings
        self.run: Final = run
        self._clock = partitions.clock
        self._watch = watch
        self.page_limit: Final = PageLimit(run, self.holdings.held, partitions.in_flight, partitions.clock)
        self._recorder = Recorder(partitions, self.page_limit, run)
        self._loose = Loose()
        self._whole = Figures()
        """Of all workers, as Redis has heard of them last."""
        self.is_working = False
        """Whether Redis has confirmed what this worker had when it began."""
        self.is_starting = True
        """The worker's spider has not yet said what it begins with."""
        self.has_ended = False
        """Nothing is left to do, on any worker."""
        self._is_dirty = False
        """Whether something was done since the last checkpoint."""
        self._flushed_at = 0.0
        self._paused_at: float | None = None
        """Since when it was asked for nothing."""
        self._short: list[int] = []
        """Partitions that the limit of pages kept from fetching when it was asked last."""
        self._has_nothing = False
        """Whether there was nothing to hand out when it was asked for last."""
        self._leases = renewal.leases
        self.exchange = Exchange(store, run, partitions, self, renewal, seeds_key=seeds_key)

    @property
    def frontier(self) -> DiskFrontier:
        """Frontier of one process over this worker's partitions; replaced whenever partitions come or go."""
        return self.partitions.frontier

    @property
    def are_there(self) -> bool:
        return True

    @property
    def session(self) -> str:
        return self.holdings.session

    @property
    def share(self) -> float:
        return self.partitions.share

    @property
    def is_first(self) -> bool:
        return self.run.is_first

    @property
    def is_last(self) -> bool:
        return self.exchange.is_last

    # Growth

    def add(
        self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER, asked: Asked | None = None
    ) -> int:
        """What is new may be filtered by another worker."""
        self._is_dirty = True
        if asked is not None and asked.flags & Flag.VOLATILE:
            for link in found:
                self._loose.add(link, depth=depth, flags=asked.flags, referrer=referrer)
            return len(found)
        if asked is not None and asked.flags & Flag.REQUISITE and referrer in self.partitions.orphans:
            return 0
        return self.frontier.add(found, depth=depth, referrer=referrer, asked=asked)

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        if visit.key in self._loose.in_flight:
            return self.frontier.add(found, depth=visit.depth + 1)
        return 0 if visit.key in self.partitions.orphans else self.frontier.expand(visit, found, rest=rest)

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        if not self.partitions.territory.has(key):
            return False
        self._is_dirty = True
        return self.frontier.again(key, priority=priority, request=request)

    def receive(self, partition: int, bundle: bytes) -> None:
        """Let in a bundle of messages for a partition that this worker has."""
        held, found = self.holdings.held[partition], Bundle.unpack(bundle)
        self.frontier.receive(found.messages)
        self.page_limit.receive(held, found)
        for act in found.acts:
            act.carry_out(self.frontier.by_hand)
        held.received.append(bundle)
        held.read += 1
        self._is_dirty = True

    # By hand

    def act(self, act: Act) -> None:
        """Have it done, once, by whoever has the partition of its host when it comes there; for no host, by all.

        Raises `OptionError` for what is known to be impossible.
        """
        if act.host:
            act.check(self.frontier.by_hand, is_here=self.has(act.host))
        self._recorder.act(act)
        self._is_dirty = True

    def has(self, host_name: str) -> bool:
        return self.partitions.has(host_name)

    def tell(self, text: str) -> None:
        """Redis keeps it as long as the crawl, and hears it before what is stored from now on."""
        self.exchange.scope.add(text)

    def end(self, reason: str) -> None:
        self.exchange.end(reason)

    # Work

    @property
    def in_flight(self) -> Mapping[bytes, Visit]:
        return {**self.frontier.in_flight, **self._loose.in_flight} if self._loose else self.frontier.in_flight

    @property
    def urls(self) -> UrlTable:
        """URL table of this worker's partitions."""
        return self.frontier.urls

    @property
    def hosts(self) -> HostTable:
        return self.frontier.hosts

    @property
    def manners(self) -> Manners:
        return self.frontier.manners

    @property
    def contents(self) -> Contents:
        return self.frontier.contents

    @property
    def figures(self) -> Figures:
        """Those of the crawl; what is in flight is this worker's."""
        return replace(self._whole, in_flight=len(self.in_flight), is_full=self.is_full)

    @property
    def is_full(self) -> bool:
        """Whether as many URLs have been fetched as are wanted, on all workers."""
        return 0 < self.run.max_pages <= self._whole.fetched

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, on any worker."""
        self.is_starting = False  # Scrapy asks when the spider has said all it begins with
        if self.is_full and not self.frontier.has_requisites:
            return not self.in_flight
        return self.has_ended and self.is_idle and not self._is_dirty

    def next_time(self) -> float | None:
        if self._is_dirty and self.has_nothing_to_do:
            return _SOON
        at = self.frontier.next_time()
        return _SHORT if at == 0.0 and self._has_nothing else at  # what waits for others is not asked for at once

    def pause(self) -> None:
        """Pause: after a while this worker's partitions go to others, until it is asked again."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    @property
    def is_resting(self) -> bool:
        """Whether this machine can fetch nothing for some time."""
        return self._paused_at is not None and self._clock() - self._paused_at >= _PATIENCE

    def next(self) -> Visit | None:
        self._paused_at = None
        visit = self._next()
        self._has_nothing = visit is None
        return visit

    def _next(self) -> Visit | None:
        if self.is_full and not self.frontier.has_requisites:
            return None
        if (loose := self._loose.next()) is not None:
            return loose
        if not self.is_working or self.exchange.is_behind or self._leases.are_all_unsure:
            return None
        has_asked_all, now = True, self._clock()
        while (visit := self.frontier.next(now)) is not None:  # no host twice, however long this takes
            held = self.partitions.of(visit.key)
            if held.is_leaving or held.is_lost:
                self.frontier.put_back(visit, rest=_DRAIN)
            elif not self._leases.is_sure(held.partition):
                has_asked_all = False
                self.frontier.put_back(visit, rest=_SHORT)
            elif not visit.is_requisite and not self.page_limit.admits(held):
                self.frontier.put_back(visit, rest=REST)
            else:
                held.asked_at = now
                return visit
        if has_asked_all:
            self.page_limit.asked(now)
        if (short := self.page_limit.short) != self._short:
            self._short = short
            self.exchange.kick()  # once: where Redis is away the next round tells it
        return None

    @property
    def wants_checkpoint(self) -> bool:
        """Whether partitions wait to come or to go, or others wait for what was done here."""
        held = self.holdings.held.values()
        if self.partitions.wants_change:
            return True
        if self._clock() - self._flushed_at < _SOON:
            return False
        if self.page_limit.has_gifts or not all(one.is_told for one in held):
            return True
        if not self.has_nothing_to_do:
            return False
        worker = self.partitions.standing(idle=self.is_idle)
        return self._is_dirty or any(one.tally != one.tally_of(worker) for one in held)

    @property
    def has_nothing_to_do(self) -> bool:
        """Whether nothing is in flight, and nothing may be handed out for now."""
        return self._has_nothing and not self.in_flight

    def turn(self) -> None:
        """Another limit of pages holds."""
        self.page_limit.turn()
        self.partitions.listener.woken()

    def stands(self, whole: Whole, *, unchanged: bool) -> None:
        """Take the state of the whole crawl; `unchanged` since the last call."""
        self._whole = whole.figures()
        self.frontier.dispatcher.page_limit.others_want_more = not self.is_full
        self.partitions.hear(whole)
        self.page_limit.hear(whole)
        is_sure = unchanged and not self._is_dirty and not self.partitions.arrivals
        is_between_levels = is_sure and self.has_nothing_to_do and whole.is_still
        if is_between_levels and whole.level is not None and whole.level > self.partitions.level:
            self.partitions.begin_level(whole.level)
            self.partitions.listener.woken()
        self.has_ended = is_sure and self.is_through and whole.is_idle
        if self.has_ended or self.is_full:
            self.partitions.listener.woken()

    # Completion

    def downloaded(
        self,
        visit: Visit,
        seconds: float,
        *,
        ip: str | None = None,
        failed: bool | None = False,
        retry_after: float = 0.0,
    ) -> None:
        if visit.key in self.frontier.in_flight:
            self.frontier.downloaded(visit, seconds, ip=ip, failed=failed, retry_after=retry_after)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self._is_dirty = True
        if self._loose.done(visit):
            return
        if self.partitions.forget_orphan(visit.key):
            self.partitions.listener.withdrawn([row] if row else [])
            return
        if row and visit.key in self.frontier.in_flight:
            self._recorder.stored(visit.key, row)
        self.frontier.done(visit, state, status=status, good=good, row=row)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        self._is_dirty = True
        if volatile or visit.key in self._loose.in_flight:
            if visit.key in self.frontier.in_flight:
                self.frontier.done(visit, UrlState.FAILED)
            self.partitions.forget_orphan(visit.key)
            self._loose.retry(visit)
        elif not self.partitions.forget_orphan(visit.key):
            self.frontier.retry(visit, priority=priority, request=request, volatile=volatile)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        if not (self._loose.put_back(visit) or self.partitions.forget_orphan(visit.key)):
            self.frontier.put_back(visit, rest=rest)

    # Durability

    def recording(self, batch: Batch) -> Batch:
        """Batch that also records rows about sites for Redis."""
        return self._recorder.recording(batch)

    def prepare(self, batch: Batch) -> None:
        """Hand all changes to `batch`, and with them the entries that tell Redis of them."""
        self._is_dirty, self._flushed_at = False, self._clock()
        recorded = self._recorder.under_way(batch)
        self.frontier.prepare(recorded)
        worker = self.partitions.standing(idle=self.is_idle)
        self._recorder.record(recorded, worker, is_at_rest=self.has_nothing_to_do)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to hand out of what this worker has, and nothing is in flight."""
        is_busy = self.is_starting or self._loose or self.frontier.in_flight or self.exchange.awaits_seeds
        return not is_busy and self.frontier.is_finished()

    @property
    def is_through(self) -> bool:
        """Whether nobody would have any use for this worker's partitions: the crawl may end while nobody has them."""
        return self.is_idle and not self._watch

    def committed(self) -> None:
        self.frontier.committed()
        if self.is_through:
            self.holdings.stay()
        for held in self.holdings.held.values():
            if held.is_lost:
                self.give_up(self.holdings.give_up(held))
        self.partitions.change()
        if self.holdings.flushed():
            self.exchange.kick()

    def give_up(self, entries: Iterable[Entry]) -> None:
        """Another worker has a partition: what Redis had not taken of it does not count."""
        if self._recorder.give_up(entries):
            self._is_dirty = True

    # Life

    def start(self) -> None:
        self.give_up(self.holdings.orphans)
        self.holdings.forget_orphans()
        self.exchange.start()

    async def close(self) -> None:
        """Send what was flushed, and let others have what this worker had."""
        await self.exchange.close()

    def stats(self) -> Mapping[str, int | float]:
        return {"cluster/commands": self.exchange.commands}
