"""The hosts that are lent to this worker, and which of them may be asked now.

A host is lent to one worker at a time, with a few of its URLs, so politeness between workers is a matter of leases,
and within the worker it is paced on a `Workbench`, as in the frontier of one process. Its URLs are handed out, their
downloads end, and then the host is given back, with what was learnt of it; its pages may be acknowledged later.

Invariant: of the leases of one host at most one has anything to hand out.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sitecrawl.cluster.parcel import Outcome
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.record import NO_REFERRER, Flag, UrlRecord
from sitecrawl.frontier.visit import Visit
from sitecrawl.frontier.workbench import Workbench

_NEVER_ANSWERED, _SILENT = 1, 2
_REMEMBERED = 20_000
"""Hosts whose last state is kept when they have been given back: their address, and which URLs failed."""


class Lease:
    """One lease: a host and some of its URLs."""

    __slots__ = ("begun", "host", "is_over", "open", "out", "served", "shard", "token", "urls")

    def __init__(self, shard: int, token: int, host: Host) -> None:
        self.shard = shard
        self.token = token
        self.host = host
        self.urls: deque[LeasedVisit] = deque()
        self.out = 0
        """Visits handed out whose downloads have not ended."""
        self.open: set[bytes] = set()
        """URLs that Redis counts as lent: neither acknowledged nor given back."""
        self.begun = 0.0
        self.served = 0
        self.is_over = False
        """It has been given back, or has expired."""


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """A host that goes back."""

    lease: Lease
    keys: Sequence[bytes] = ()
    """URLs that were not fetched, and go back, too."""
    dead: int = 0
    """Whether the host is given up: `_NEVER_ANSWERED`, `_SILENT`, or 0."""

    def fields(self, now: float) -> list[Any]:
        """As `release` takes it."""
        lease, host = self.lease, self.lease.host
        pause = max(0.0, host.free_at - now)
        pace = max(1, int(1000 * (now - lease.begun + pause) / lease.served)) if lease.served else 0
        asked = [lease.token, host.name, int(1000 * pause), host.failures, host.crawl_delay]
        return [*asked, pace, self.dead, list(self.keys)]


class LeasedVisit(Visit):
    """A visit on a lease; `outcome` gathers what has become of it."""

    def __init__(self, lease: Lease, fields: list[Any]) -> None:
        key, url, depth, referrer, credit, flags, attempts, request = fields
        record = UrlRecord(
            url.decode(), flags=flags, depth=depth, attempts=attempts, referrer=referrer or NO_REFERRER
        )
        super().__init__(key, record, lease.host, request or None)
        self.lease = lease
        self.stored_flags = flags
        self.outcome = Outcome(key, lease.token, lease.host.name, credit=credit, flags=flags)


class LeasedHosts:
    """See the module. Times are monotonic seconds."""

    def __init__(self, politeness: PolitenessOptions) -> None:
        self.politeness = politeness
        self._workbench = Workbench(politeness, self._preference)
        self._serial = 0
        self._lent: dict[bytes, Lease] = {}
        """Leases with anything left to hand out, by their hosts' keys."""
        self._hosts: OrderedDict[str, Host] = OrderedDict()
        self.leases: dict[tuple[int, int], Lease] = {}
        """Leases with anything left to hand out, to download, or to acknowledge, by shard and token."""
        self.waiting = 0
        """URLs that can still be handed out."""
        self.given_back: list[Returned] = []

    def live(self) -> Iterator[Host]:
        """The hosts that this worker works on."""
        return (lease.host for lease in self.leases.values())

    def host_named(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name.encode(), name)
            if len(self._hosts) > _REMEMBERED:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(name)
        return host

    def take(self, shard: int, granted: list[Any], now: float) -> Lease:
        """A lease has come, as `lease.lua` has it."""
        token, name, failures, crawl_delay, fetched, queued, urls = granted
        host = self.host_named(name.decode())
        host.failures, host.queued = failures, queued
        host.fetched = max(host.fetched, fetched)  # Redis may not have heard yet of what came a moment ago
        host.crawl_delay = max(host.crawl_delay, crawl_delay)
        host.free_at, host.active = now, 0
        if (expired := self._lent.get(host.key)) is not None:  # before this worker has heard of it
            self.withdraw(expired)
        lease = self.leases[shard, token] = Lease(shard, token, host)
        lease.begun = now
        for fields in urls:
            visit = LeasedVisit(lease, fields)
            lease.urls.append(visit)
            lease.open.add(visit.key)
        self.waiting += len(lease.urls)
        if lease.urls:
            self._lent[host.key] = lease
            self._workbench.place(host, now)
        return lease

    def _preference(self, host: Host) -> bytes | None:
        """First come, first served."""
        lease = self._lent.get(host.key)
        if lease is None or lease.host is not host:
            return None
        self._serial += 1
        return self._serial.to_bytes(8, "big")

    def next(self, now: float) -> LeasedVisit | None:
        """A visit that politeness allows now."""
        host = self._workbench.best(now)
        if host is None:
            return None
        lease = self._lent[host.key]
        visit = lease.urls.popleft()
        self.waiting -= 1
        lease.out += 1
        if not lease.urls:
            del self._lent[host.key]
        visit.ip = host.ip
        self._workbench.start(host, now)
        return visit

    def next_time(self) -> float | None:
        """When the next of the resting hosts may be asked; None if none rests."""
        return self._workbench.next_time()

    def free(self, visit: LeasedVisit, now: float, seconds: float = 0.0) -> None:
        """The visit's download has ended: its host is free, and rests. Once for every visit."""
        host, visit.host = visit.host, None
        if host is None:
            return
        lease = visit.lease
        lease.out -= 1
        lease.served += 1
        self._workbench.finish(host, now, seconds, ip=visit.ip)
        if not lease.urls and not lease.out and not lease.is_over:
            self._give_back(Returned(lease))

    def is_dead(self, lease: Lease) -> bool:
        return lease.host.is_dead(self.politeness)

    def give_up(self, lease: Lease) -> list[LeasedVisit]:
        """The host is dead: it goes back. Returns those of its URLs that are to fail; the others wait for later."""
        left = self._take_back(lease)
        if lease.is_over:
            return []
        if not lease.host.fetched:
            self._give_back(Returned(lease, dead=_NEVER_ANSWERED))
            return left
        awaited = [visit for visit in left if visit.stored_flags & Flag.AWAITED]
        keys = [visit.key for visit in left if visit not in awaited]
        lease.open.difference_update(keys)
        self._give_back(Returned(lease, keys, _SILENT))
        return awaited

    def put_back(self, visit: LeasedVisit, now: float, rest: float = 0.0) -> None:
        """Nothing was asked: the URL goes back, and with it what else of the lease was not handed out. The host rests
        for `rest` seconds.
        """
        lease, host = visit.lease, visit.host
        keys = [visit.key, *(left.key for left in self._take_back(lease))]
        lease.open.difference_update(keys)
        visit.host = None
        if host is not None:
            lease.out -= 1
            self._workbench.finish(host, now, 0.0, ip=visit.ip)
        lease.host.free_at = max(lease.host.free_at, now + rest)
        self._give_back(Returned(lease, keys))

    def withdraw(self, lease: Lease) -> None:
        """What was not handed out goes back, and the host as soon as it can."""
        keys = [visit.key for visit in self._take_back(lease)]
        lease.open.difference_update(keys)
        if not lease.is_over:
            self._give_back(Returned(lease, keys))

    def lose(self, shard: int, token: int) -> None:
        """The lease is over: others may have been lent its URLs. What is under way will not count."""
        lease = self.leases.pop((shard, token), None)
        if lease is not None:
            self._take_back(lease)
            lease.is_over = True

    def acknowledged(self, shard: int, token: int, key: bytes) -> None:
        """Redis has the outcome of a URL: when it has all of them, there is nothing to renew."""
        lease = self.leases.get((shard, token))
        if lease is not None:
            lease.open.discard(key)
            self.forget_if_over(lease)

    def forget_if_over(self, lease: Lease) -> None:
        if lease.is_over and not lease.open:
            self.leases.pop((lease.shard, lease.token), None)

    def _take_back(self, lease: Lease) -> list[LeasedVisit]:
        """What was not handed out, and will not be."""
        left = list(lease.urls)
        if left:
            self.waiting -= len(left)
            lease.urls.clear()
            del self._lent[lease.host.key]
            lease.host.ticket = 0  # the workbench does not hand it out any more
        return left

    def _give_back(self, returned: Returned) -> None:
        returned.lease.is_over = True
        self.given_back.append(returned)
