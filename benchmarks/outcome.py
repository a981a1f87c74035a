"""How one crawl of a web went: what came in, and after how many fetches."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from math import ceil

from webs import Page


@dataclass
class Outcome:
    """How one crawl went."""

    web: str
    place: str
    policy: str
    contents: int
    fetched: int = 0
    arrivals: list[int] = field(default_factory=list)
    """After how many fetches the first, second, third content was in, and so on."""
    wasted: list[int] = field(default_factory=list)
    """After how many fetches the first, second, third was one of a trap, or of a page that was there before under
    another URL."""
    ended: bool = False
    left: int = 0
    """URLs that waited at the end."""
    hosts: int = 0
    """The most that were seen in memory."""
    sections: int = 0
    grown: int = 0
    """Bytes of memory, with what is kept of the web's own pages."""
    seconds: float = 0.0
    """Of the processor, without the making of pages."""
    known: set[str] = field(default_factory=set)
    """Contents that are in."""
    met: set[str] = field(default_factory=set)
    """Identities of the pages that have come."""

    def count(self, page: Page) -> None:
        self.fetched += 1
        if page.content and page.content not in self.known:
            self.arrivals.append(self.fetched)
        elif self.is_wasted(page):
            self.wasted.append(self.fetched)
        self.known.add(page.content)
        self.met.add(page.identity)

    @property
    def traps(self) -> int:
        """Fetches that were wasted."""
        return len(self.wasted)

    def is_wasted(self, page: Page) -> bool:
        """Whether a page without new content is a trap's, or was there before under another URL."""
        return page.trap or bool(page.identity and page.identity in self.met)

    def after(self, times: float) -> float:
        """The share of contents that is in after `times` as many fetches as there are contents."""
        return bisect_right(self.arrivals, times * self.contents) / self.contents

    def at(self, fetches: int) -> tuple[float, float]:
        """Of the first so many fetches, the share that was wasted; and of contents, the share that is in by then."""
        return bisect_right(self.wasted, fetches) / fetches, bisect_right(self.arrivals, fetches) / self.contents

    def until(self, share: float) -> int | None:
        """Fetches until that share of contents was in."""
        number = max(1, ceil(share * self.contents))
        return self.arrivals[number - 1] if number <= len(self.arrivals) else None
