"""Which host may be asked now: the hosts with work, those that politeness allows first.

Two heaps, as in Mercator and BUbiNG: hosts that may be asked now, by the rank of their best URL, and hosts that
must rest, by the time at which their rest ends; besides, one heap for every IP address whose seats are all taken,
with the hosts that only wait for it.

Invariants:
- A host is in at most one of the heaps, through one ticket: an entry with an older ticket is void, and is dropped
  when it surfaces, or when a heap has grown to twice its size.
- While a host waits for an IP address, all seats of the address are taken, or another of its hosts is ready that
  comes first: each seat that is given back, and each ready host that goes without taking one or comes later than
  before, calls the next.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sitecrawl.frontier.host_terms import LiveTerms
from sitecrawl.frontier.hosts import Host

Key = TypeVar("Key", bytes, float)

_SMALL = 1024


class HostHeap(Generic[Key]):
    """Hosts by a key, the least first. Entries whose ticket is void are not there."""

    __slots__ = ("_entries", "_limit")

    def __init__(self) -> None:
        self._entries: list[tuple[Key, int, Host]] = []
        self._limit = _SMALL
        """Entries at which the void ones are swept out."""

    def push(self, key: Key, host: Host) -> None:
        heapq.heappush(self._entries, (key, host.ticket, host))
        if len(self._entries) > self._limit:
            self._entries = [entry for entry in self._entries if entry[1] == entry[2].ticket]
            heapq.heapify(self._entries)
            self._limit = max(_SMALL, 2 * len(self._entries))

    def peek(self) -> tuple[Key, Host] | None:
        while self._entries:
            key, ticket, host = self._entries[0]
            if ticket == host.ticket:
                return key, host
            heapq.heappop(self._entries)
        return None

    def drop(self) -> None:
        """Take away what `peek` has shown."""
        heapq.heappop(self._entries)

    def near(self, count: int) -> list[Host]:
        """At most so many hosts that come soon: the top of a heap, where not all are sooner than all below."""
        return [host for _, ticket, host in self._entries[:count] if ticket == host.ticket]

    def __len__(self) -> int:
        """Entries, the void ones too."""
        return len(self._entries)


class Workbench:
    """Hosts with waiting URLs. Times are on the caller's clock, in seconds.

    `preference` says how soon a host's best URL is wanted, the least first; None if nothing waits there. `waits`:
    while the host rests whose URL is the first of all, no other is asked.
    """

    def __init__(self, terms: LiveTerms, preference: Callable[[Host], bytes | None], *, waits: bool = False) -> None:
        self._terms = terms
        self._preference = preference
        self._waits = waits
        self._ready: HostHeap[bytes] = HostHeap()
        self._resting: HostHeap[float] = HostHeap()
        self._behind_ip: defaultdict[str, HostHeap[bytes]] = defaultdict(HostHeap)
        self._busy_ips: Counter[str] = Counter()
        self._tickets = 0

    def place(self, host: Host, now: float) -> None:
        """Put `host` where it belongs: call it whenever its queue or its politeness state has changed."""
        best = self._preference(host) if host.active < self._per_host(host) else None
        is_ready = best is not None and (self._waits or host.free_at <= now)
        key = best if is_ready or best is None else host.free_at
        if key is not None and key == host.stands_at:
            return
        self._tickets += 1
        host.ticket, host.stands_at = self._tickets, key
        if isinstance(key, bytes):
            self._ready.push(key, host)
            self._call_next(host.ip, key)
            return
        if key is not None:
            self._resting.push(key, host)
        self._call_next(host.ip)

    def rests(self, host: Host, now: float) -> bool:
        """Whether `host` rests: what waits there is looked at when it wakes, so more of it changes nothing."""
        return host.stands_at == host.free_at > now

    def best(self, now: float) -> Host | None:
        """The host whose best URL comes first among those that may be asked now; it stays on the workbench."""
        self._wake(now)
        while True:
            while (first := self._ready.peek()) is not None:
                preference, host = first
                if host.free_at > now:
                    return None
                if host.ip is None or self._has_seat(host.ip):
                    return host
                self._ready.drop()
                self._behind_ip[host.ip].push(preference, host)
                host.stands_at = None
            for ip in list(self._behind_ip):  # a host that was called may have left memory before it took its seat
                self._call_next(ip)
            if not self._ready:
                return None

    def coming(self, count: int) -> list[Host]:
        """At most so many hosts that are soon to be asked, as far as that can be told."""
        hosts = self._ready.near(count)
        return hosts + self._resting.near(count - len(hosts))

    def next_time(self, is_wanted: Callable[[Host], bool] = lambda _: True) -> float | None:
        """When the next resting host may be asked; None if none rests. Those on the way there that are not wanted
        leave the workbench until they are placed again.
        """
        hosts: HostHeap[Any] = self._ready if self._waits else self._resting
        while (first := hosts.peek()) is not None:
            key, host = first
            if is_wanted(host):
                return host.free_at if self._waits else float(key)
            hosts.drop()
            host.stands_at = None
        return None

    def is_free(self, host: Host, now: float) -> bool:
        """Whether politeness allows a request to `host` now."""
        return host.free_at <= now and self.has_seat(host)

    def has_seat(self, host: Host) -> bool:
        """Whether one more request to `host` may be under way, once it has rested."""
        return host.active < self._per_host(host) and (host.ip is None or self._has_seat(host.ip))

    def start(self, host: Host, now: float, name: str = "") -> None:
        """A request to `host` begins; `name` is that of its URL's host, where `host` is a pool."""
        host.start(now, self._terms.of(name or host.name).politeness)
        if host.ip is not None:
            self._busy_ips[host.ip] += 1
        self.place(host, now)

    def finish(self, host: Host, now: float, seconds: float, *, ip: str | None, name: str = "") -> None:
        """A request to `host`, which took `seconds` and was counted for the address `ip`, has ended."""
        host.finish(now, seconds, self._terms.of(name or host.name).politeness)
        self.place(host, now)
        if ip is not None:
            self._busy_ips[ip] -= 1
            if self._busy_ips[ip] <= 0:
                del self._busy_ips[ip]
            self._call_next(ip)

    def _wake(self, now: float) -> None:
        while (first := self._resting.peek()) is not None and first[0] <= now:
            self._resting.drop()
            self.place(first[1], now)

    def _per_host(self, host: Host) -> int:
        return self._terms.of(host.name).politeness.per_host

    def _has_seat(self, ip: str) -> bool:
        limit = self._terms.crawl.politeness.per_ip
        return limit == 0 or self._busy_ips[ip] < limit

    def _call_next(self, ip: str | None, before: bytes | None = None) -> None:
        """Make the first host that waits for `ip` ready, if there is a seat, and it comes `before` one that is."""
        if ip is None or ip not in self._behind_ip or not self._has_seat(ip):
            return
        first = self._behind_ip[ip].peek()
        if first is None:
            del self._behind_ip[ip]
        elif before is None or first[0] < before:
            self._behind_ip[ip].drop()
            self._ready.push(*first)
