"""The frontier: the URLs that are known and not fetched, on disk, in order, polite.

One URL's way: `add` (a link) or `add_request` (anything else) → queued → `next` hands it out as a `Visit` →
`downloaded` frees its host → `done`, or `retry` puts it back. What happens between two calls of `commit` lives in
memory and goes down in that call's batch.

Contract (a sieve's, as BUbiNG says it): every URL that is added comes out; only such URLs; each once, unless it is
put back. A crash forgets what came after the last commit: URLs that were in flight then come out again.

Layout on disk: docs/formats/database.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sitecrawl.errors import CorruptFile
from sitecrawl.frontier.counts import Counts
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.order import Order, goes_first, goes_last, level_of
from sitecrawl.frontier.record import MAX_DEPTH, MAX_STATUS, NO_REFERRER, RANK_BYTES, Flag, State, UrlRecord
from sitecrawl.frontier.tables import HostTable, Overlay, UrlTable
from sitecrawl.frontier.workbench import Workbench
from sitecrawl.seen.tiered import SeenSet
from sitecrawl.storage import Batch, Database

_BURIED_AT_ONCE = 500
"""URLs of a dead host that fail in one go: there may be millions, and the other hosts do not wait."""
_BURIAL_PAUSE = 0.1
"""Seconds until the next go."""


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """What the frontier may hand out."""

    max_depth: int = 0
    """URLs farther than so many links from a seed are not queued; 0 for no limit."""
    max_pages: int = 0
    """Hand out no more once so many URLs have been fetched; 0 for no limit."""


class NewUrl(NamedTuple):
    """A URL that someone found: `key` is its fingerprint, `host` its host:port."""

    key: bytes
    url: str
    host: str


class Visit:
    """A URL in flight."""

    __slots__ = ("attempts", "depth", "host", "ip", "key", "referrer", "request", "url", "volatile")

    def __init__(self, key: bytes, record: UrlRecord, host: Host, request: bytes | None) -> None:
        self.key = key
        self.url = record.url
        self.depth = record.depth
        self.referrer = record.referrer
        self.attempts = record.attempts
        self.volatile = bool(record.flags & Flag.VOLATILE)
        self.host: Host | None = host
        """None once the download has ended: the host is free, the page is not yet safe."""
        self.ip = host.ip
        """The address that the host's seat was taken on."""
        self.request = request
        """The rest of a request that is more than a GET."""


