"""Politeness and limits of each host: the crawl's, and its sheet's over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.http.sheets import Sheets

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


class TermsByHost:
    """Those of every host, by its name. `max_pages` and `max_depth` are the crawl's; 0 for no limit."""

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
        self.sheets = sheets or Sheets()
        self._vary = bool(self.sheets)
        """Whether anything is otherwise for some host."""
        self._of = lru_cache(maxsize=KEPT)(self._laid_over)

    def of(self, name: str) -> HostTerms:
        """Those of the host of that name, or of the pool."""
        return self._of(name) if self._vary else self.crawl

    def _laid_over(self, name: str) -> HostTerms:
        sheet, crawl = self.sheets.of(name), self.crawl
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
