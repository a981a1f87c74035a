"""What the URL-seen test of a crawl did: in Scrapy's stats, and over all runs in the crawl's database.

Of a worker of a cluster it is the worker's own share.
"""

from __future__ import annotations

from collections.abc import Callable

from scrapy.statscollectors import StatsCollector

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SEEN_TOTALS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.seen.figures import SeenFigures


class SeenTotals(Participant):
    """Every checkpoint tells `stats` the figures of this run as `seen/...`, and adds them to those of earlier runs.

    `now` gives the figures of this run.
    """

    def __init__(self, database: Database, stats: StatsCollector, now: Callable[[], SeenFigures]) -> None:
        self._stats = stats
        self._now = now
        self._before = SeenFigures.unpack(database.get("meta", SEEN_TOTALS))

    def prepare(self, batch: Batch) -> None:
        figures = self._now()
        for name, number in figures.counts().items():
            self._stats.set_value(f"seen/{name}", number)
        batch.put("meta", SEEN_TOTALS, (self._before + figures).pack())
