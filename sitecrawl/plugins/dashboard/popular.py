"""The most important pages of a running crawl, without ever looking at all of them at once.

A page's importance grows while others link to it, so yesterday's best is not today's. Two things keep the list near
the truth at a fixed cost: what has just been fetched is looked at, and a cursor goes round the table of URLs on disk,
a slice every second. A list may so be as old as the last round: ten thousand URLs take some seconds, ten million
hours. The exact list of any size is `scrapy rank`.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.record import history_of

if TYPE_CHECKING:
    from sitecrawl.frontier.reader import KnownUrl

KEPT: Final = 200
SLICE_SECONDS: Final = 0.001
_ROWS: Final = 64
"""Rows between two looks at the clock."""
_MAX_NEW: Final = 1000
"""Fetched URLs that are looked at together; of more in a second the last."""


class Popular:
    """Give `finished` every fetch whose visit is over, and call `look` now and then.

    `frontier` gives that of now: with another one, pages have come or gone.
    """

    def __init__(self, database: Database, frontier: Callable[[], DiskFrontier]) -> None:
        self._database = database
        self._frontier_now = frontier
        self._frontier = frontier()
        self._best: dict[bytes, float] = {}
        """Histories by fingerprint, at most twice `KEPT`."""
        self._floor = 0.0
        """What a history has to exceed to come in."""
        self._new: deque[bytes] = deque(maxlen=_MAX_NEW)
        self._cursor = b""
        self.rounds = 0
        """How often the cursor has come to the end."""

    def finished(self, fetch: Fetch) -> None:
        self._new.append(fetch.visit.key)

    def look(self, seconds: float = SLICE_SECONDS) -> None:
        """Look at what was fetched since the last time, and at a slice of the table. Raises `StorageError`."""
        if self._frontier is not self._frontier_now():
            self._begin_anew()
        keys = list(self._new)
        self._new.clear()
        for key, record in self._frontier.urls.get_many(keys).items():
            if record is not None:
                self._consider(key, record.history)
        self._go_round(time.perf_counter() + seconds)
        if len(self._best) > KEPT:
            self._prune()

    def _begin_anew(self) -> None:
        """Keep what is still here, and go round from the first row on."""
        self._frontier = self._frontier_now()
        here = self._frontier.urls.get_many(list(self._best))
        self._best = {key: history for key, history in self._best.items() if here[key] is not None}
        self._floor, self._cursor = 0.0, b""

    def _go_round(self, until: float) -> None:
        for rows, (key, data) in enumerate(self._database.scan("urls", self._cursor), 1):
            self._consider(key, history_of(data))
            if rows % _ROWS == 0 and time.perf_counter() >= until:
                self._cursor = key + b"\0"
                return
        self._cursor = b""
        self.rounds += 1

    def _consider(self, key: bytes, history: float) -> None:
        if history > self._floor or key in self._best:
            self._best[key] = history
            if len(self._best) > 2 * KEPT:
                self._prune()

    def _prune(self) -> None:
        self._best = dict(heapq.nlargest(KEPT, self._best.items(), key=lambda pair: pair[1]))
        self._floor = min(self._best.values())

    def top(self, limit: int) -> list[KnownUrl]:
        """The `limit` most important pages that are known of, the greatest first. Raises `StorageError`."""
        from sitecrawl.frontier.reader import KnownUrl  # noqa: PLC0415 - for those who look

        best = heapq.nlargest(limit, self._best.items(), key=lambda pair: pair[1])
        records = self._frontier.urls.get_many([key for key, _ in best])
        importance = self._frontier.link_credit.ledger.importance
        pages = [
            KnownUrl(importance(r), r.depth, r.status, r.state.name.lower(), r.url)
            for r in records.values()
            if r is not None
        ]
        return sorted(pages, key=lambda page: -page.importance)
