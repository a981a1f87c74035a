"""Scrapy's `CloseSpider`, and its replacement on a cluster, where limits are those of all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.closespider import CloseSpider as OwnCloseSpider

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.directories import only_looks
from sitecrawl.crawl.sharing import crawl_limits, redis_of

if TYPE_CHECKING:
    from sitecrawl.cluster.exchange import Exchange


class CloseSpider:
    """Extension for every `CLOSESPIDER_*`. On a cluster it counts as Scrapy's does, and all workers end together."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CloseSpider | OwnCloseSpider:
        settings = crawler.settings
        if redis_of(settings) is None or only_looks() or not has_our_scheduler(settings):
            return OwnCloseSpider.from_crawler(crawler)
        team = Crawl.of(crawler).ours.team if crawl_limits(settings).of_run else None
        if team is None:
            raise NotConfigured
        extension = cls(team.exchange)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.response_received, signals.response_received)
        crawler.signals.connect(extension.spider_error, signals.spider_error)
        return extension

    def item_scraped(self) -> None:
        self._exchange.count("itemcount")

    def response_received(self) -> None:
        self._exchange.count("pagecount")

    def spider_error(self) -> None:
        self._exchange.count("errorcount")
