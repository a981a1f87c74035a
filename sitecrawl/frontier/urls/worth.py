"""What a fetch of a section may be hoped to bring: its share of its host's turns (`turns`).

Choosing the section for the next fetch is a bandit problem with arms by the dozen, most of them bad, and with an end:
what is good is to be fetched all, so exploring is worth little, and hope for each new arm costs a crawl.

- *Hope*: the mean of a beta posterior of the share of hits, as of late: good pages that say something new (a form or
  a list in another order is a page that nobody had, and tells nothing; a redirect says nothing itself). Its prior is
  what the section's *kin* have shown: the URLs of the host that share its path, or one of its keys. The worst of them
  counts, for a bad part spoils a URL: with `action=edit` any page is an editor.
- *Leads*: what the best of the sections has shown that a page brings new URLs of. An index page is no content, and
  the only way to it. What leads to its own *circle* alone, as a maze does (`circles`), is not paid for that. While
  a section is young, what it leads to has often shown nothing yet, so it is looked at again.
- *Worth*: the mean of both, to the power `POWER`, so that what is half as good gets a few turns in a thousand; and
  that for the time that a fetch takes, so that shares are of seconds: what is slow waits for what is quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sitecrawl.frontier.urls.sections import PRIOR, Section

POWER: Final = 8.0
YOUNG: Final = 16
"""Fetches of a section up to which what it leads to is looked at again."""
REFRESH: Final = 8
"""After so many fetches of a host the worth of all its sections is reckoned anew: their kin have learnt."""


class Kin:
    """What the sections of one host have shown, by the parts of their shapes."""

    __slots__ = ("_parts",)

    def __init__(self, sections: Iterable[Section]) -> None:
        self._parts: dict[str, list[float]] = {}
        """Trials and hits."""
        for section in sections:
            self.learn(section, section.trials, section.hits)

    def learn(self, section: Section, trials: float, hits: float) -> None:
        """The evidence of `section` has changed by so much."""
        for part in parts_of(section.shape):
            shown = self._parts.setdefault(part, [0.0, 0.0])
            shown[0] += trials
            shown[1] += hits

    def prior(self, section: Section) -> float:
        """What other sections let hope of this one: the worst of its parts, 1 where nothing is known."""
        worst = 1.0
        for part in parts_of(section.shape):
            trials, hits = self._parts.get(part, (0.0, 0.0))
            others = trials - section.trials
            if others > 0.5:
                worst = min(worst, (max(hits - section.hits, 0.0) + PRIOR) / (others + PRIOR))
        return worst


def parts_of(shape: str) -> list[str]:
    """A shape's path, and each of its keys."""
    path, _, keys = shape.partition("?")
    return [path, *(f"?{key}" for key in keys.split("&"))] if keys else [path]


def look_again(section: Section, sections: Mapping[bytes, Section]) -> None:
    """What `section` led to may have shown by now what it is worth; `sections` are those of its host."""
    if not 0 < section.fetched <= YOUNG:
        return
    for key, urls in section.brought.items():
        target = sections.get(key)
        if target is not None and target.circle != section.circle:
            section.leads = max(section.leads, min(section.led, urls / section.fetched) * target.shown)


def weigh(section: Section, kin: Kin) -> None:
    """Reckon anew what `section` is worth."""
    section.hope = (section.hits + PRIOR * kin.prior(section)) / (section.trials + PRIOR)
    section.worth = ((section.hope + section.leads) / 2) ** POWER / section.cost
