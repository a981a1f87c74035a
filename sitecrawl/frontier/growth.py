"""Whether a circle of sections grows without end, as a maze does, or like a site of which much is not known yet.

Both bring new URLs with every page. What tells them apart:

- *The share of new ones among a page's links.* A site links to what it has, so the more of it is known the fewer of
  a page's links are new: this is how populations are counted by marking and recapturing. A maze has nothing but new
  ones, for ever. So the share is taken whenever a circle has doubled, and a circle of which it falls has an end
  (`TrapState.falls`).
- *What leads there, and what it leads to.* Each URL of it that was first seen elsewhere lets it be larger, and so
  does each that it brought of other circles. A maze hangs on a few links, and leads into itself.
- *How many ways there are to say it.* Few keys in many combinations have an end that nobody gets to.
- *What there is besides.* What is nearly all of its host's worth is the site, and not a trap beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Final, Self

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.sections import KEY_BYTES, Section
from sitecrawl.frontier.trap_state import WINDOW

WAITING: Final = 1.5
"""So much more a URL counts that waits: a circle that is read as fast as it grows costs what it gives."""
BESIDES: Final = 0.1
"""Good pages elsewhere, for one fetch of a unit, from which on it may be a trap beside them."""
LEAST_FETCHES: Final = 20
"""Fetches of a section before it is said not to grow itself, in a circle that does."""
FED: Final = 0.9
"""The share of a section's URLs from which on nobody else brings any."""
FED_VARIETY: Final = 0.5
"""The variety (`variety`) below which a section says nothing new."""
SAMENESS: Final = (0.5, 0.8)
"""The share of its pages that say nearly the same from which on a unit may be smaller, and as small as can be."""
SAMENESS_LOSS: Final = 0.95
"""How much smaller a unit may be whose pages all say the same."""


class Circle:
    """Sections of a host that grow as one (`circles`), but for those that hold back other forms of pages."""

    def __init__(self, host: Host, sections: Sequence[Section]) -> None:
        self.host = host
        self.sections = sections
        self.own = sum([one.own for one in sections])
        """URLs that its own pages brought first."""
        self.fetched = sum([one.fetched for one in sections])

    @classmethod
    def of(cls, host: Host, section: Section) -> Self:
        circle = section.circle
        return cls(host, [one for one in host.sections.values() if one.circle == circle and _is_judged(one)])

    @classmethod
    def all_of(cls, host: Host) -> list[Self]:
        """The circles of `host`."""
        sections: defaultdict[bytes, list[Section]] = defaultdict(list)
        for one in host.sections.values():
            if _is_judged(one):
                sections[one.circle].append(one)
        return [cls(host, circle) for circle in sections.values()]

    @property
    def size(self) -> float:
        """What it has brought of itself, and what of that is still to be fetched."""
        return self.own + WAITING * sum([one.queued for one in self.sections])

    @property
    def innocence(self) -> float:
        """From 0.1, where all of its URLs look like a trap's, to 1."""
        known = sum([one.known for one in self.sections])
        return sum([one.innocence * one.known for one in self.sections]) / max(known, 1)

    @cached_property
    def choice(self) -> float:
        """Query keys for each set of them that its URLs have, at most 1. Filters of one list that can be combined
        make 31 sets of 5 keys: whatever there is of such URLs, there are few things to choose from.
        """
        sets = {(path, keys) for one in self.sections for path, _, keys in [one.shape.partition("?")] if keys}
        keys = {(path, key) for path, keys in sets for key in keys.split("&")}
        return min(1.0, len(keys) / len(sets)) if sets else 1.0

    @property
    def vouchers(self) -> float:
        """URLs of it that were first seen elsewhere, and those of other circles that it brought, as far as these have
        shown to be worth it and do not all say the same.
        """
        led_to = sum([urls * one.shown for one, urls in self._led_to() if variety(one.trap.same) >= FED_VARIETY])
        return sum([one.known - one.own for one in self.sections]) + led_to

    def _led_to(self) -> list[tuple[Section, int]]:
        """Sections of other circles that are not held back, and how many of their URLs it brought first."""
        brought: Counter[bytes] = Counter()
        for one in self.sections:
            brought.update(one.brought)
        inside = {one.key[-KEY_BYTES:] for one in self.sections}
        found = ((self.host.sections.get(key), urls) for key, urls in brought.items() if key not in inside)
        return [(section, urls) for section, urls in found if section is not None and not section.trap.demoted]

    def growing(self, low: float) -> list[Section]:
        """Its sections that bring more than `low` new URLs a fetch, or of which nobody knows yet."""
        return [one for one in self.sections if one.fetched < LEAST_FETCHES or one.trap.novelty >= low]

    @property
    def limit(self) -> float:
        """How large it may be at least, because parts of it were set free."""
        return sum([one.trap.limit for one in self.sections])

    @property
    def same(self) -> float:
        """The share of its fetches, of late, whose pages say nearly the same as others of their section."""
        lately = self._lately()
        return sum([one.trap.same * fetches for one, fetches in lately]) / max(sum([n for _, n in lately]), 1)

    def grows(self, high: float) -> bool:
        """Whether a fetch of it brings more than `high` new URLs of itself, and no end of that can be seen."""
        lately = self._lately()
        counted = sum([fetches for _, fetches in lately])
        falling = sum([fetches for one, fetches in lately if one.trap.falls])
        brought = sum([one.trap.novelty * fetches for one, fetches in lately])
        return brought > high * counted and 2 * falling * self.choice <= counted

    def _lately(self) -> list[tuple[Section, int]]:
        """Its sections, and how many fetches each of their averages is of."""
        return [(one, min(one.fetched, WINDOW)) for one in self.sections]

    @property
    def is_beside(self) -> bool:
        """Whether its host has anything else to speak of."""
        good = self.host.good - sum([one.good for one in self.sections])
        return good >= BESIDES * self.fetched


def _is_judged(section: Section) -> bool:
    return not (section.trap.is_apart or section.is_requisites)


def size_of(host: Host) -> float:
    """How large a host is without what is held back of it, as `Circle.size`."""
    free = [one for one in host.sections.values() if not (one.trap.demoted or one.is_requisites)]
    return sum([one.known + WAITING * one.queued for one in free])


def is_fed(circle: Circle, section: Section) -> bool:
    """Whether traps bring all URLs of a section, and it says nothing new, like the days of a calendar."""
    return variety(section.trap.same) * circle.choice < FED_VARIETY and is_brought(circle.host, section)


def is_brought(host: Host, section: Section) -> bool:
    """Whether nobody but traps brings any of a section's URLs."""
    key = section.key[-KEY_BYTES:]
    feeders = (one for one in host.sections.values() if one.trap.demoted and not one.trap.is_apart)
    return sum([one.brought.get(key, 0) for one in feeders if one is not section]) >= FED * section.known


def variety(same: float) -> float:
    """How large what grows may be, from 1 / 20 to 1, if this share of its pages says nearly the same as others."""
    few, most = SAMENESS
    return 1 - SAMENESS_LOSS * min(1.0, max(0.0, (same - few) / (most - few)))
