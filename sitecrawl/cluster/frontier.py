"""A worker's frontier: the contract of `sitecrawl.frontier.contract`, answered from what was lent ahead.

Nothing here waits for Redis. `next` hands out what the pump has leased; what becomes of it gathers as outcomes;
`flush` writes these into the checkpoint's batch, as parcels of the journal, and `flushed` lets the pump send them.
So a page is in this worker's page store, durably, before Redis counts it as done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.board import Board
from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.join import Joined, begin
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.known import RecentPages, Totals
from sitecrawl.cluster.leased_hosts import Lease, LeasedHosts, LeasedVisit
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.options import BRINGS
from sitecrawl.cluster.parcel import Outcome, Packer, Parcel, Parceler, ParcelLink
from sitecrawl.cluster.pump import Pump
from sitecrawl.cluster.seedqueue import SeedQueue
from sitecrawl.cluster.shards import Keys, Shards
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.duplicates import ContentIndex, Verdict
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.record import NO_REFERRER, Flag, UrlState
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.seen.clock import Clock

_SOON: Final = 0.1
"""Seconds between two checkpoints, at the least, when the worker has nothing to do before one."""


class ClusterFrontier:
    """See the module; what its calls mean is said in `contract.Frontier`. `clock` gives monotonic seconds."""

    can: Final = Capability.NONE
    """Redis has the records; whatever a request needs at its answer travels in its `meta`."""

    def __init__(
        self,
        database: Database,
        joined: Joined,
        *,
        host_key: Callable[[str], bytes],
        listener: WorkerListener,
        clock: Callable[[], float],
        politeness: PolitenessOptions,
    ) -> None:
        options = joined.options
        self._options = options
        self._listener = listener
        self._clock = clock
        self._host_key = host_key
        self._max_depth = options.max_depth
        self.keys = Keys(options.crawl, options.shards)
        self.known = Clock(options.cache)
        self._journal = Journal(database)
        self.hosts = LeasedHosts(politeness)
        client = connect_async(options.redis, cluster=joined.is_cluster, replicas=options.replicas)
        shards = Shards(client, self.keys, cluster=joined.is_cluster)
        self.pump = Pump(
            shards,
            options,
            leased_hosts=self.hosts,
            journal=self._journal,
            packer=Packer(self.keys.shard_of, self.known),
            listener=listener,
            connect=lambda: connect_async(options.redis, cluster=False, patient=True),
            is_busy=self.is_busy,
            died=self.died,
            account=begin(joined, self._journal.session),
            revival=politeness.revival,
        )
        line = connect_async(options.redis, cluster=joined.is_cluster)
        self.board = Board(Shards(line, self.keys, cluster=joined.is_cluster), self._journal.session)
        self._content = ContentIndex(database)
        self.urls = RecentPages()
        self.in_flight: dict[bytes, LeasedVisit] = {}
        self._volatile: deque[LeasedVisit] = deque()
        self._dead: deque[LeasedVisit] = deque()
        self._done: list[Outcome] = []
        self._loose: list[ParcelLink] = []
        """Links that come from no page: seeds, and requests that a spider begins with."""
        self._ready: list[Parcel] = self._journal.load()
        self._parceler = Parceler(self.pump.stream, self.keys.shard_of)
        self._flushed_at = 0.0
        self.pump.send(self._ready)
        self._ready = []

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        """Queue seeds, or URLs at `depth`. Returns their number: which are new, only Redis knows."""
        if 0 < self._max_depth < depth:
            return 0
        flags = Flag.SEED | BRINGS if depth == 0 else 0
        self._loose += [
            ParcelLink(
                f.key, f.url, f.host, depth, 0, b"" if referrer == NO_REFERRER else referrer, flags, score=f.score
            )
            for f in found
        ]
        return len(found)

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        """The page of `visit` links to `found`. Returns 0: which are new is counted when Redis has said so.

        `rest` is of no account: credit is shared out when the visit is done, and all links have come.
        """
        depth = visit.depth + 1
        outcome = self._outcome_of(visit)
        if outcome is None or 0 < self._max_depth < depth:
            return 0
        self.urls.add(visit.key, visit.url)
        seen = {visit.key}
        for link in found:
            if link.key not in seen:
                seen.add(link.key)
                outcome.links.append(
                    ParcelLink(link.key, link.url, link.host, depth, link.weight, visit.key, score=link.score)
                )
        return 0

    def _outcome_of(self, visit: Visit) -> Outcome | None:
        known = self.in_flight.get(visit.key)
        return known.outcome if known is not None else None

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
        """Queue one request that a spider asked for, with the page that it comes from. True: Redis filters it."""
        if flags & Flag.VOLATILE:
            self._volatile.append(self._volatile_visit(found, depth, flags))
            return True
        if request is not None:
            flags |= Flag.REQUEST
        if brings_credit or (depth == 0 and referrer == NO_REFERRER):
            flags |= BRINGS
        link = ParcelLink(
            found.key,
            found.url,
            found.host,
            depth,
            0,
            b"" if referrer == NO_REFERRER else referrer,
            flags,
            priority,
            request or b"",
            found.score,
        )
        page = self.in_flight.get(referrer)
        if page is not None:
            page.outcome.links.append(link)
        else:
            self._loose.append(link)
        return True

    def _volatile_visit(self, found: Link, depth: int, flags: int) -> LeasedVisit:
        """A request that cannot be stored is this worker's alone: no lease stands behind it."""
        lease = Lease(-1, 0, Host(self._host_key(found.host), found.host))
        visit = LeasedVisit(lease, [found.key, found.url.encode(), depth, b"", 0, flags, 0, b""])
        visit.host = None
        return visit

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """Nothing is asked for again on a cluster: what is known stays known."""
        return False

    # Work

    def next(self) -> LeasedVisit | None:
        self.pump.resting = False
        visit = self._next()
        if visit is None:
            self.pump.kick() if self.hosts.waiting == 0 and not self.pump.ended else None
            return None
        self.in_flight[visit.key] = visit
        return visit

    def _next(self) -> LeasedVisit | None:
        if self.pump.closing or self.is_full:
            return None
        if self._dead:
            return self._dead.popleft()
        if self._volatile:
            visit = self._volatile.popleft()
            visit.volatile = True
            return visit
        return self.hosts.next(self._clock())

    @property
    def is_full(self) -> bool:
        limit = self._options.limits.max_pages
        return 0 < limit <= self.pump.shard_calls.total("fetched")

    def died(self, lease: Lease) -> None:
        """A dead host's URLs: those that someone waits for are handed out, to fail at once; the others fail now."""
        for visit in self.hosts.give_up(lease):
            if visit.stored_flags & Flag.AWAITED:
                visit.dead, visit.host = True, None
                self._dead.append(visit)
            else:
                visit.outcome.state = UrlState.FAILED
                self._done.append(visit.outcome)
                self._listener.given_up(visit.key)

    def is_out(self, visit: Visit) -> bool:
        known = self.in_flight.get(visit.key)
        return known is not None and known.lease.host.is_out

    @property
    def held(self) -> int:
        return 0

    @property
    def joined(self) -> int:
        return 0

    @property
    def counts(self) -> Totals:
        total = self.pump.shard_calls.total
        queued = total("waiting") + total("leased")
        return Totals(total("known"), queued, total("fetched"), total("failed"), total("excluded"), total("demoted"))

    @property
    def silent(self) -> int:
        return self.pump.shard_calls.total("silent")

    @property
    def waiting(self) -> int:
        return self.pump.shard_calls.total("waiting")

    @property
    def ahead(self) -> int:
        """URLs that this worker was lent, and has not yet handed out."""
        return self.hosts.waiting

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, on any worker."""
        self.pump.starting = False  # Scrapy asks when the spider has said all it begins with
        if not (self.pump.ended and not self.is_busy()):
            self.pump.kick()
            return False
        return True

    def is_busy(self) -> bool:
        return bool(self.in_flight or self._done or self._loose or self._volatile or self._dead)

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the worker has nothing to do before what it has done is acknowledged."""
        starves = bool(self._done or self._loose) and self.hosts.waiting == 0
        return starves and self._clock() - self._flushed_at >= _SOON

    def next_time(self) -> float | None:
        if (self._done or self._loose) and self.hosts.waiting == 0:
            return _SOON
        at = self.hosts.next_time()
        return None if at is None else max(0.0, at - self._clock())

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        host = visit.host
        if host is None or not isinstance(visit, LeasedVisit):
            return
        now = self._clock()
        if failed:
            host.fail(visit.key, now, self.hosts.politeness)
        else:
            host.failures = 0
        host.free_at = max(host.free_at, now + retry_after)
        host.ip = ip or host.ip
        self.hosts.free(visit, now, seconds)
        if self.hosts.is_dead(visit.lease):
            self.died(visit.lease)
        if self.hosts.given_back:
            self.pump.kick()

    def judge_content(self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None) -> Verdict:
        known = self.in_flight.get(visit.key)
        host = self._host_key(known.lease.host.name) if known is not None else bytes(8)
        return self._content.add(host, sha1, visit.key, title=title, text_hash=text_hash).verdict

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        self.hosts.host_named(host_name).crawl_delay = crawl_delay

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        """The URL has been dealt with; Redis hears of it after the next checkpoint."""
        known = self._end(visit)
        if known is None:
            return
        outcome = known.outcome
        outcome.state, outcome.status = int(state), min(max(status, 0), 0xFFFF)
        outcome.good = good and state == UrlState.FETCHED
        outcome.row = row
        if known.lease.shard < 0:
            self._loose += outcome.links
        else:
            if state == UrlState.FETCHED:
                known.lease.host.fetched += 1
            self._done.append(outcome)

    def _end(self, visit: Visit) -> LeasedVisit | None:
        known = self.in_flight.pop(visit.key, None)
        if known is not None:
            self.hosts.free(known, self._clock())
            if self.hosts.given_back:
                self.pump.kick()
        return known

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        known = self._end(visit)
        if known is None:
            return
        if volatile or known.lease.shard < 0:
            known.attempts += 1
            self._volatile.append(known)
            return
        outcome = known.outcome
        flags = outcome.flags & ~(Flag.REQUEST | Flag.VOLATILE)
        outcome.flags = flags | Flag.REQUEST * (request is not None)
        outcome.state, outcome.priority, outcome.request = int(UrlState.QUEUED), priority, request or b""
        self._loose += [link._replace(weight=0) for link in outcome.links]
        outcome.links = []
        self._done.append(outcome)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        known = self.in_flight.pop(visit.key, None)
        if known is None:
            return
        if known.lease.shard < 0:
            self._volatile.append(known)
            return
        self.hosts.put_back(known, self._clock(), rest)
        self.pump.kick()

    def pause(self) -> None:
        """What was lent to this worker goes back, for others to fetch; `next` has some lent again."""
        self.pump.resting = True
        for lease in list(self.hosts.leases.values()):
            if lease.urls:
                self.hosts.withdraw(lease)
        self.pump.kick()

    # Durability

    def flush(self, batch: Batch) -> None:
        self._ready = self._parceler.parcels(self._done, self._loose)
        for parcel in self._ready:
            self._journal.add(parcel)
        self._journal.flush(batch)
        self._content.flush(batch)
        self._done, self._loose = [], []
        self._flushed_at = self._clock()

    def flushed(self) -> None:
        self._content.flushed()
        self.pump.send(self._ready)
        self._ready = []

    # Life

    def start(self) -> None:
        if self._options.seeds_key:
            self.pump.seeds = SeedQueue(
                self.pump.shard_calls.client,
                self._options.seeds_key,
                take=self._listener.seed_pushed,
                settled=self._has_settled,
                fault=self.pump.shard_calls.fault,
            )
        self.pump.start()

    def count(self, name: str) -> None:
        """One more of what the run's limit of that name counts."""
        if self.pump.tallies.count(name):
            self.pump.kick()

    def widen(self, url: str) -> None:
        """Let the other workers know that this is a seed, too."""
        self.pump.scope.add(url)

    def _has_settled(self) -> bool:
        """Whether Redis has all that was handed to the frontier."""
        return not (self._loose or self._ready or self.pump.in_transit.has_parcels)

    def save(self) -> None:
        """What Redis has takes no time to open."""

    async def close(self) -> None:
        """Send what was flushed, and give back the rest."""
        with suppress(StorageError):
            await self.pump.close()

    def stats(self) -> dict[str, Any]:
        asked = self.known.hits + self.known.misses
        return {
            "cluster/commands": self.pump.shard_calls.calls,
            "cluster/cache_hits": self.known.hits,
            "cluster/cache_hit_rate": round(self.known.hits / asked, 4) if asked else 0.0,
        }
