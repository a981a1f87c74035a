"""What is kept of a section, or of a whole host, by which it is held back or set free: see `trap_judge`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

WINDOW: Final = 50
"""Fetches over which novelty and yield are averaged."""
FALL: Final = 0.9
"""The share of new URLs falls if it is below so much of what it was when half as much was known."""
_TRAP = struct.Struct(">?QdddQBdQd?")
TRAP_BYTES: Final = _TRAP.size


class Reason(IntEnum):
    """Why a unit was demoted."""

    NONE = 0
    GROWS = 1
    WORTHLESS = 2
    BLOCKED = 3
    """A person wants nothing of it."""
    VOUCHED = 4
    """It is not demoted, and will not be: a person has set it free."""
    JOINED = 5
    """Its URLs are other forms of pages, by a rule that was learnt: `frontier.forms`."""


@dataclass(slots=True, eq=False)
class TrapState:
    """What decides whether a section, or a whole host, is held back as a trap: see `trap_judge`."""

    novelty: float = 1.0
    """New URLs of the unit's own that a fetch of it brings, averaged over the last `WINDOW`."""
    demoted: bool = False
    since: int = 0
    """How many URLs the crawl had fetched when the unit was demoted."""
    reason: int = Reason.NONE
    """One of `Reason`."""
    tried: int = 0
    """Fetches of the unit up to its demotion."""
    cost: float = 0.0
    """What fetches of it have cost since: 1 for one that brought only more of the same."""
    limit: float = 0.0
    """How large it may grow before it is looked at again: set when it was set free."""
    links: float = 0.0
    """Links to its host that a fetch of it brings, new ones or not, averaged as `novelty` is."""
    marked: int = 0
    """How large it was when the share of new URLs was taken last; 0 if it never was."""
    then: float = 0.0
    """What that share was."""
    fell: bool = False
    """Whether it fell between the last time and the time before."""

    @property
    def is_blocked(self) -> bool:
        """Whether a person has blocked the unit."""
        return self.demoted and self.reason == Reason.BLOCKED

    @property
    def is_joined(self) -> bool:
        """Whether a section is a rule's: what waits there are other forms of pages."""
        return self.demoted and self.reason == Reason.JOINED

    @property
    def is_apart(self) -> bool:
        """Whether a unit is held back for another reason than that it looks like a trap."""
        return self.demoted and self.reason in (Reason.BLOCKED, Reason.JOINED)

    @property
    def share(self) -> float:
        """Of the links of its pages to their host, the share that is new and the unit's own, from 0 to 1."""
        return self.novelty / self.links if self.links else 0.0

    @property
    def falls(self) -> bool:
        """Whether fewer of its links are new the more of it is known: then there is an end to it."""
        return self.fell or (self.marked > 0 and self.share < FALL * self.then)

    def measure(self, size: int) -> None:
        """The unit is `size` URLs large by now: each time that it has doubled, take the share of new ones."""
        if size >= 2 * self.marked:
            self.fell = self.marked > 0 and self.share < FALL * self.then
            self.marked, self.then = size, self.share

    def begin_anew(self, size: int) -> None:
        """From now on, at this size, only what comes is to say whether there is an end to it."""
        self.fell, self.marked, self.then = False, max(size, 1), self.share

    def learn(self, news: int, links: int, fetched: int) -> None:
        """The `fetched`-th fetch of the unit brought `news` new URLs of its own, among `links` to its host.

        No fetch counts for more than `WINDOW`: a site map with thousands of links is no sign of a trap.
        """
        part, kept = min(1.0, WINDOW / max(news, 1)), min(WINDOW, fetched + 1)
        self.novelty += (part * news - self.novelty) / kept
        self.links += (part * max(links, news) - self.links) / kept

    def pack(self) -> bytes:
        return _TRAP.pack(
            self.demoted,
            self.since,
            self.cost,
            self.limit,
            self.novelty,
            self.tried,
            self.reason,
            self.links,
            self.marked,
            self.then,
            self.fell,
        )

    @classmethod
    def unpack(cls, data: bytes) -> TrapState:
        trap = cls()
        numbers = _TRAP.unpack(data)
        trap.demoted, trap.since, trap.cost, trap.limit, trap.novelty, trap.tried, trap.reason = numbers[:7]
        trap.links, trap.marked, trap.then, trap.fell = numbers[7:]
        return trap
