"""An ordered queue whose head is in memory and whose tail is on disk.

RocksDB keeps the order; memory keeps the next few entries, so that taking one costs no look-up and the
tombstones of taken entries are skipped once a refill, not once a take.

An entry is `rank + fingerprint`; entries compare as bytes, the least first. On disk it is a key of the `queue`
family, `prefix + entry`, with an empty value.

Invariants:
- `_heap` holds every entry up to `_horizon` that is on disk and not taken, and every entry that was pushed since
  the last checkpoint. So nothing beyond the horizon is taken before the disk has been asked.
- Entries that are pushed as volatile are never on disk, so they are never trimmed.
- An entry stays on disk until its URL is done: a crash forgets which entries were taken, never an entry. An entry
  may therefore be met twice; the frontier asks the URL's record whether it still stands.
- `_void` names entries that were put aside by `drop`, until the next checkpoint, after which they are in neither. The
  heap loses them where they come first: most of what credit moves forward leaves one behind.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from sitecrawl.crawldir.database import Database, next_prefix

HEAD_ENTRIES: Final = 8
"""Entries that a queue keeps in memory, 70 bytes each, for every section that waits; a refill takes 100 us."""

FAMILY: Final = "queue"
_SAMPLES_FROM_TAIL = 0.9
_SERIAL_AT = 8
_SERIAL_BYTES = 4
"""Where a rank keeps its serial number: see `order`."""


class DiskQueue:
    """The queue of the URLs whose keys begin with `prefix`; in another `family`, of whatever its keys stand for."""

    __slots__ = ("_database", "_family", "_heap", "_horizon", "_size", "_tail", "_void", "_volatile", "prefix")

    def __init__(
        self, database: Database, prefix: bytes, *, empty: bool, head: int = HEAD_ENTRIES, family: str = FAMILY
    ) -> None:
        self.prefix = prefix
        self._database = database
        self._family = family
        self._size = head
        self._heap: list[bytes] = []
        self._volatile: list[bytes] = []
        self._void: set[bytes] = set()
        self._horizon = b""
        self._tail = not empty
        """Whether the disk may hold entries beyond the horizon."""

    def begin(self, first: bytes | None) -> None:
        """Take from the caller what the disk holds first, a key of the family: it need not be asked before that is
        taken. Call it before anything else.
        """
        self._tail = first is not None
        if first is not None:
            self._horizon = first[len(self.prefix) :]
            self._heap = [self._horizon]

    def push(self, entry: bytes, *, volatile: bool = False) -> None:
        """Add an entry. Unless it is volatile, the caller puts it on disk with its next checkpoint."""
        self._void.discard(entry)
        heapq.heappush(self._volatile if volatile else self._heap, entry)

    def peek(self) -> bytes | None:
        """The least entry, or None if the queue is empty."""
        heap = self._best()
        return heap[0] if heap else None

    def pop(self) -> bytes | None:
        heap = self._best()
        return heapq.heappop(heap) if heap else None

    def take(self, entry: bytes) -> None:
        """Take `entry` if it is the least; one that is not comes again, and its URL's record says so."""
        if self.peek() == entry:
            self.pop()

    def drop(self, entry: bytes) -> None:
        """Put aside an entry that its URL has left for another one. The caller deletes it on disk."""
        self._void.add(entry)

    def _best(self) -> list[bytes]:
        while True:
            if self._tail and (not self._heap or self._heap[0] > self._horizon):
                self._refill()
            if not self._heap or self._heap[0] not in self._void:
                break
            heapq.heappop(self._heap)
        if self._volatile and (not self._heap or self._volatile[0] < self._heap[0]):
            return self._volatile
        return self._heap

    def rewind(self) -> None:
        """Begin anew with what the disk holds: entries that were taken and stand still come again."""
        self._horizon, self._tail = b"", True

    def sample(self, random: Random) -> bytes | None:
        """Some entry, near enough to any of them; it stays in the queue."""
        if self._best() is self._volatile and self._volatile:
            return self._volatile[0]
        if self._tail and random.random() < _SAMPLES_FROM_TAIL:
            stem = self._horizon[:_SERIAL_AT]
            start = stem + random.randbytes(_SERIAL_BYTES)
            for key, _ in self._database.scan(
                self._family, self.prefix + max(start, self._horizon), next_prefix(self.prefix)
            ):
                return key[len(self.prefix) :]
        return random.choice(self._heap) if self._heap else None

    def trim(self) -> None:
        """Forget what the disk holds anyway, and what it has lost. Call it after a checkpoint, and only then."""
        if self._tail or self._void:
            self._heap = [
                entry
                for entry in self._heap
                if (entry <= self._horizon or not self._tail) and entry not in self._void
            ]
            heapq.heapify(self._heap)
            self._void.clear()
        if len(self._heap) > 2 * self._size:
            self._heap = heapq.nsmallest(self._size, self._heap)
            self._horizon = self._heap[-1]
            self._tail = True

    def _refill(self) -> None:
        """Read on until the head is full: entries of the open checkpoint may stand between those of the disk."""
        found = list(islice(self._beyond_horizon(), self._size))
        self._tail = len(found) == self._size
        if found:
            self._horizon = found[-1]
            self._heap.extend(found)
            heapq.heapify(self._heap)

    def _beyond_horizon(self) -> Iterator[bytes]:
        start = self.prefix + self._horizon + (b"\0" if self._horizon else b"")
        cut = len(self.prefix)
        for key, _ in self._database.scan(self._family, start, next_prefix(self.prefix)):
            yield key[cut:]
