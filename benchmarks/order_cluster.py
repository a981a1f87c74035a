"""Many frontiers that share one crawl, as workers of a cluster do, driven as `order.py` drives one: nothing is
fetched. All make their checkpoints, and hear of one another, after so many pages of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from neighbours import neighbourhood  # noqa: E402
from replaying import COMMIT_EVERY  # noqa: E402

from sitecrawl.frontier.urls.options import FrontierOptions  # noqa: E402
from sitecrawl.frontier.urls.order import order_named  # noqa: E402
from sitecrawl.page.items import Link  # noqa: E402

__all__ = ["ClusterReplay", "neighbourhood"]


class ClusterReplay:
    """One crawl of so many workers, with a partition each. `targets` gives a page's links."""

    def __init__(
        self, directory: Path, workers: int, url_of: Callable[[int], str], targets: Callable[[int], Sequence[int]]
    ) -> None:
        self._directory = directory
        self._workers = workers
        self._url_of = url_of
        self._targets = targets
        self._ids: dict[str, int] = {}
        self.ended = False
        self.left = 0
        self.importance: dict[int, float] = {}

    def run(self, seeds: Sequence[int], budget: int, fetched: Callable[[int], None]) -> None:
        territories = [[number] for number in range(self._workers)]
        with neighbourhood(self._directory, order_named("aopic"), FrontierOptions(), territories) as crowd:

            def links(pages: Sequence[int]) -> list[Link]:
                urls = {self._url_of(page): page for page in pages}
                self._ids.update(urls)
                return [crowd.link(url) for url in urls]

            crowd.neighbours[0].frontier.add(links(seeds), depth=0)
            crowd.exchange()
            done = idle = 0
            while done < budget and idle < len(crowd.neighbours):
                before = done
                for _ in range(COMMIT_EVERY // self._workers):
                    for one in crowd.neighbours:
                        url = crowd.fetch(one, lambda url: links(self._targets(self._ids[url])))
                        if url is not None and done < budget:
                            fetched(self._ids[url])
                            done += 1
                crowd.exchange()
                idle = idle + 1 if done == before else 0
            frontiers = [one.frontier for one in crowd.neighbours]
            self.ended, self.left = done < budget, sum(frontier.figures.waiting for frontier in frontiers)
            spent = sum(frontier.link_credit.ledger.spent for frontier in frontiers)
            for frontier in frontiers:
                for key in frontier.urls.keys():  # noqa: SIM118 - a table, no mapping
                    record = frontier.urls.get(key)
                    assert record is not None
                    self.importance[self._ids[record.url]] = record.history / spent
