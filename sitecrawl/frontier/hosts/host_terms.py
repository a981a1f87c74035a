"""What holds for each host now: the crawl's politeness and limits, its sheet over them, and what was set by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from sitecrawl.frontier.hosts.host import PolitenessOptions
from sitecrawl.http.sheets.live import LiveSheets

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
        sheets: LiveSheets | None = None,
    ) -> None:
        self.max_pages = max_pages
        self.crawl = HostTerms(politeness, max_depth=max_depth)
        """Of a host without a sheet."""
        self.sheets = sheets or LiveSheets()
        self._vary = bool(self.sheets)
        """Whether anything is otherwise for some host."""
        self.is_out: Callable[[str, str, int], bool] | None = None
        """Whether a URL that waits, of the host of that name and at that depth, is to be fetched no more; None while
        nothing was changed that could say so.
        """
        self._of = lru_cache(maxsize=KEPT)(self._laid_over)

    def of(self, name: str) -> HostTerms:
        """Those of the host of that name, or of the pool."""
        return self._of(name) if self._vary else self.crawl

    def change_crawl(self, option: str, value: float) -> None:
        """From now on `delay`, `max_pages` or `max_depth` of the crawl is `value`."""
        if option == "max_pages":
            self.max_pages = int(value)
        elif option == "max_depth":
            self.crawl = replace(self.crawl, max_depth=int(value))
        else:
            self.crawl = replace(self.crawl, politeness=replace(self.crawl.politeness, delay=float(value)))
        self._of.cache_clear()

    def change_host(self, name: str, options: Mapping[str, Any]) -> None:
        """As `LiveSheets.change`."""
        self.sheets.change(name, options)
        self._vary = bool(self.sheets)
        self._of.cache_clear()

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
