"""What rules make of one page, and how they came to it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from typing import Any, Final

from sitecrawl.base.limits import EXTRACT_TIME
from sitecrawl.plugins.export.sources import PageText, Source
from sitecrawl.plugins.extract.rule_files import Field, Rule, RuleSet, Unfit
from sitecrawl.urls.url import Url, parse_or_none

_MAX_ITEMS: Final = 10_000
"""Of one rule on one page."""


@dataclass(slots=True)
class Reading:
    """One field of one item: what was found, and what came of it."""

    field: Field
    source: Source | None = None
    """The one that found something."""
    found: list[Any] = made(default_factory=list)
    """As it stands on the page."""
    value: Any = None
    problems: list[str] = made(default_factory=list)
    """Of what does not fit the type."""

    @property
    def is_missing(self) -> bool:
        return self.value in (None, []) and self.field.required


@dataclass(slots=True)
class Outcome:
    """One item of one rule, or why there is none."""

    rule: Rule
    readings: list[Reading]
    item: dict[str, Any] | None = None

    @property
    def missing(self) -> list[str]:
        """Required fields without a value."""
        return [reading.field.name for reading in self.readings if reading.is_missing]


class Extraction:
    """The rules at work on one page."""

    def __init__(self, rules: RuleSet, page: PageText, seconds: float = EXTRACT_TIME.value) -> None:
        self.rules = rules
        self.page = page
        self.is_cut = False
        """Whether the time was up before all items were taken: a selector that looks at the whole page for every one
        of its places takes a time that grows with their square.
        """
        self._seconds = seconds

    def outcomes(self) -> Iterator[Outcome]:
        end = time.monotonic() + self._seconds
        for rule in self.rules.rules:
            if rule.applies_to(self.page):
                places: Sequence[Any] = [None] if rule.each is None else rule.each.places(self.page)
                for place in places[:_MAX_ITEMS]:
                    if time.monotonic() > end:
                        self.is_cut = True
                        return
                    yield self._outcome(rule, place)

    def _outcome(self, rule: Rule, place: Any) -> Outcome:
        outcome = Outcome(rule, [self._reading(field, place) for field in rule.fields])
        if not outcome.missing:
            values = {reading.field.name: reading.value for reading in outcome.readings}
            outcome.item = {"rule": rule.name, "url": self.page.url, **values}
        return outcome

    def _reading(self, field: Field, place: Any) -> Reading:
        reading = Reading(field)
        for source in field.sources:
            reading.found = source.values(self.page, place, markup=field.conversion.type == "html")
            values = list(self._converted(reading))
            if values:
                reading.source = source
                reading.value = values if field.many else values[0]
                return reading
        reading.value = field.default
        return reading

    def _converted(self, reading: Reading) -> Iterator[Any]:
        field = reading.field
        for found in reading.found:
            try:
                value = field.conversion(found, self.page.base_url)
            except Unfit as error:
                reading.problems.append(f"{str(found)[:80]!r} is {error}")
                continue
            if value != "":
                yield value
                if not field.many:
                    return

    def links(self) -> list[Url]:
        """Where the rules lead on, each once: what `follow` names, and the next pages."""
        sources = [*self.rules.follow]
        sources += [source for rule in self.rules.rules if rule.applies_to(self.page) for source in rule.next]
        found: dict[str, Url] = {}
        for source in sources:
            for text in source.values(self.page, None):
                url = parse_or_none(str(text).strip(), self.page.base_url)
                if url is not None:
                    found.setdefault(url.href, url)
        return list(found.values())
