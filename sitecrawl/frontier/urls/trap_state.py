"""What is kept of a section, or of a whole host, by which it is held back or set free: see `trap_judge`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from math import sqrt
from typing import Final

from sitecrawl.frontier.urls.options import ENOUGH

FALL: Final = 0.95
"""The share of new URLs falls if it is below so much of what it was when half as much was known."""
SURE: Final = 2.0
"""By so many standard deviations of a share more, as it is taken of a few links only."""
_TRAP = struct.Struct(">?Q8xdQBQQQdB?")
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
    """Its URLs are other forms of pages, by a rule that was learnt: `frontier.forms.forms`."""
    FULL = 6
    """As many of a host's URLs have been fetched as its sheet allows: `frontier.judge.host_limits`."""
    DRY = 7
    """It grows without end, and its host has dried up: `frontier.urls.drought`."""


@dataclass(slots=True, eq=False)
class TrapState:
    """What decides whether a section, or a whole host, is held back as a trap: see `trap_judge`."""

    novelty: float = 1.0
    """New URLs of the unit's own that a fetch of it brings, averaged over the last `ENOUGH`."""
    demoted: bool = False
    since: int = 0
    """How many URLs the crawl had fetched when the unit was demoted."""
    reason: int = Reason.NONE
    """One of `Reason`."""
    tried: int = 0
    """Fetches of the unit up to its demotion."""
    marked: int = 0
    """How many URLs of it were known when its growth was measured last; 0 if it never was."""
    links: int = 0
    """Links since then from the section that feeds it (`Section.feeder`) to its URLs."""
    new: int = 0
    """Of these, the ones that were the first to their URL."""
    then: float = 0.0
    """The share of these, up to when it was measured."""
    fell: bool = False
    """Whether that share was smaller than the one before it."""
    falls: bool = False
    """Whether it is smaller now, or was when it was measured: then an end to the section is in sight."""
    fell_at: int = 0
    """Bits of the number of URLs that were known when it was smaller than before for the last time."""
    sure_share: float = 0.0
    """The share of new ones when links were counted last, if that was of enough. Since then only new ones were."""
    is_stale: bool = False
    """Whether the next batch of links has such as were found before it was begun anew. Not stored: with a checkpoint
    all are counted.
    """

    counted: int = -1
    """How many URLs were known when links were counted last; -1 if something has come since. Not stored."""

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
        """Whether nothing of a unit is fetched, by no order, until what holds it back is so no more."""
        return self.is_apart or (self.demoted and self.reason == Reason.DRY)

    def grow(self) -> None:
        """The section that feeds it has brought a new URL."""
        self.links += 1
        self.new += 1
        self.counted = -1

    def count(self, links: int, known: int) -> None:
        """So many more links lead from what feeds it to what is known of it: `known` URLs by now. They come in
        batches, each with all links since the one before.

        Each time that these have doubled, the share of links that were the first to their URL is taken, which says
        how much is yet to be seen (Good 1953, on what Turing found). Where there is an end it falls; a trap has new
        ones for ever.
        """
        if self.is_stale:
            self.is_stale = False
            self._start(known)
            return
        self.links += links
        is_less = self._is_less
        if self.links >= ENOUGH:
            self.sure_share = self.share
            if known >= 2 * self.marked:
                self.then, self.fell = self.share, is_less
                self.fell_at = known.bit_length() if is_less else self.fell_at
                self._start(known)
        self.falls = self.fell or self._is_less
        self.counted = known

    def begin_anew(self, known: int) -> None:
        """From now on, with so many URLs known, only what comes is to say whether there is an end to it.

        Links that have been found and not counted are of before: the next batch says nothing.
        """
        self.then = self.sure_share or self.then or self.share
        self.sure_share = 0.0
        self.is_stale, self.fell, self.falls, self.counted = True, False, False, -1
        self._start(known)

    def _start(self, known: int) -> None:
        self.marked, self.links, self.new = max(known, 1), 0, 0

    @property
    def share(self) -> float:
        """Of the links from its pages to its URLs, the share that is new, since it was measured."""
        return self.new / self.links if self.links else 0.0

    @property
    def _is_less(self) -> bool:
        if not self.then or self.links < ENOUGH:
            return False
        return self.share < FALL * self.then - SURE * sqrt(self.then * (1 - self.then) / self.links)

    def learn(self, news: float, fetched: int) -> None:
        """The `fetched`-th fetch of the unit brought `news` new URLs of its own.

        No fetch counts for more than `ENOUGH`: a site map with thousands of links is no sign of a trap.
        """
        self.novelty += (min(news, ENOUGH) - self.novelty) / min(ENOUGH, fetched + 1)

    def pack(self) -> bytes:
        return _TRAP.pack(
            self.demoted,
            self.since,
            self.novelty,
            self.tried,
            self.reason,
            self.marked,
            self.links,
            self.new,
            self.then,
            self.fell | self.fell_at << 1,
            self.falls,
        )

    @classmethod
    def unpack(cls, data: bytes) -> TrapState:
        trap = cls()
        numbers = _TRAP.unpack(data)
        trap.demoted, trap.since, trap.novelty, trap.tried, trap.reason = numbers[:5]
        trap.marked, trap.links, trap.new, trap.then, fell, trap.falls = numbers[5:]
        trap.fell, trap.fell_at = bool(fell & 1), fell >> 1
        trap.sure_share = trap.share if trap.links >= ENOUGH else 0.0
        return trap