class Frontier:
    """See the module. `clock` gives monotonic seconds, `wall` Unix seconds."""

    def __init__(
        self,
        database: Database,
        order: Order,
        *,
        seen: Callable[[Database, UrlTable, int], SeenSet],
        host_key: Callable[[str], bytes],
        clock: Callable[[], float],
        wall: Callable[[], float],
        politeness: PolitenessOptions,
        options: FrontierOptions,
    ) -> None:
        self._database = database
        self._order = order
        self._clock = clock
        self._wall = wall
        self._politeness = politeness
        self._options = options
        self._keeps_levels = options.max_depth > 0 and order.by_level
        self._meta = Overlay(database, "meta")
        self._entries = Overlay(database, "queue")
        self._requests = Overlay(database, "requests")
        self.counts = Counts(self._meta)
        self.urls = UrlTable(database, self.counts.known)
        self.seen = seen(database, self.urls, self.counts.serial)
        self.hosts = HostTable(database, host_key)
        self.workbench = Workbench(politeness)
        self.in_flight: dict[bytes, Visit] = {}
        now = clock()
        for host in self.hosts.load():
            self.workbench.place(host, now)

    # Growth

    def add(self, found: Sequence[NewUrl], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        """Queue those of `found` that are new, all at `depth`; returns how many were.

        URLs beyond `max_depth` are left unknown, so that a shorter way to them still counts.
        """
        if self._options.max_depth and depth > self._options.max_depth:
            return 0
        new = [f for f, is_new in zip(found, self.seen.add_many([f.key for f in found]), strict=True) if is_new]
        touched = {
            self._insert(f, depth=depth, referrer=referrer, priority=0, flags=Flag.NONE if depth else Flag.SEED)
            for f in new
        }
        self._place(touched)
        return len(new)

    def add_request(
        self,
        found: NewUrl,
        *,
        depth: int,
        priority: int,
        flags: Flag,
        request: bytes | None,
        referrer: bytes = NO_REFERRER,
    ) -> bool:
        """Queue one request that a spider asked for; False if it is filtered as seen."""
        if not flags & Flag.UNFILTERED and not self.seen.add_many([found.key])[0]:
            return False
        if request is not None:
            self._requests.put(found.key, request)
            flags |= Flag.REQUEST
        self._place({self._insert(found, depth=depth, referrer=referrer, priority=priority, flags=flags)})
        return True

    def _insert(self, found: NewUrl, *, depth: int, referrer: bytes, priority: int, flags: Flag) -> Host:
        host = self.hosts.named(found.host)
        depth = min(max(depth, 0), MAX_DEPTH)
        record = UrlRecord(found.url, host.key, depth, self._rank(depth, priority), referrer, flags=flags)
        host.known += 1
        self._insert_record(found.key, record, host)
        return host

    def _insert_record(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """Put the URL into the queue and into what waits."""
        self.counts.wait(record, 1)
        host.queued += 1
        self.hosts.changed(host)
        volatile = bool(record.flags & Flag.VOLATILE)
        host.queue.push(record.rank + key, volatile=volatile)
        if volatile:
            host.volatile += 1
        else:
            self._entries.put(host.key + record.rank + key)
        self.urls.put(key, record)

    def _rank(self, depth: int, priority: int) -> bytes:
        return self._order.rank(depth=depth, priority=priority, serial=self.counts.next_serial())

    def _place(self, hosts: Iterable[Host]) -> None:
        now = self._clock()
        for host in hosts:
            self.workbench.place(host, now)

    # Work

    def next(self) -> Visit | None:
        """The next URL to fetch, or None if nothing may be fetched now."""
        now = self._clock()
        while not self._is_full() and (host := self.workbench.best(now)) is not None:
            if host.is_dead(self._politeness):
                self._bury(host, now)
            elif (entry := host.queue.peek()) is not None:
                if self._must_wait(entry):
                    return None
                host.queue.pop()
                if (visit := self._visit(host, entry)) is not None:
                    self.workbench.start(host, now)
                    return visit
            self.workbench.place(host, now)
        return None

    def _is_full(self) -> bool:
        limit = self._options.max_pages
        return limit > 0 and self.counts.fetched + len(self.in_flight) >= limit

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, but for what comes of the URLs in flight."""
        limit = self._options.max_pages
        return self.waiting == 0 or (limit > 0 and self.counts.fetched >= limit)

    @property
    def waiting(self) -> int:
        """URLs that are queued and not in flight."""
        return self.counts.queued - len(self.in_flight)

    def next_time(self) -> float | None:
        """Seconds until a host that rests now may be asked; None if none does."""
        at = self.workbench.next_time()
        return None if at is None else max(0.0, at - self._clock())

    def _must_wait(self, entry: bytes) -> bool:
        """A depth limit is exact only level by level: no URL before the last of the level above is done."""
        return self._keeps_levels and not goes_first(entry) and self.counts.has_above(level_of(entry))

    def _visit(self, host: Host, entry: bytes) -> Visit | None:
        record = self._waiting(entry)
        if record is None:
            return None
        key = entry[RANK_BYTES:]
        request = self._request(key) if record.flags & Flag.REQUEST else None
        visit = self.in_flight[key] = Visit(key, record, host, request)
        return visit

    def _waiting(self, entry: bytes) -> UrlRecord | None:
        """The record of the URL that `entry` stands for, if it still does."""
        rank, key = entry[:RANK_BYTES], entry[RANK_BYTES:]
        record = self.urls.get(key)
        stands = record is not None and record.state == State.QUEUED and record.rank == rank
        return record if stands and key not in self.in_flight else None

    def _bury(self, host: Host, now: float) -> None:
        """What waits for a dead host fails."""
        for _ in range(_BURIED_AT_ONCE):
            entry = host.queue.pop()
            if entry is None:
                return
            if (record := self._waiting(entry)) is not None:
                self._end(entry[RANK_BYTES:], record, host, State.FAILED)
        host.free_at = now + _BURIAL_PAUSE

    def _request(self, key: bytes) -> bytes:
        blob = self._requests.get(key)
        if blob is None:
            raise CorruptFile(f"The request of URL {key.hex()} is missing from {self._database.path}")
        return blob

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        """The download of `visit` ended after `seconds`: its host may be asked again when politeness allows.

        `failed`: nothing came, or the host said that it is too busy. `retry_after`: seconds it asked for.
        """
        host = visit.host
        if host is None:
            return
        now = self._clock()
        if failed:
            host.fail(now, self._politeness)
        else:
            host.failures = 0
        host.free_at = max(host.free_at, now + retry_after)
        host.ip = ip or host.ip
        self._free(visit, seconds)

    def _free(self, visit: Visit, seconds: float = 0.0) -> None:
        """Give back the host's seat, once."""
        host, visit.host = visit.host, None
        if host is not None:
            self.workbench.finish(host, self._clock(), seconds, ip=visit.ip)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        """robots.txt of a host asks for `crawl_delay` seconds between requests."""
        host = self.hosts.named(host_name)
        host.crawl_delay = crawl_delay
        self.hosts.changed(host)

    def done(self, visit: Visit, state: State, *, status: int = 0) -> None:
        """The URL has been dealt with. Its page, if it has one, is in the page store's next checkpoint."""
        self._free(visit)
        if self.in_flight.pop(visit.key, None) is None:
            return
        record = self._standing(visit)
        record.status = min(max(status, 0), MAX_STATUS)
        self._end(visit.key, record, self._host_of(record), state)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        """Put the URL back behind those that wait, with `request` in the place of the old one."""
        self._free(visit)
        del self.in_flight[visit.key]
        record = self._standing(visit)
        host = self._host_of(record)
        self._forget(visit.key, record, host)
        record.attempts += 1
        if self._keeps_levels and not goes_last(record.rank):
            priority = max(priority, 0)  # a level is not over before what was put back is done
        record.rank = self._rank(record.depth, priority)
        record.flags &= ~(Flag.REQUEST | Flag.VOLATILE)
        if volatile:
            record.flags |= Flag.VOLATILE
        if request is not None:
            record.flags |= Flag.REQUEST
            self._requests.put(visit.key, request)
        self._insert_record(visit.key, record, host)
        self._place([host])

    def _standing(self, visit: Visit) -> UrlRecord:
        record = self.urls.get(visit.key)
        if record is None:
            raise CorruptFile(f"The record of {visit.url} has gone from {self._database.path} while it was in flight")
        return record

    def _host_of(self, record: UrlRecord) -> Host:
        host = self.hosts.get(record.host)
        if host is None:
            raise CorruptFile(f"The host of {record.url} is missing from {self._database.path}")
        return host

    def _end(self, key: bytes, record: UrlRecord, host: Host, state: State) -> None:
        self._forget(key, record, host)
        self.counts.reach(state)
        host.fetched += state == State.FETCHED
        record.state = state
        record.fetched = self._wall()
        record.flags &= ~(Flag.REQUEST | Flag.VOLATILE)
        if record.flags & Flag.UNFILTERED:
            self.urls.delete(key)
        else:
            self.urls.put(key, record)

    def _forget(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """Take the URL out of the queue and out of what waits."""
        self.counts.wait(record, -1)
        host.queued -= 1
        self.hosts.changed(host)
        if record.flags & Flag.VOLATILE:
            host.volatile -= 1
        else:
            self._entries.delete(host.key + record.rank + key)
        if record.flags & Flag.REQUEST:
            self._requests.delete(key)

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`; call `flushed` when it is on disk."""
        self.counts.store(self._meta)
        for part in (self._entries, self._requests, self._meta, self.urls, self.hosts):
            part.flush(batch)

    def flushed(self) -> None:
        for part in (self._entries, self._requests, self._meta, self.urls):
            part.flushed()
        self.hosts.flushed(self._clock())


def waiting_hosts(frontier: Frontier) -> Iterator[Host]:
    """The hosts that have URLs waiting, in no order."""
    return (host for host in frontier.hosts.live() if host.queued)
