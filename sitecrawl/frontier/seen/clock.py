"""CLOCK: a small cache of fingerprints that keeps the popular ones.

The idea, from Broder, Najork and Wiener, "Efficient URL caching for World Wide Web crawling" (WWW 2003): links
repeat a few URLs very often, so a cache of about 50,000 fingerprints answers almost 80% of all URL-seen tests,
and CLOCK hits as often as LRU at a fraction of its cost. Each entry has a mark. A hit sets the mark. To make
room, a hand goes round: it takes marks off until it finds an entry without one, and that entry leaves.

The slots are a list, the marks a bytearray: finding the victim is `bytearray.find`, a scan at memory speed, so
a sweep costs no Python per slot.

      slots   k0  k1  k2  k3  k4  k5
      marks   0   1   1   0   1   0
                  ^hand   ^victim        then marks 1 and 2 are taken off, and the hand stands at 4

Invariants: `_held[_keys[i]] == i` for every slot in use; at most `capacity` slots are in use; a key that was
marked since the hand last passed it survives the hand's next passage.

Nothing is on disk. A crash costs the cache: the tiers behind it answer what it would have answered.
"""

from __future__ import annotations

from collections.abc import Iterable

from sitecrawl.base.compiled import native
from sitecrawl.base.errors import OptionError


class Clock:
    """A cache of at most `capacity` keys with CLOCK replacement. Raises `OptionError` for a capacity below 1."""

    __slots__ = ("_hand", "_held", "_keys", "_marks", "capacity", "hits", "misses")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise OptionError(f"A CLOCK cache of {capacity} entries holds nothing: ask for 1 or more")
        self.capacity = capacity
        self.hits = 0
        """Touches that found their key."""
        self.misses = 0
        """Touches that did not find their key."""
        self._keys: list[bytes] = []
        self._held: dict[bytes, int] = {}
        """The slot of each key."""
        self._marks = bytearray(capacity)
        self._hand = 0

    def touch(self, key: bytes) -> bool:
        """True if `key` is in the cache, which marks it; otherwise it is inserted, unmarked."""
        slot = self._held.get(key)
        if slot is not None:
            self._marks[slot] = 1
            self.hits += 1
            return True
        self.misses += 1
        self._insert(key)
        return False

    def touch_many(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """`touch` for each of `keys`; returns those that were not in the cache, with their first places."""
        asked, missed = list(keys), dict[bytes, int]()
        place = misses = 0
        while (place := _mark(self._held, self._marks, asked, place)) < len(asked):
            missed.setdefault(asked[place], place)
            self._insert(asked[place])
            misses += 1
            place += 1
        self.hits += len(asked) - misses
        self.misses += misses
        return missed

    def _insert(self, key: bytes) -> None:
        slot = len(self._keys)
        if slot < self.capacity:
            self._keys.append(key)
        else:
            slot = self._evict()
            self._keys[slot] = key
        self._held[key] = slot

    def _evict(self) -> int:
        """Free the slot of the first unmarked key at or after the hand, and put the hand behind it."""
        hand = self._hand
        victim = self._marks.find(0, hand)
        if victim < 0:
            self._unmark(hand, self.capacity)
            hand = 0
            victim = self._marks.find(0)
        self._unmark(hand, victim)
        del self._held[self._keys[victim]]
        self._hand = (victim + 1) % self.capacity
        return victim

    def _unmark(self, start: int, end: int) -> None:
        self._marks[start:end] = bytes(end - start)

    def clear(self) -> None:
        """Forget every key; the counters stay."""
        self._held.clear()
        self._keys.clear()
        self._marks = bytearray(self.capacity)
        self._hand = 0

    def __contains__(self, key: bytes) -> bool:
        """Whether `key` is in the cache, without any effect on replacement or counters."""
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)


def _mark(slots: dict[bytes, int], marks: bytearray, keys: list[bytes], start: int) -> int:
    """Mark the slots of `keys` from `start` on, up to the first that has none. Returns its place, or their number."""
    return (_mark_in_python if native is None else native.clock_mark)(slots, marks, keys, start)


def _mark_in_python(slots: dict[bytes, int], marks: bytearray, keys: list[bytes], start: int) -> int:
    """`_mark` without C."""
    for place in range(start, len(keys)):
        slot = slots.get(keys[place])
        if slot is None:
            return place
        marks[slot] = 1
    return len(keys)
