"""The hosts that are lent to this worker, and which of them may be asked now.

A host is lent to one worker at a time, with a few of its URLs, so politeness between workers is a matter of leases,
and within the worker it is paced here with the rules of `sitecrawl.frontier.hosts`. Its URLs are handed out, their
downloads end, and then the host is given back, with what was learnt of it; its pages may be acknowledged later.

Invariants: a `Lent` is in `_ready`, in `_resting`, or has nothing to hand out; `_ready` and `_resting` never both
hold it.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sitecrawl.cluster.parcel import Outcome
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.record import Flag, UrlRecord
from sitecrawl.frontier.visit import Visit

_NEVER_ANSWERED, _SILENT = 1, 2
_REMEMBERED = 20_000
"""Hosts whose last state is kept when they have been given back: their address, and which URLs failed."""
_SEAT_PAUSE = 0.05
"""Seconds after which a host is looked at again that waits for another one of its IP address."""


class Lent:
    """One lease: a host and some of its URLs."""

    __slots__ = ("begun", "host", "is_over", "is_ready", "open", "out", "served", "shard", "token", "urls")

    def __init__(self, shard: int, token: int, host: Host) -> None:
        self.shard = shard
        self.token = token
        self.host = host
        self.urls: deque[LentVisit] = deque()
        self.out = 0
        """Visits handed out whose downloads have not ended."""
        self.open: set[bytes] = set()
        """URLs that Redis counts as lent: neither acknowledged nor given back."""
        self.begun = 0.0
        self.served = 0
        self.is_over = False
        """It has been given back, or has expired."""
        self.is_ready = False


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """A host that goes back."""

    lent: Lent
    keys: Sequence[bytes] = ()
    """URLs that were not fetched, and go back, too."""
    dead: int = 0
    """Whether the host is given up: `_NEVER_ANSWERED`, `_SILENT`, or 0."""

    def fields(self, now: float) -> list[Any]:
        """As `release` takes it."""
        lent, host = self.lent, self.lent.host
        pause = max(0.0, host.free_at - now)
        pace = max(1, int(1000 * (now - lent.begun + pause) / lent.served)) if lent.served else 0
        asked = [lent.token, host.name, int(1000 * pause), host.failures, host.crawl_delay]
        return [*asked, pace, self.dead, list(self.keys)]


class LentVisit(Visit):
    """A visit on a lease; `outcome` gathers what has become of it."""

    __slots__ = ("lent", "outcome", "stored_flags")

    def __init__(self, lent: Lent, fields: list[Any]) -> None:
        key, url, depth, referrer, credit, flags, attempts, request = fields
        record = UrlRecord(url.decode(), lent.host.key, b"", depth, b"", referrer or bytes(16))
        record.flags, record.attempts = flags, attempts
        super().__init__(key, record, lent.host, request or None)
        self.lent = lent
        self.stored_flags = flags
        self.outcome = Outcome(key, lent.token, lent.host.name, credit=credit, flags=flags)


class Desk:
    """See the module. Times are monotonic seconds."""

    def __init__(self, politeness: PolitenessOptions) -> None:
        self.politeness = politeness
        self._ready: deque[Lent] = deque()
        self._resting: list[tuple[float, int, Lent]] = []
        self._serial = 0
        self._busy_ips: Counter[str] = Counter()
        self._hosts: OrderedDict[str, Host] = OrderedDict()
        self.lent: dict[tuple[int, int], Lent] = {}
        """Leases with anything left to hand out, to download, or to acknowledge, by shard and token."""
        self.waiting = 0
        """URLs that can still be handed out."""
        self.given_back: list[Returned] = []

    def hosts(self) -> Iterator[Host]:
        """The hosts that this worker works on."""
        return (lent.host for lent in self.lent.values())

    def host_named(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name.encode(), name)
            if len(self._hosts) > _REMEMBERED:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(name)
        return host

    def take(self, shard: int, lease: list[Any], now: float) -> Lent:
        """A lease has come, as `lease.lua` has it."""
        token, name, failures, crawl_delay, fetched, queued, urls = lease
        host = self.host_named(name.decode())
        host.failures, host.fetched, host.queued = failures, fetched, queued
        host.crawl_delay = max(host.crawl_delay, crawl_delay)
        host.free_at, host.active = now, 0
        lent = self.lent[shard, token] = Lent(shard, token, host)
        lent.begun = now
        for fields in urls:
            visit = LentVisit(lent, fields)
            lent.urls.append(visit)
            lent.open.add(visit.key)
        self.waiting += len(lent.urls)
        self._place(lent, now)
        return lent

    def _place(self, lent: Lent, now: float) -> None:
        if lent.is_ready or not lent.urls or lent.host.active >= self.politeness.per_host:
            return
        if lent.host.free_at <= now:
            lent.is_ready = True
            self._ready.append(lent)
        else:
            self._rest(lent, lent.host.free_at)

    def _rest(self, lent: Lent, until: float) -> None:
        self._serial += 1
        heapq.heappush(self._resting, (until, self._serial, lent))

    def next(self, now: float) -> LentVisit | None:
        """A visit that politeness allows now."""
        while self._resting and self._resting[0][0] <= now:
            lent = heapq.heappop(self._resting)[2]
            self._place(lent, now)
        while self._ready:
            lent = self._ready.popleft()
            lent.is_ready = False
            host = lent.host
            if not lent.urls:
                continue
            if not self._has_seat(host):
                self._rest(lent, now + _SEAT_PAUSE)
                continue
            if host.free_at > now or host.active >= self.politeness.per_host:
                self._place(lent, now)
                continue
            visit = lent.urls.popleft()
            self.waiting -= 1
            host.start(now, self.politeness)
            lent.out += 1
            visit.ip = host.ip
            if host.ip is not None:
                self._busy_ips[host.ip] += 1
            self._place(lent, now)
            return visit
        return None

    def next_time(self) -> float | None:
        """When the next of the resting hosts may be asked; None if none rests."""
        return self._resting[0][0] if self._resting else None

    def _has_seat(self, host: Host) -> bool:
        limit = self.politeness.per_ip
        return limit == 0 or host.ip is None or self._busy_ips[host.ip] < limit

    def free(self, visit: LentVisit, now: float, seconds: float = 0.0) -> None:
        """The visit's download has ended: its host is free, and rests. Once for every visit."""
        host, visit.host = visit.host, None
        if host is None:
            return
        lent = visit.lent
        host.finish(now, seconds, self.politeness)
        if visit.ip is not None:
            self._busy_ips[visit.ip] -= 1
            if self._busy_ips[visit.ip] <= 0:
                del self._busy_ips[visit.ip]
        lent.out -= 1
        lent.served += 1
        self._place(lent, now)
        self._give_back_if_through(lent)

    def is_dead(self, lent: Lent) -> bool:
        return lent.host.is_dead(self.politeness)

    def give_up(self, lent: Lent) -> list[LentVisit]:
        """The host is dead: it goes back. Returns those of its URLs that are to fail; the others wait for later."""
        left = list(lent.urls)
        self.waiting -= len(left)
        lent.urls.clear()
        if lent.is_over:
            return []
        lent.is_over = True
        if not lent.host.fetched:
            self.given_back.append(Returned(lent, dead=_NEVER_ANSWERED))
            return left
        awaited = [visit for visit in left if visit.stored_flags & Flag.AWAITED]
        keys = [visit.key for visit in left if visit not in awaited]
        lent.open.difference_update(keys)
        self.given_back.append(Returned(lent, keys, _SILENT))
        return awaited

    def withdraw(self, lent: Lent) -> None:
        """What was not handed out goes back, and the host as soon as it can."""
        keys = [visit.key for visit in lent.urls]
        self.waiting -= len(keys)
        lent.urls.clear()
        lent.open.difference_update(keys)
        if not lent.is_over:
            lent.is_over = True
            self.given_back.append(Returned(lent, keys))

    def lose(self, shard: int, token: int) -> None:
        """The lease is over: others may have been lent its URLs. What is under way will not count."""
        lent = self.lent.pop((shard, token), None)
        if lent is not None:
            self.waiting -= len(lent.urls)
            lent.urls.clear()
            lent.is_over = True

    def acknowledged(self, shard: int, token: int, key: bytes) -> None:
        """Redis has the outcome of a URL: when it has all of them, there is nothing to renew."""
        lent = self.lent.get((shard, token))
        if lent is not None:
            lent.open.discard(key)
            self.forget_if_over(lent)

    def forget_if_over(self, lent: Lent) -> None:
        if lent.is_over and not lent.open:
            self.lent.pop((lent.shard, lent.token), None)

    def _give_back_if_through(self, lent: Lent) -> None:
        if not lent.urls and not lent.out and not lent.is_over:
            lent.is_over = True
            self.given_back.append(Returned(lent))
