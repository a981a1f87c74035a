"""What holds for each host now: the crawl's politeness and limits, its sheet over them, and what was set by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from sitecrawl.frontier.hosts import PolitenessOptions
from sitecrawl.sheets import Sheet, Sheets

KEPT: Final = 4_096
"""Hosts of which the terms are kept."""


@dataclass(frozen=True, slots=True)
class HostTerms:
    """Those of one host."""

    politeness: PolitenessOptions
    priority: float = 1.0
    """How many turns it gets where another gets one."""
    max_pages: int = 0
    """URLs to fetch of it; 0 for no limit but the crawl's."""
    max_depth: int = 0
    """Its URLs are not queued farther than so many links from a seed; 0 for no limit."""


class LiveTerms:
    """Asked by all parts of a crawl, and changed by hand while it runs: nobody keeps an answer.

    `max_pages` and `max_depth` are the crawl's; 0 for no limit.
    """

    def __init__(
        self,
        politeness: PolitenessOptions,
        *,
        max_pages: int = 0,
        max_depth: int = 0,
        sheets: Sheets | None = None,
    ) -> None:
        self.max_pages = max_pages
        self.crawl = HostTerms(politeness, max_depth=max_depth)
        """Of a host without a sheet."""
        self._sheets = sheets or Sheets()
        self._by_hand: dict[str, dict[str, Any]] = {}
        self._named = self._names()
        self._of = lru_cache(maxsize=KEPT)(self._laid_over)

    def of(self, name: str) -> HostTerms:
        """Those of the host of that name, or of the pool."""
        return self._of(name) if self._sheets or self._by_hand else self.crawl

    def sheet_of(self, name: str) -> Sheet:
        """What is otherwise for that host, by a sheet or by hand."""
        sheet = self._sheets.of(name)
        return replace(sheet, **self._by_hand[name]) if name in self._by_hand else sheet

    @property
    def vary(self) -> bool:
        """Whether anything may be otherwise for some host."""
        return bool(self._sheets or self._by_hand)

    def names(self, name: str) -> bool:
        """Whether a person has named that very host: it has a record of its own, whatever its site has."""
        return name in self._named

    def change_crawl(self, **options: float) -> None:
        """From now on `delay`, `max_pages` or `max_depth` of the crawl are these."""
        if "max_pages" in options:
            self.max_pages = int(options["max_pages"])
        if "delay" in options:
            self.crawl = replace(self.crawl, politeness=replace(self.crawl.politeness, delay=options["delay"]))
        if "max_depth" in options:
            self.crawl = replace(self.crawl, max_depth=int(options["max_depth"]))
        self._of.cache_clear()

    def change_host(self, name: str, options: Mapping[str, Any]) -> None:
        """From now on these options of a sheet are so for that host, whatever its sheets say; None for what is not
        to be by hand any more.
        """
        by_hand = {**self._by_hand.pop(name, {}), **options}
        if kept := {option: value for option, value in by_hand.items() if value is not None}:
            self._by_hand[name] = kept
        self._named = self._names()
        self._of.cache_clear()

    def _names(self) -> frozenset[str]:
        return frozenset(name for sheet in self._sheets.all for name in sheet.hosts) | self._by_hand.keys()

    def _laid_over(self, name: str) -> HostTerms:
        sheet, crawl = self.sheet_of(name), self.crawl
        polite = crawl.politeness
        return HostTerms(
            replace(
                polite,
                delay=polite.delay if sheet.delay is None else sheet.delay,
                per_host=polite.per_host if sheet.concurrency is None else sheet.concurrency,
            ),
            priority=1.0 if sheet.priority is None else sheet.priority,
            max_pages=sheet.max_pages or 0,
            max_depth=crawl.max_depth if sheet.max_depth is None else sheet.max_depth,
        )
