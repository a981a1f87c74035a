"""A worker's frontier: the calls of `sitecrawl.frontier.disk.Frontier`, answered from what was lent ahead.

Nothing here waits for Redis. `next` hands out what the pump has leased; what becomes of it gathers as outcomes;
`flush` writes these into the checkpoint's batch, as parcels of the journal, and `flushed` lets the pump send them.
So a page is in this worker's page store, durably, before Redis counts it as done.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.board import Board
from sitecrawl.cluster.connection import check, connect, connect_async, shown
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.leased_hosts import Lease, LeasedHosts, LeasedVisit
from sitecrawl.cluster.options import BRINGS, ClusterOptions
from sitecrawl.cluster.parcel import Link, Outcome, Packer, Parcel
from sitecrawl.cluster.pump import Pump
from sitecrawl.cluster.seedqueue import SeedQueue
from sitecrawl.cluster.shards import Keys, Shards, open_crawl
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.frontier.duplicates import ContentIndex
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.link_credit import NewUrl
from sitecrawl.frontier.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.frontier.visit import Visit
from sitecrawl.seen.clock import Clock

_PAGES_A_PARCEL: Final = 32
_LINKS_A_PARCEL: Final = 2_000
_REFERRERS: Final = 50_000
"""Pages whose URLs are remembered, for the `referrer` of the pages that they lead to."""
_SOON: Final = 0.1
"""Seconds between two checkpoints, at the least, when the worker has nothing to do before one."""


class Totals:
    """The crawl's counts, as the shards last said."""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump

    @property
    def fetched(self) -> int:
        return self._pump.shard_calls.total("fetched")

    @property
    def failed(self) -> int:
        return self._pump.shard_calls.total("failed")

    @property
    def excluded(self) -> int:
        return self._pump.shard_calls.total("excluded")

    @property
    def demoted(self) -> int:
        return self._pump.shard_calls.total("demoted")

    @property
    def queued(self) -> int:
        return self._pump.shard_calls.total("waiting") + self._pump.shard_calls.total("leased")

    @property
    def known(self) -> int:
        return self._pump.shard_calls.total("known")


class RecentPages:
    """URLs of the pages that this worker has fetched of late."""

    def __init__(self) -> None:
        self._urls: OrderedDict[bytes, str] = OrderedDict()

    def add(self, key: bytes, url: str) -> None:
        self._urls[key] = url
        if len(self._urls) > _REFERRERS:
            self._urls.popitem(last=False)

    def get(self, key: bytes) -> UrlRecord | None:
        url = self._urls.get(key)
        return UrlRecord(url, b"", b"", 0, b"", state=UrlState.FETCHED) if url is not None else None

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, UrlRecord | None]:
        return {key: self.get(key) for key in keys}


@dataclass(frozen=True, slots=True)
class Joined:
    """A crawl on Redis that this worker takes part in."""

    options: ClusterOptions
    key: bytes
    """Of the crawl's fingerprints."""
    is_cluster: bool


def join(options: ClusterOptions) -> Joined:
    """Begin the crawl on Redis, or join it. Raises `StorageError`, `OptionError` or `FormatMismatch`."""
    client = connect(options.redis)
    try:
        if not options.unsafe:
            check(client)
        return Joined(options, open_crawl(client, options), hasattr(client, "get_primaries"))
    except redis.RedisError as error:  # read-only, full, or not for this user
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {error}") from error
    finally:
        client.close()


class _Workers:
    """The hosts that this worker works on, for who shows them."""

    def __init__(self, leased_hosts: LeasedHosts) -> None:
        self._leased_hosts = leased_hosts

    def live(self) -> Iterator[Host]:
        return self._leased_hosts.hosts()


