"""What is kept of a section, or of a whole host, by which it is held back or set free: see `trap_judge`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from math import sqrt
from typing import Final

WINDOW: Final = 50
"""Fetches over which novelty and yield are averaged."""
FALL: Final = 0.95
"""The share of new URLs falls if it is below so much of what it was when half as much was known."""
SURE: Final = 2.0
"""By so many standard deviations of a share more, as it is taken of a few links only."""
MEASURED: Final = 50
"""Fetches over which it is taken, at least."""
_TRAP = struct.Struct(">?QdddQBdQQddd?")
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
    FULL = 6
    """As many of a host's URLs have been fetched as its sheet allows: `frontier.host_limits`."""
    DRY = 7
    """It grows without end, and its host has dried up: `frontier.drought`."""


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
    same: float = 0.0
    """The share of its fetches whose pages say nearly the same as others of their section, averaged alike."""
    marked: int = 0
    """How large it was when it was measured last; 0 if it never was."""
    fetches: int = 0
    """Fetches of it since then."""
    news: float = 0.0
    """New URLs of its own that these brought."""
    links: float = 0.0
    """Links to its host that they brought, new ones or not."""
    then: float = 0.0
    """The share of new ones among the links, up to when it was measured."""
    fell: bool = False
    """Whether that share was smaller than before."""

    @property
    def is_blocked(self) -> bool:
        """Whether a person has blocked the unit."""
        return self.demoted and self.reason == Reason.BLOCKED

    @property
    def is_joined(self) -> bool:
        """Whether a section is a rule's: what waits there are other forms of pages."""
        return self.demoted and self.reason == Reason.JOINED

    @property
    def is_full(self) -> bool:
        """Whether no more of a host is wanted, but for what pages are made of."""
        return self.demoted and self.reason == Reason.FULL

    @property
    def is_apart(self) -> bool:
        """Whether a unit is held back for another reason than that it looks like a trap."""
        return self.demoted and self.reason in (Reason.BLOCKED, Reason.JOINED, Reason.FULL)

    @property
    def is_left(self) -> bool:
        """Whether nothing of a unit is fetched, not even as a probe, until what holds it back is so no more."""
        return self.is_apart or (self.demoted and self.reason == Reason.DRY)

    @property
    def share(self) -> float:
        """Of its pages' links to their host, the share that is new and the unit's own, since it was measured."""
        return self.news / self.links if self.links else 0.0

    @property
    def lately(self) -> float:
        """New URLs of its own that a fetch of it brings, since it was measured."""
        return self.news / max(self.fetches, 1)

    @property
    def falls(self) -> bool:
        """Whether fewer of its links are new the more of it is known: then there is an end to it."""
        return self.fell or self._is_less

    @property
    def _is_less(self) -> bool:
        if not self.marked or self.fetches < MEASURED:
            return False
        chance = SURE * sqrt(self.then * max(1 - self.then, 0.0) / max(self.links, 1.0))
        return self.share < self._fall * self.then - chance

    @property
    def _fall(self) -> float:
        """What says the same comes in series, as the days of a month, so its share of new ones goes up and down."""
        return FALL * (1 - self.same / 4)

    def measure(self, size: int) -> None:
        """The unit is `size` URLs large by now: each time that it has doubled, the share of new ones is taken."""
        if size >= 2 * self.marked and self.fetches >= MEASURED:
            self._begin(size, fell=self._is_less)

    def begin_anew(self, size: int) -> None:
        """From now on, at this size, only what comes is to say whether there is an end to it."""
        self._begin(size, fell=False)

    def forget(self) -> None:
        """What the unit brings is counted otherwise from now on, so nothing of before can be compared with it."""
        self._begin(0, fell=False)
        self.marked = 0

    def _begin(self, size: int, *, fell: bool) -> None:
        if self.fetches >= MEASURED or not self.then:
            self.then = self.share
        self.fell, self.marked, self.fetches, self.news, self.links = fell, max(size, 1), 0, 0.0, 0.0

    def learn(self, news: float, links: int, fetched: int, *, same: bool = False) -> None:
        """The `fetched`-th fetch of the unit brought `news` new URLs of its own, among `links` to its host,
        and says the `same` as others or not.

        No fetch counts for more than `WINDOW`: a site map with thousands of links is no sign of a trap.
        """
        part, kept = min(1.0, WINDOW / max(news, 1.0)), min(WINDOW, fetched + 1)
        self.novelty += (part * news - self.novelty) / kept
        self.fetches += 1
        self.news += part * news
        self.links += part * max(links, news)
        self.same += (same - self.same) / kept

    def pack(self) -> bytes:
        return _TRAP.pack(
            self.demoted,
            self.since,
            self.cost,
            self.limit,
            self.novelty,
            self.tried,
            self.reason,
            self.same,
            self.marked,
            self.fetches,
            self.news,
            self.links,
            self.then,
            self.fell,
        )

    @classmethod
    def unpack(cls, data: bytes) -> TrapState:
        trap = cls()
        numbers = _TRAP.unpack(data)
        trap.demoted, trap.since, trap.cost, trap.limit, trap.novelty, trap.tried, trap.reason = numbers[:7]
        trap.same, trap.marked, trap.fetches, trap.news, trap.links, trap.then, trap.fell = numbers[7:]
        return trap
