"""Whether a circle of sections grows without end, as a maze does, or like a site of which much is not known yet.

Both bring new URLs with every page. What tells them apart:

- *The share of new ones among a page's links.* A site links to what it has, so the more of it is known the fewer of
  a page's links are new: this is how populations are counted by marking and recapturing. A maze has nothing but new
  ones, for ever. So the share is taken whenever a circle has doubled, and a circle of which it falls has an end
  (`TrapState.falls`).
- *What leads there, and what it leads to.* Each URL of it that was first seen elsewhere lets it be larger, and so
  does each that it brought of other circles. A maze hangs on a few links, and leads into itself.
- *What there is besides.* What is nearly all of its host's worth is the site, and not a trap beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Self

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.sections import KEY_BYTES, Section
from sitecrawl.frontier.trap_state import WINDOW

WAITING: Final = 1.5
"""So much more a URL counts that waits: a circle that is read as fast as it grows costs what it gives."""
BESIDES: Final = 0.1
"""Good pages elsewhere, for one fetch of a unit, from which on it may be a trap beside them."""
MEASURED: Final = 20
"""Fetches of a unit before its growth is measured."""


class Circle:
    """Sections of a host that grow as one (`circles`), but for those that hold back other forms of pages."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self.own = sum([one.own for one in sections])
        """URLs that its own pages brought first."""

    @classmethod
    def of(cls, host: Host, section: Section) -> Self:
        circle = section.circle
        return cls([one for one in host.sections.values() if one.circle == circle and not one.trap.is_apart])

    @classmethod
    def all_of(cls, host: Host) -> list[Self]:
        """The circles of `host`."""
        sections: defaultdict[bytes, list[Section]] = defaultdict(list)
        for one in host.sections.values():
            if not one.trap.is_apart:
                sections[one.circle].append(one)
        return [cls(circle) for circle in sections.values()]

    @property
    def size(self) -> float:
        """What it has brought of itself, and what of that is still to be fetched."""
        return self.own + WAITING * sum([one.queued for one in self.sections])

    @property
    def innocence(self) -> float:
        """From 0.1, where all of its URLs look like a trap's, to 1."""
        known = sum([one.known for one in self.sections])
        return sum([one.innocence * one.known for one in self.sections]) / max(known, 1)

    @property
    def vouchers(self) -> int:
        """URLs of it that were first seen elsewhere, and URLs of other circles that it brought."""
        inside = {one.key[-KEY_BYTES:] for one in self.sections}
        led_to = sum([urls for one in self.sections for target, urls in one.brought.items() if target not in inside])
        return sum([one.known - one.own for one in self.sections]) + led_to

    @property
    def limit(self) -> float:
        """How large it may be at least, because parts of it were set free."""
        return sum([one.trap.limit for one in self.sections])

    def grows(self, high: float) -> bool:
        """Whether a fetch of it brings more than `high` new URLs of itself, and no end of that can be seen."""
        counted = [min(one.fetched, WINDOW) for one in self.sections]
        pairs = list(zip(self.sections, counted, strict=True))
        falling = sum([fetches for one, fetches in pairs if one.trap.falls])
        brought = sum([one.trap.novelty * fetches for one, fetches in pairs])
        return brought > high * sum(counted) and 2 * falling <= sum(counted)

    def is_beside(self, host: Host) -> bool:
        """Whether `host` has anything else to speak of."""
        good = host.good - sum([one.good for one in self.sections])
        return good >= BESIDES * sum([one.fetched for one in self.sections])


def measure(unit: Host | Section, size: int) -> None:
    """A fetch of `unit`, which is `size` URLs large, has ended."""
    if unit.fetched >= MEASURED and not unit.trap.demoted:
        unit.trap.measure(size)


def growing(sections: Iterable[Section], low: float) -> list[Section]:
    """Those that bring more than `low` new URLs a fetch, or of which nobody knows yet."""
    return [one for one in sections if one.fetched < MEASURED or one.trap.novelty >= low]
