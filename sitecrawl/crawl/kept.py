"""What a run puts into each checkpoint besides frontier and pages: terms, `spider.state`, counts, feeds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import msgpack
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.base.figures import Figures
from sitecrawl.crawl.requests import pack, unpack
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SPIDER_STATE, TERMS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.crawldir.terms import Terms
from sitecrawl.frontier.places import delete_place, places_of, write_place
from sitecrawl.frontier.scope import Scope

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Figures)


class Told(Participant):
    """Arguments and settings of the run (`terms`), and the places that its seeds stand for in `scope`, if the spider
    has one.
    """

    def __init__(self, terms: Terms, scope: Scope | None, database: Database) -> None:
        self._terms = terms
        self._scope = scope
        self._database = database
        self._is_new = True
        self._begun = False
        if scope is not None:
            for place, led_to in places_of(database):
                if led_to:
                    scope.add_place(place, led_to=True)

    def end(self, reason: str) -> None:
        """Record the run's finish `reason` for the last checkpoint."""
        self._terms, self._is_new = replace(self._terms, ended=time.time(), reason=reason), True

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", TERMS, self._terms.pack())
        if not self._begun:  # seeds of an earlier run may be seeds no more
            for place, _ in places_of(self._database):
                delete_place(batch, place)
        for place, led_to in self._scope.take_new().items() if self._scope is not None else ():
            write_place(batch, place, led_to=led_to)

    def committed(self) -> None:
        self._is_new, self._begun = False, True


class SpiderState(Participant):
    """The dict `spider.state` as Scrapy has it, without pickle and as fresh as the last checkpoint.

    It may hold what `Request.meta` may hold. Every checkpoint writes all of it: keep it small.
    """

    def __init__(self, spider: Spider, database: Database) -> None:
        """Raises `CorruptFile`."""
        self._spider = spider
        self._warned = False
        self.state: dict[str, Any] = {}
        if (data := database.get("meta", SPIDER_STATE)) is not None:
            try:
                self.state = unpack(data)
            except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
                raise CorruptFile(f"The state of the spider {spider.name!r} cannot be read: {error!r}") from error
        spider.state = self.state  # type: ignore[attr-defined]

    def prepare(self, batch: Batch) -> None:
        try:
            batch.put("meta", SPIDER_STATE, pack(getattr(self._spider, "state", self.state)))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            if not self._warned:
                logger.warning("The state of the spider %r cannot be stored: %s", self._spider.name, error)
            self._warned = True


class Totals(Participant, Generic[F]):
    """Writes this run's figures to `stats`, and adds them to those of earlier runs under `key`. On a cluster they are
    the worker's alone.

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


class FeedFiles(Participant):
    """Scrapy's feeds: flushes those in local files, before the pages they come from count as done: after a `kill
    -9` a feed may repeat an item, but lacks none.

    A crash still loses items that Scrapy gathers in a temporary file to send to S3 or FTP at the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def prepare(self, batch: Batch) -> None:
        exporter = self._crawler.get_extension(FeedExporter)
        for slot in exporter.slots if exporter is not None else ():
            if slot.file is not None and not slot.file.closed:
                try:
                    slot.file.flush()
                except OSError as error:
                    raise StorageError(f"The feed {slot.uri} cannot be written: {error.strerror or error}") from error
