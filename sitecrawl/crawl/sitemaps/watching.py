"""The gatherer at work in a crawler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from sitecrawl.crawl import configuration
from sitecrawl.crawl.engine import wake
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawl.sitemaps.added import Added
from sitecrawl.crawl.sitemaps.gatherer import Gatherer
from sitecrawl.page.links import Link
from sitecrawl.sitemap.store import SitemapStore
from sitecrawl.urls.url import Url

_TICK: Final = 1.0
"""Seconds between two looks at what is due."""


class Gathering:
    """The gatherer of one crawler: begun by its spider, woken when a visit is due; it may keep the crawl alive."""

    def __init__(self, crawler: Crawler, admits: Callable[[Link], bool], *, watch: bool) -> None:
        self._crawler = crawler
        self._admits = admits
        self._watch = watch
        self._gatherer: Gatherer | None = None
        self._added: Added
        self._ticks: AsyncioLoopingCall | LoopingCall = create_looping_call(self._tick)
        crawler.signals.connect(self._stop, signals.spider_closed)
        crawler.signals.connect(self._stay, signals.spider_idle)

    def begin(self, sites: Iterable[Url], named: Iterable[Url]) -> None:
        """Look for the sitemaps of `sites`, visit those that are `named`, and from now on all when they are due."""
        options = configuration.sitemaps(self._crawler.settings)
        limits = configuration.sitemap_limits(self._crawler.settings)
        runtime = Runtime.of(self._crawler)
        self._gatherer = Gatherer(runtime, options, self._admits, limits)
        self._added = Added(runtime.path)
        runtime.checkpoints.add(self._added)
        self._gatherer.discover(sites)
        self._gatherer.add(named)
        self._ticks.start(_TICK)

    @property
    def store(self) -> SitemapStore | None:
        """What is known of the sitemaps; None before `begin`."""
        return None if self._gatherer is None else self._gatherer.store

    def expects(self, response: Response) -> bool:
        """As `Gatherer.expects`."""
        return self._gatherer is not None and self._gatherer.expects(response)

    async def receive(self, response: Response) -> bool:
        """As `Gatherer.receive`."""
        return self._gatherer is not None and await self._gatherer.receive(response)

    def knows(self, key: bytes) -> bool:
        """Whether the URL with this fingerprint is a sitemap."""
        return self._gatherer is not None and key in self._gatherer.store

    def _tick(self) -> None:
        assert self._gatherer is not None
        self._gatherer.add(self._added.take())
        if self._gatherer.tick():
            wake(self._crawler)

    def _stay(self) -> None:
        if not self._watch or self._gatherer is None or Runtime.of(self._crawler).frontier.is_full:
            return
        if self._gatherer.store.is_watching():
            raise DontCloseSpider

    def _stop(self) -> None:
        if self._ticks.running:
            self._ticks.stop()