class ClusterFrontier:
    """See the module. `clock` gives monotonic seconds."""

    has_records: Final = False
    """Redis has them; whatever a request needs at its answer travels in its `meta`."""

    def __init__(
        self,
        database: Database,
        joined: Joined,
        *,
        host_key: Callable[[str], bytes],
        clock: Callable[[], float],
        politeness: PolitenessOptions,
        max_depth: int = 0,
    ) -> None:
        options = joined.options
        self._options = options
        self._clock = clock
        self._host_key = host_key
        self._max_depth = max_depth
        self.keys = Keys(options.crawl, options.shards)
        self.known = Clock(options.cache)
        self._journal = Journal(database)
        self._leased_hosts = LeasedHosts(politeness)
        shards = Shards(connect_async(options.redis, cluster=joined.is_cluster), self.keys, cluster=joined.is_cluster)
        self.pump = Pump(
            shards,
            options,
            leased_hosts=self._leased_hosts,
            journal=self._journal,
            packer=Packer(self.keys.shard_of, self.known),
            listener=self,
            connect=lambda: connect_async(options.redis, cluster=False, patient=True),
            revival=politeness.revival,
        )
        line = connect_async(options.redis, cluster=joined.is_cluster)
        self.board = Board(Shards(line, self.keys, cluster=joined.is_cluster), self._journal.session)
        self.pump.leasing.on_dead = self._give_up
        self.pump.shard_calls.on_fault = lambda: self.count("cluster/faults", 1)
        self.pump.busy = self._is_busy
        self.content = ContentIndex(database)
        self.counts = Totals(self.pump)
        self.hosts = _Workers(self._leased_hosts)
        self.urls = RecentPages()
        self.in_flight: dict[bytes, LeasedVisit] = {}
        self._volatile: deque[LeasedVisit] = deque()
        self._dead: deque[LeasedVisit] = deque()
        self._done: list[Outcome] = []
        self._loose: list[Link] = []
        """Links that come from no page: seeds, and requests that a spider begins with."""
        self._ready: list[Parcel] = self._journal.load()
        self._seqs: dict[int, int] = {}
        self._flushed_at = 0.0
        self.row_of_last: Callable[[], int] = lambda: 0
        """Where the last page is in the page store."""
        self.withdraw: Callable[[list[int]], None] = lambda rows: None
        """Tells the page store that these rows are not this worker's to have."""
        self.checkpoint: Callable[[], None] = lambda: None
        """Makes durable at once what has been done."""
        self.wake: Callable[[], None] = lambda: None
        """Called when there is something to hand out, or the crawl has ended."""
        self.fail: Callable[[StorageError], None] = lambda error: None
        self.on_give_up: list[Callable[[bytes], None]] = []
        """Called with every URL that fails without having been handed out."""
        self.count: Callable[[str, int], None] = lambda name, number: None
        self.take_seed: Callable[[str], bool] | None = None
        """Takes what was pushed to the seed queue; None where there is none."""
        self.pump.send(self._ready)
        self._ready = []

    # Growth

    def add(self, found: Sequence[NewUrl], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        """Queue seeds, or URLs at `depth`. Returns their number: which are new, only Redis knows."""
        if 0 < self._max_depth < depth:
            return 0
        flags = Flag.SEED | BRINGS if depth == 0 else 0
        self._loose += [
            Link(f.key, f.url, f.host, depth, 0, b"" if referrer == NO_REFERRER else referrer, flags, score=f.score)
            for f in found
        ]
        return len(found)

    def expand(self, visit: Visit, found: Sequence[NewUrl], *, rest: int = 0) -> int:
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
                    Link(link.key, link.url, link.host, depth, link.weight, visit.key, score=link.score)
                )
        return 0

    def _outcome_of(self, visit: Visit) -> Outcome | None:
        known = self.in_flight.get(visit.key)
        return known.outcome if known is not None else None

    def add_request(
        self,
        found: NewUrl,
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
        link = Link(
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

    def _volatile_visit(self, found: NewUrl, depth: int, flags: int) -> LeasedVisit:
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
        """The next URL to fetch, or None if nothing may be fetched now."""
        visit = self._next()
        if visit is None:
            self.pump.kick() if self._leased_hosts.waiting == 0 and not self.pump.ended else None
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
        return self._leased_hosts.next(self._clock())

    @property
    def is_full(self) -> bool:
        """Whether as many URLs as wanted have been fetched."""
        limit = self._options.max_pages
        return limit > 0 and self.counts.fetched >= limit

    def _give_up(self, lease: Lease) -> None:
        """A dead host's URLs: those that someone waits for are handed out, to fail at once; the others fail now."""
        for visit in self._leased_hosts.give_up(lease):
            if visit.stored_flags & Flag.AWAITED:
                visit.dead, visit.host = True, None
                self._dead.append(visit)
            else:
                visit.outcome.state = UrlState.FAILED
                self._done.append(visit.outcome)
                for listener in self.on_give_up:
                    listener(visit.key)

    def is_out(self, visit: Visit) -> bool:
        """Whether the host of `visit` has answered before, and now fails whatever it is asked for."""
        known = self.in_flight.get(visit.key)
        return known is not None and known.lease.host.is_out

    @property
    def held(self) -> int:
        return 0

    @property
    def silent(self) -> int:
        return self.pump.shard_calls.total("silent")

    @property
    def waiting(self) -> int:
        """URLs that wait, on all shards."""
        return self.pump.shard_calls.total("waiting")

    @property
    def ahead(self) -> int:
        """URLs that this worker was lent, and has not yet handed out."""
        return self._leased_hosts.waiting

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, on any worker."""
        if self.is_full:
            return True
        self.pump.starting = False  # Scrapy asks when the spider has said all it begins with
        if not (self.pump.ended and not self._is_busy()):
            self.pump.kick()
            return False
        return True

    def _is_busy(self) -> bool:
        return bool(self.in_flight or self._done or self._loose or self._volatile or self._dead)

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the worker has nothing to do before what it has done is acknowledged."""
        starves = bool(self._done or self._loose) and self._leased_hosts.waiting == 0
        return starves and self._clock() - self._flushed_at >= _SOON

    def next_time(self) -> float | None:
        """Seconds until there may be something to do."""
        if (self._done or self._loose) and self._leased_hosts.waiting == 0:
            return _SOON
        at = self._leased_hosts.next_time()
        return None if at is None else max(0.0, at - self._clock())

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        """As `Frontier.downloaded`."""
        host = visit.host
        if host is None or not isinstance(visit, LeasedVisit):
            return
        now = self._clock()
        if failed:
            host.fail(visit.key, now, self._leased_hosts.politeness)
        else:
            host.failures = 0
        host.free_at = max(host.free_at, now + retry_after)
        host.ip = ip or host.ip
        self._leased_hosts.free(visit, now, seconds)
        if self._leased_hosts.is_dead(visit.lease):
            self._give_up(visit.lease)
        if self._leased_hosts.given_back:
            self.pump.kick()

    def host_key(self, visit: Visit) -> bytes:
        known = self.in_flight.get(visit.key)
        return self._host_key(known.lease.host.name) if known is not None else bytes(8)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        """robots.txt of a host asks for `crawl_delay` seconds between requests."""
        self._leased_hosts.host_named(host_name).crawl_delay = crawl_delay

    def done(
        self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, stored: bool = False
    ) -> None:
        """The URL has been dealt with; Redis hears of it after the next checkpoint."""
        known = self._end(visit)
        if known is None:
            return
        outcome = known.outcome
        outcome.state, outcome.status = int(state), min(max(status, 0), 0xFFFF)
        outcome.good = good and state == UrlState.FETCHED
        outcome.row = self.row_of_last() if stored else 0
        if known.lease.shard < 0:
            self._loose += outcome.links
        else:
            if state == UrlState.FETCHED:
                known.lease.host.fetched += 1
            self._done.append(outcome)

    def _end(self, visit: Visit) -> LeasedVisit | None:
        known = self.in_flight.pop(visit.key, None)
        if known is not None:
            self._leased_hosts.free(known, self._clock())
            if self._leased_hosts.given_back:
                self.pump.kick()
        return known

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        """Put the URL back, with `request` in the place of the old one."""
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

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand what is done to `batch`; call `flushed` when it is on disk."""
        self._ready = list(self._parcels())
        for parcel in self._ready:
            self._journal.add(parcel)
        self._journal.flush(batch)
        self.content.flush(batch)
        self._done, self._loose = [], []
        self._flushed_at = self._clock()

    def flushed(self) -> None:
        self.content.flushed()
        self.pump.send(self._ready)
        self._ready = []

    def _parcels(self) -> Iterator[Parcel]:
        by_shard: dict[int, list[Outcome]] = {}
        for outcome in self._done:
            by_shard.setdefault(self.keys.shard_of(outcome.host), []).append(outcome)
        for shard, outcomes in by_shard.items():
            for start in range(0, len(outcomes), _PAGES_A_PARCEL):
                yield self._parcel(shard, outcomes[start : start + _PAGES_A_PARCEL])
        loose: dict[int, list[Link]] = {}
        for link in self._loose:
            loose.setdefault(self.keys.shard_of(link.host), []).append(link)
        for shard, links in loose.items():
            for start in range(0, len(links), _LINKS_A_PARCEL):
                yield self._parcel(shard, [Outcome(links=links[start : start + _LINKS_A_PARCEL])])

    def _parcel(self, shard: int, outcomes: list[Outcome]) -> Parcel:
        seq = self._seqs[shard] = self._seqs.get(shard, 0) + 1
        return Parcel(shard, self.pump.stream, seq, outcomes)

    # What the pump tells

    def leased(self) -> None:
        self.wake()

    def taken(self, new: int) -> None:
        self.count("links/new", new)
        if new:
            self.pump.kick()

    def stale(self, outcomes: list[Outcome]) -> None:
        self.count("cluster/stale", len(outcomes))
        self.withdraw([outcome.row for outcome in outcomes if outcome.row])
        self.checkpoint()

    def failed(self, error: StorageError) -> None:
        self.fail(error)

    # Life

    def start(self) -> None:
        """Begin to work; inside the event loop."""
        if self._options.seeds_key and self.take_seed is not None:
            self.pump.seeds = SeedQueue(
                self.pump.shard_calls.client,
                self._options.seeds_key,
                take=self.take_seed,
                settled=self._has_settled,
                fault=self.pump.shard_calls.fault,
            )
        self.pump.start()

    def widen(self, url: str) -> None:
        """Let the other workers know that this is a seed, too."""
        self.pump.scope.add(url)

    def _has_settled(self) -> bool:
        """Whether Redis has all that was handed to the frontier."""
        return not (self._loose or self._ready or self.pump.in_transit.has_parcels)

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
