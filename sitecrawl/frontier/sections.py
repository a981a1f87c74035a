"""A section: the URLs of one shape on one host, their queue, and what has been learnt of them.

Every demotion must be explainable, so a section keeps four numbers that an operator can judge by (`known`,
`fetched`, `good`, `own`) and, since when it has been demoted, why.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.queue import DiskQueue

KEY_BYTES: Final = 4
_HEAD = struct.Struct(">QQQQQddQ")
_TRAP = struct.Struct(">?QdddQB")
TRAP_BYTES: Final = _TRAP.size

EXPLORATION: Final = 0.2
"""How much an untried section is hoped for: the factor of the confidence bound's logarithm."""
YIELD_POWER: Final = 2.0
TRAP_LIKE_LOSS: Final = 0.9
"""Of the worth of a section all of whose URLs look like a trap's."""
WINDOW: Final = 50
"""Fetches over which novelty and recent yield are averaged."""


@dataclass(slots=True, eq=False)
class TrapState:
    """What decides whether a section, or a whole host, is held back as a trap: see `trap_judge`."""

    novelty: float = 1.0
    """New URLs of the unit's own that a fetch of it brings, averaged over the last `WINDOW`."""
    demoted: bool = False
    since: int = 0
    """How many URLs the crawl had fetched when the unit was demoted."""
    reason: int = 0
    """Which rule demoted it (`trap_judge.Reason`)."""
    tried: int = 0
    """Fetches of the unit up to its demotion."""
    cost: float = 0.0
    """What fetches of it have cost since: 1 for one that brought only more of the same."""
    limit: float = 0.0
    """How large it may grow before it is looked at again: set when it was set free."""

    def learn(self, news: int, fetched: int) -> None:
        """The `fetched`-th fetch of the unit brought `news` new URLs of its own.

        No fetch counts for more than `WINDOW`: a site map with thousands of links is no sign of a trap.
        """
        self.novelty += (min(news, WINDOW) - self.novelty) / min(WINDOW, fetched + 1)

    def pack(self) -> bytes:
        return _TRAP.pack(self.demoted, self.since, self.cost, self.limit, self.novelty, self.tried, self.reason)

    @classmethod
    def unpack(cls, data: bytes) -> TrapState:
        trap = cls()
        trap.demoted, trap.since, trap.cost, trap.limit, trap.novelty, trap.tried, trap.reason = _TRAP.unpack(data)
        return trap


@dataclass(slots=True, eq=False)
class Section:
    """See the module. `key` is 12 bytes: the host's key and the shape's hash."""

    key: bytes
    shape: str
    queue: DiskQueue
    known: int = 0
    """URLs of it that were ever queued."""
    own: int = 0
    """Of these, those first seen on a page of the section itself: nobody else vouches for them."""
    fetched: int = 0
    """Visits that came to an end with or without a response."""
    good: int = 0
    """Of these, those that gave a page worth having, or led to a new one."""
    queued: int = 0
    """URLs that are not done: waiting or in flight."""
    volatile: int = 0
    """Of the queued, how many are in memory only."""
    trap_like: int = 0
    """Known URLs that look like a trap's (`sitecrawl.urls.trap_signs`)."""
    recent: float = 1.0
    """The share of good pages among the last `WINDOW` fetches."""
    trap: TrapState = field(default_factory=TrapState)
    worth: float = 1.0
    """From 0 to 1: what a fetch of it may be hoped to bring; `weigh` keeps it."""

    def learn(self, *, good: bool) -> None:
        """A visit of it has come to an end."""
        self.recent += (good - self.recent) / min(WINDOW, self.fetched + 1)
        self.fetched += 1
        self.good += good

    def weigh(self, fetched: int) -> None:
        """Reckon `worth` anew: the upper confidence bound of the yield, after `fetched` fetches in all."""
        hope = (self.good + 1) / (self.fetched + 1)
        doubt = math.sqrt(EXPLORATION * math.log(fetched + 2) / (self.fetched + 1))
        innocence = 1 - TRAP_LIKE_LOSS * self.trap_like / max(self.known, 1)
        self.worth = min(1.0, hope + doubt) ** YIELD_POWER * innocence

    def pack(self) -> bytes:
        head = _HEAD.pack(
            self.known,
            self.fetched,
            self.good,
            self.queued - self.volatile,
            self.trap_like,
            self.recent,
            self.worth,
            self.own,
        )
        return head + self.trap.pack() + self.shape.encode()

    @classmethod
    def unpack(cls, key: bytes, data: bytes, queue: DiskQueue) -> Section:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            numbers = _HEAD.unpack_from(data)
            trap = TrapState.unpack(data[_HEAD.size : _HEAD.size + _TRAP.size])
            section = cls(key, data[_HEAD.size + _TRAP.size :].decode(), queue)
        except (struct.error, ValueError) as error:
            raise CorruptFile(f"A section record of {len(data)} bytes cannot be read: {error}") from error
        section.known, section.fetched, section.good, section.queued, section.trap_like = numbers[:5]
        section.recent, section.worth, section.own = numbers[5:]
        section.trap = trap
        return section
