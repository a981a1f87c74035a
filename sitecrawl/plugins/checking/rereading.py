"""After a repair that may have lost URLs, read the links of stored pages again.

Only the crawl knows its scope, so a repair leaves this to the next start. Links that are known already have no
effect. The position is part of every checkpoint, so a stopped crawl continues from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Final, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.defer import deferred_from_coro

from middlewares.output import admitted
from sitecrawl.base.errors import CorruptFile, InvalidUrl, StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.cooperator import Cooperator, ended
from sitecrawl.crawl.privates import wake
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import Link
from sitecrawl.pagestore import Capture, PageReader
from sitecrawl.urls.url import parse

logger = logging.getLogger(__name__)

_Follow = Callable[[list[Link], list[Link], Capture], int]
"""Queue the links in scope and the requisites of a stored response; returns the number of new links."""
_ROW_BYTES: Final = 8


class Rereading(Participant):
    """Extension: reads links in short turns, and keeps the crawl running until all are read."""

    def __init__(self, crawler: Crawler, follow: _Follow) -> None:
        self._crawler = crawler
        self._follow = follow
        self._row: int | None = None
        """Row of the page index up to which pages have been read; None if there is nothing to read."""
        self._pause = Cooperator(crawler).pause
        crawler.signals.connect(self._begin, signals.spider_opened)
        crawler.signals.connect(self._stay, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not has_our_scheduler(crawler.settings):
            raise NotConfigured
        return cls(crawler, partial(_follow, crawler))

    def prepare(self, batch: Batch) -> None:
        if self._row is None:
            batch.delete("meta", LINKS_READ)
        else:
            batch.put("meta", LINKS_READ, self._row.to_bytes(_ROW_BYTES))

    def _begin(self) -> None:
        self._crawl = Crawl.of(self._crawler)
        try:
            data = self._crawl.database.get("meta", LINKS_READ)
        except StorageError as error:
            self._crawl.checkpoints.fail(error)
            return
        if data is None:
            return
        self._row = int.from_bytes(data)
        self._crawl.checkpoints.add(self)
        deferred_from_coro(self._run())

    def _stay(self) -> None:
        if self._row is not None:
            raise DontCloseSpider

    async def _run(self) -> None:
        if await ended(self._read_all(), self._crawl.checkpoints):
            self._row = None
            wake(self._crawler)

    async def _read_all(self) -> None:
        """Raises `StorageError`, `Stopping`."""
        with closing(PageReader(self._crawl.directory.path)) as reader:
            await self._read_from(reader)

    async def _read_from(self, reader: PageReader) -> None:
        assert self._row is not None
        logger.info("A repair may have lost URLs: the links of the stored pages are read again")
        new = unread = 0
        for capture in reader.captures(self._row, reader.last_id):
            try:
                new += self._follow(*self._links(reader, capture), capture)
            except (CorruptFile, InvalidUrl) as error:
                unread += 1
                logger.warning("The links of %s cannot be read again: %s", capture.url, error)
            self._row = capture.id
            await self._pause()
        self._crawl.stats.inc_value("links/reread_new", new)
        logger.info("Links read again: %s new URLs; %s responses could not be read", new, unread)

    def _links(self, reader: PageReader, capture: Capture) -> tuple[list[Link], list[Link]]:
        """Links of a page, or the target of a redirect; and the page's requisites."""
        if capture.kind == "redirect" and capture.redirect_to is not None:
            target = parse(capture.redirect_to)
            return [Link(target.href, target.host)], []
        if capture.kind == "page" and 200 <= capture.status < 300 and capture.method == "GET":
            stored = reader.read(reader.rendered(capture) or capture)
            page = self._crawl.reading.read_page(capture.url, stored.body, stored.headers)
            for link in page.links:
                link.nofollow |= page.nofollow
            return page.links, page.requisites
        return [], []


def _follow(crawler: Crawler, links: list[Link], parts: list[Link], capture: Capture) -> int:
    """Follow links of a stored page again, or of a redirect, which adds no depth."""
    assert crawler.spider
    crawl = Crawl.of(crawler)
    links = admitted(crawler.spider, links)
    if (score := getattr(crawler.spider, "score", None)) is not None:
        for link in links:
            link.score = score(link)
    depth = (capture.depth or 0) + (capture.redirect_to is None)
    new = crawl.found.rediscover(capture.url, links, depth=max(1, depth))
    crawl.found.require(crawl.keys.key_of(capture.url), parts, depth=capture.depth or 0)
    return new
