"""Which host may be asked now: the hosts with work, those that politeness allows first.

Two heaps, as in Mercator and BUbiNG: hosts that may be asked now, by the rank of their best URL, and hosts that
must rest, by the time at which their rest ends; besides, one heap for every *room* whose seats are all taken, with
the hosts that only wait for it. A room is

- an IP address;
- that of all *strangers*, hosts that have never answered: together they have the seats that nobody else needs, and at
  least one in `STRANGERS` of all. So hosts that hang or drip by the hundred hold up no other;
- a site: its hosts have one in `SITE` of all seats together, and more only while nobody else is ready.

Invariants:
- A host is in at most one of the heaps, through one ticket: an entry with an older ticket is void, and is dropped
  when it surfaces, or when a heap has grown to twice its size.
- While a host waits for a room, all of its seats are taken, or another of its hosts is ready that comes first: each
  seat that is given back, and each ready host that goes without taking one or comes later than before, calls the
  next. Where strangers may have more seats than before, they are called when nothing else is ready; so are the hosts
  of a site that has its part.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.url_states import name_of
from sitecrawl.frontier.urls.visit import Visit

Key = TypeVar("Key", bytes, float)

STRANGERS: Final = 4
SITE: Final = 2
_SMALL = 1024
_OF_STRANGERS = ""
"""Their room."""
_OF_SITE = "site "
"""What the name of a site's room begins with."""


class _HostHeap(Generic[Key]):
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

    def __init__(
        self, terms: TermsByHost, preference: Callable[[Host], bytes | None], *, waits: bool = False
    ) -> None:
        self._terms = terms
        self._preference = preference
        self._waits = waits
        self._ready: _HostHeap[bytes] = _HostHeap()
        self._resting: _HostHeap[float] = _HostHeap()
        self._behind: defaultdict[str, _HostHeap[bytes]] = defaultdict(_HostHeap)
        """By the room that they wait for."""
        self._busy: Counter[str] = Counter()
        """Seats that are taken, by rooms."""
        self._known: set[bytes] = set()
        """The keys of hosts that have answered, and want a seat now or soon."""
        self._tickets = 0

    def place(self, host: Host, now: float) -> None:
        """Put `host` where it belongs: call it whenever its queue or its politeness state has changed."""
        best = self._preference(host) if host.active < self._per_host(host) else None
        is_ready = best is not None and (self._waits or host.free_at <= now)
        key = best if is_ready or best is None else host.free_at
        self._note(host, wants_seat=best is not None or host.active > 0, now=now)
        if key is not None and key == host.stands_at:
            return
        self._tickets += 1
        host.ticket, host.stands_at = self._tickets, key
        if isinstance(key, bytes):
            self._ready.push(key, host)
        elif key is not None:
            self._resting.push(key, host)
        for room in _rooms_of(host) if self._behind else ():
            self._call_next(room, key if isinstance(key, bytes) else None)

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
                full = self._full_room(_rooms_of(host))
                if full is None:
                    return host
                self._ready.drop()
                self._behind[full].push(preference, host)
                host.stands_at = None
            if not self._behind:
                return None
            for room in list(self._behind):  # a host that was called may have left memory before it took its seat
                self._call_next(room)
            if not self._ready:
                return min(self._beyond_their_part(), default=(b"", None), key=itemgetter(0))[1]

    def coming(self, count: int) -> list[Host]:
        """At most so many hosts that are soon to be asked, as far as that can be told."""
        hosts = self._ready.near(count)
        return hosts + self._resting.near(count - len(hosts))

    def next_time(self, is_wanted: Callable[[Host], bool] = lambda _: True) -> float | None:
        """When the next resting host may be asked; None if none rests. Those on the way there that are not wanted
        leave the workbench until they are placed again.
        """
        hosts: _HostHeap[Any] = self._ready if self._waits else self._resting
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
        return host.active < self._per_host(host) and self._full_room(_narrow_rooms_of(host)) is None

    def start(self, host: Host, now: float, visit: Visit) -> None:
        """The request of `visit` to `host` begins."""
        host.start(now, self._terms.of(_name_in(host, visit)).politeness)
        visit.rooms = _rooms_of(host)
        self._busy.update(visit.rooms)
        self.place(host, now)

    def finish(self, host: Host, now: float, seconds: float, visit: Visit) -> None:
        """It has ended, and took `seconds`."""
        host.finish(now, seconds, self._terms.of(_name_in(host, visit)).politeness)
        self.place(host, now)
        for room in visit.rooms:
            self._busy[room] -= 1
            if self._busy[room] <= 0:
                del self._busy[room]
            self._call_next(room)

    def _wake(self, now: float) -> None:
        while (first := self._resting.peek()) is not None and first[0] <= now:
            self._resting.drop()
            self.place(first[1], now)

    def _per_host(self, host: Host) -> int:
        return self._terms.of(host.name).politeness.per_host

    def _note(self, host: Host, *, wants_seat: bool, now: float) -> None:
        """Of a host that rests for longer than politeness asks for none is kept."""
        is_soon = host.free_at - now <= self._terms.crawl.politeness.max_delay
        if wants_seat and is_soon and host.has_answered:
            self._known.add(host.key)
        else:
            self._known.discard(host.key)

    def _full_room(self, rooms: Iterable[str]) -> str | None:
        """The first of `rooms` without a seat."""
        return next((room for room in rooms if not self._has_seat(room)), None)

    def _beyond_their_part(self) -> Iterator[tuple[bytes, Host]]:
        """Of each site that has its part of the seats, the first host that waits for no more than that."""
        for room in [room for room in self._behind if room.startswith(_OF_SITE)]:
            while (first := self._behind[room].peek()) is not None:
                full = self._full_room(_narrow_rooms_of(first[1]))
                if full is None:
                    yield first
                    break
                self._behind[room].drop()
                self._behind[full].push(*first)

    def _has_seat(self, room: str) -> bool:
        options = self._terms.crawl.politeness
        if room == _OF_STRANGERS:
            spare = options.in_all - len(self._known) * options.per_host
            limit = options.in_all and max(spare, options.in_all // STRANGERS, 1)
        elif room.startswith(_OF_SITE):
            limit = options.in_all // SITE
        else:
            limit = options.per_ip
        return limit == 0 or self._busy[room] < limit

    def _call_next(self, room: str, before: bytes | None = None) -> None:
        """Make the first host that waits for `room` ready, if there is a seat, and it comes `before` one that is."""
        if room not in self._behind or not self._has_seat(room):
            return
        first = self._behind[room].peek()
        if first is None:
            del self._behind[room]
        elif before is None or first[0] < before:
            self._behind[room].drop()
            self._ready.push(*first)


def _rooms_of(host: Host) -> tuple[str, ...]:
    """Those in which a request to `host` would take a seat."""
    return *_narrow_rooms_of(host), _OF_SITE + host.site


def _narrow_rooms_of(host: Host) -> tuple[str, ...]:
    """Those that have never more seats than are theirs."""
    of_ip = () if host.ip is None else (host.ip,)
    return of_ip if host.has_answered else (*of_ip, _OF_STRANGERS)


def _name_in(host: Host, visit: Visit) -> str:
    """The name of the URL's host, also where `host` is a pool."""
    return name_of(visit.url) if host.is_pool else host.name
