"""Interface of the caches in front of the URL-seen test, for all policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from sitecrawl.base.errors import OptionError


class Cache(ABC):
    """At most `capacity` keys, each of which was touched. Raises `OptionError` for a capacity below 1."""

    __slots__ = ("_held", "capacity", "hits", "misses")

    name: ClassVar[str]
    """Name of its policy in the log."""
    _held: dict[bytes, Any] | set[bytes]

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise OptionError(f"A {self.name} cache of {capacity} entries holds nothing: ask for 1 or more")
        self.capacity = capacity
        self.hits = 0
        """Touches that found their key."""
        self.misses = 0
        """Touches that did not find their key."""

    @abstractmethod
    def touch(self, key: bytes) -> bool:
        """True if `key` is in the cache, which notes that it was asked for; otherwise it comes in, if it may."""

    def touch_many(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """`touch` for each of `keys`; returns those that were not in the cache, with their first places."""
        touch, missed = self.touch, dict[bytes, int]()
        for place, key in enumerate(keys):
            if not touch(key):
                missed.setdefault(key, place)
        return missed

    def _count(self, *, known: bool) -> bool:
        if known:
            self.hits += 1
        else:
            self.misses += 1
        return known

    def clear(self) -> None:
        """Forget every key; the counters stay."""
        self._held.clear()

    def __contains__(self, key: bytes) -> bool:
        """Whether `key` is in the cache, without any effect on replacement or counters."""
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)
