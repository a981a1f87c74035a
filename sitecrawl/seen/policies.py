"""Which key a cache forgets: the policies of Broder, Najork and Wiener, "Efficient URL caching for World Wide Web
crawling" (WWW 2003), by name. `clock`, the default, has a module of its own; docs/design/seen.md compares them.

Invariant of all: a key that is new comes in, and one that is known stays, until there is no room. Nothing is on disk.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from random import Random
from typing import Final

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.seen.cache import Cache
from sitecrawl.seen.clock import Clock


class Lru(Cache):
    """Forgets what was asked for the longest time ago."""

    __slots__ = ()

    name = "LRU"
    _held: OrderedDict[bytes, None]

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._held = OrderedDict()

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

    __slots__ = ("_chance", "_slots")

    name = "RANDOM"
    _held: set[bytes]

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._held = set()
        self._slots: list[bytes] = []
        self._chance = Random(0).random  # noqa: S311 - no secret; a crawl that can be repeated is worth more

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

    def clear(self) -> None:
        super().clear()
        self._slots.clear()


class StaticCache(Cache):
    """Forgets nothing: what comes first stays, and of `popular` whatever comes.

    The study fills it with the most frequent URLs of the whole crawl, which an earlier one can tell. They have their
    places from the start, and come in when they are met: a hit says that this crawl has seen the URL.
    """

    __slots__ = ("_popular", "_room")

    name = "STATIC"
    _held: set[bytes]

    def __init__(self, capacity: int, popular: Iterable[bytes] = ()) -> None:
        super().__init__(capacity)
        self._held = set()
        self._popular = frozenset(islice(popular, capacity))
        self._room = capacity - len(self._popular)
        """For others."""

    def touch(self, key: bytes) -> bool:
        known = key in self._held
        if not known and key in self._popular:
            self._held.add(key)
        elif not known and self._room:
            self._held.add(key)
            self._room -= 1
        return self._count(known=known)

    def clear(self) -> None:
        super().clear()
        self._room = self.capacity - len(self._popular)


CACHES: Final[dict[str, type[Cache]]] = {"clock": Clock, "lru": Lru, "random": RandomCache, "static": StaticCache}
"""Cache classes by the setting's names."""


def cache_of(policy: str, capacity: int, popular: Iterable[bytes] = ()) -> Cache:
    """An empty cache, in which `popular` keys have places if it is static.

    Raises `OptionError` for a policy that does not exist, or a capacity below 1.
    """
    if policy not in CACHES:
        raise OptionError(f"No cache forgets by {policy!r}: use {', '.join(CACHES)}{meant(policy, CACHES)}")
    return StaticCache(capacity, popular) if policy == "static" else CACHES[policy](capacity)
