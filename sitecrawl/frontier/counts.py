"""How many URLs are in which state, and how many wait at which depth."""

from __future__ import annotations

import struct
from collections import Counter

from sitecrawl.frontier.record import Flag, State, UrlRecord
from sitecrawl.frontier.tables import Overlay

_TOTALS = struct.Struct(">QQQQQ")
_LEVEL = struct.Struct(">HQ")


class Counts:
    """The crawl's totals. `queued` includes the URLs in flight."""

    __slots__ = ("_levels", "excluded", "failed", "fetched", "queued", "serial", "volatile")

    def __init__(self, meta: Overlay) -> None:
        data = meta.get(b"counts")
        totals: tuple[int, ...] = _TOTALS.unpack(data) if data else (0,) * 5
        self.queued, self.fetched, self.failed, self.excluded, self.serial = totals
        self.volatile = 0
        """Of the queued, how many are in memory only: not part of what is stored."""
        self._levels = Counter(dict(_LEVEL.iter_unpack(meta.get(b"levels") or b"")))

        """Waiting URLs at each depth; those in memory only do not count."""

    def store(self, meta: Overlay) -> None:
        queued = self.queued - self.volatile
        meta.put(b"counts", _TOTALS.pack(queued, self.fetched, self.failed, self.excluded, self.serial))
        meta.put(b"levels", b"".join(_LEVEL.pack(depth, n) for depth, n in self._levels.items() if n))

    @property
    def known(self) -> int:
        return self.queued + self.fetched + self.failed + self.excluded

    def next_serial(self) -> int:
        self.serial += 1
        return self.serial

    def wait(self, record: UrlRecord, change: int) -> None:
        """A URL has begun (1) or ceased (-1) to wait."""
        self.queued += change
        if record.flags & Flag.VOLATILE:
            self.volatile += change
        else:
            self._levels[record.depth] += change

    def reach(self, state: State) -> None:
        """A URL has come to its end."""
        if state == State.FETCHED:
            self.fetched += 1
        elif state == State.FAILED:
            self.failed += 1
        else:
            self.excluded += 1

    def shallower(self, depth: int) -> bool:
        """Whether a stored URL above `depth` is queued or in flight."""
        return any(n and level < depth for level, n in self._levels.items())
