"""A crawl by who sees what is linked to before it is fetched: nearly the best that a policy could reach.

It takes new content first; then the page that leads to most new content, what is no trap before what is one. To see
farther than a link ahead would be a Steiner tree, which nobody needs to know exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from outcome import Outcome
from webs import Page, Web, host_of

Rank = tuple[int, int]


def foresee(web: Web, outcome: Outcome, budget: int) -> Outcome:
    """Crawl until all content is in, nothing is left, or `budget` fetches are spent."""
    oracle = _Oracle(web, outcome)
    oracle.see([web.seed])
    while oracle.waiting and outcome.fetched < budget and len(outcome.arrivals) < outcome.contents:
        oracle.step()
    outcome.ended, outcome.left = len(outcome.arrivals) == outcome.contents, len(oracle.waiting)
    outcome.hosts = len({host_of(url) for url in oracle.known})
    return outcome


class _Oracle:
    def __init__(self, web: Web, outcome: Outcome) -> None:
        self._web = web
        self._outcome = outcome
        self.waiting: list[tuple[Rank, int, Page]] = []
        """A heap. A page leads to less as content comes in, so its rank is looked at again when it is due."""
        self.known: set[str] = set()
        self._contents: dict[str, str] = {}

    def see(self, urls: Iterable[str]) -> None:
        for url in dict.fromkeys(urls):
            if url not in self.known and self._web.admits(url):
                self.known.add(url)
                page = self._web.page(url)
                heapq.heappush(self.waiting, (self._rank(page), len(self.known), page))

    def step(self) -> None:
        """Fetch the page that is due, or put it back where it belongs."""
        rank, number, page = heapq.heappop(self.waiting)
        if rank != (now := self._rank(page)):
            heapq.heappush(self.waiting, (now, number, page))
            return
        self._outcome.count(page)
        self.see([page.location] if page.location else [link.url for link in page.links])

    def _rank(self, page: Page) -> Rank:
        if page.content and page.content not in self._outcome.known:
            return 0, 0
        if page.status >= 400:
            return 3, 0
        return 1 + self._outcome.is_wasted(page), -self._leads_on(page)

    def _leads_on(self, page: Page) -> int:
        """How many contents it leads to that nothing else has led to so far."""
        ahead = {self._content(link.url) for link in page.links if link.url not in self.known}
        return len(ahead - self._outcome.known - {""})

    def _content(self, url: str) -> str:
        if url not in self._contents:
            self._contents[url] = self._web.page(url).content
        return self._contents[url]
