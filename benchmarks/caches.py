"""Cache replacement, replayed: how many requests of a stream miss a cache of a given size?

Requests are small numbers, one a URL. CLOCK is the product's own, as in a crawl; `FIRST` keeps what comes first. The
others are what Broder, Najork and Wiener ("Efficient URL caching for World Wide Web crawling", WWW 2003) compare them
with:

- `LRU` forgets what was asked for the longest time ago, and `RANDOM` any;
- `STATIC` holds the most frequent URLs of the whole stream from the first request on, and never changes;
- `MIN` forgets what will not be asked for the longest time (Belady 1966): nothing can do better that has to take in
  what it is asked for, and it needs to know the future;
- `INFINITE` forgets nothing: its misses are the distinct URLs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from random import Random

from sitecrawl.frontier.seen.clock import Clock

Stream = Sequence[int]


class Cache(ABC):
    """At most `capacity` keys, each of which was touched."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.misses = 0
        """Touches that did not find their key."""

    @abstractmethod
    def touch(self, key: bytes) -> bool:
        """True if `key` is in the cache, which notes that it was asked for; otherwise it comes in, if it may."""

    def _count(self, *, known: bool) -> bool:
        self.misses += not known
        return known


class Lru(Cache):
    """Forgets what was asked for the longest time ago."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._held: OrderedDict[bytes, None] = OrderedDict()

    def touch(self, key: bytes) -> bool:
        known = key in self._held
        if known:
            self._held.move_to_end(key)
        else:
            if len(self._held) == self.capacity:
                self._held.popitem(last=False)
            self._held[key] = None
        return self._count(known=known)


class RandomCache(Cache):
    """Forgets any, in an order that is the same for every crawl."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._held: set[bytes] = set()
        self._slots: list[bytes] = []
        self._chance = Random(0).random

    def touch(self, key: bytes) -> bool:
        known = key in self._held
        if not known:
            self._insert(key)
        return self._count(known=known)

    def _insert(self, key: bytes) -> None:
        if len(self._slots) < self.capacity:
            self._slots.append(key)
        else:
            slot = int(self._chance() * self.capacity)
            self._held.discard(self._slots[slot])
            self._slots[slot] = key
        self._held.add(key)


class First(Cache):
    """Forgets nothing, and takes nothing in when it is full."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._held: set[bytes] = set()

    def touch(self, key: bytes) -> bool:
        known = key in self._held
        if not known and len(self._held) < self.capacity:
            self._held.add(key)
        return self._count(known=known)


def infinite(stream: Stream, size: int) -> int:
    return len(set(stream))


def policy(make: Callable[[int], Cache | Clock]) -> Callable[[Stream, int], int]:
    def misses(stream: Stream, size: int) -> int:
        cache = make(size)
        touch = cache.touch
        for request in stream:
            touch(request)  # type: ignore[arg-type] # any key that can be hashed
        return cache.misses

    return misses


def static(stream: Stream, size: int) -> int:
    return len(stream) - sum(number for _, number in Counter(stream).most_common(size))


def minimum(stream: Stream, size: int) -> int:
    """Belady's. URLs that will not come again are told apart from the others: all are alike, and go first."""
    following = next_uses(stream)
    never = len(stream)
    cache: dict[int, int] = {}  # URL -> when it comes again
    farthest: list[tuple[int, int]] = []  # (-when, URL), some of them out of date
    done = misses = 0  # `done`: places taken by URLs that will not come again
    for now, request in enumerate(stream):
        after = following[now]
        known = request in cache
        if not known:
            misses += 1
            if len(cache) + done == size:
                if done:
                    done -= 1
                else:
                    while True:
                        when, url = heappop(farthest)
                        if cache.get(url) == -when:
                            break
                    del cache[url]
        if after == never:
            cache.pop(request, None)
            done += 1
        else:
            cache[request] = after
            heappush(farthest, (-after, request))
            if len(farthest) > 4 * len(cache) + 1000:
                farthest = [(-when, url) for url, when in cache.items()]
                heapify(farthest)
    return misses


def next_uses(stream: Stream) -> Stream:
    """For every request, when the same URL comes again; the stream's length for never."""
    following = array("q", [len(stream)]) * len(stream)
    last: dict[int, int] = {}
    for now in range(len(stream) - 1, -1, -1):
        request = stream[now]
        following[now] = last.get(request, len(stream))
        last[request] = now
    return following


POLICIES: dict[str, Callable[[Stream, int], int]] = {
    "MIN": minimum,
    "LRU": policy(Lru),
    "CLOCK": policy(Clock),
    "RANDOM": policy(RandomCache),
    "STATIC": static,
    "FIRST": policy(First),
    "INFINITE": infinite,
}
"""Misses of a stream in a cache of so many entries."""
