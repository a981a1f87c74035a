"""What is kept of a section, or of a whole host, by which it is held back or set free: see `trap_judge`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

WINDOW: Final = 50
"""Fetches over which novelty and yield are averaged."""
_TRAP = struct.Struct(">?QdddQB")
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
