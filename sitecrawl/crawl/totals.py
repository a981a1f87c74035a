"""A crawl's counts: of this run in Scrapy's stats, of all runs in its database.

On a cluster, of the worker alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from scrapy.statscollectors import StatsCollector

from sitecrawl.base.figures import Figures
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.participant import Participant

F = TypeVar("F", bound=Figures)


class Totals(Participant, Generic[F]):
    """At every checkpoint, writes this run's figures to `stats`, and adds them to those of earlier runs under `key`.

    `now` returns the figures of this run, which are of `kind`.
    """

    def __init__(
        self, key: bytes, kind: type[F], now: Callable[[], F], *, database: Database, stats: StatsCollector
    ) -> None:
        self._key = key
        self._now = now
        self._stats = stats
        self._before = kind.unpack(database.get("meta", key))

    def prepare(self, batch: Batch) -> None:
        figures = self._now()
        for name, number in figures.counts().items():
            self._stats.set_value(f"{figures.prefix}/{name}", number)
        batch.put("meta", self._key, (self._before + figures).pack())
