"""Python's cycle collector, run less often.

A crawl makes some thousand objects a page, nearly all of which die with their last reference. The collector, which
looks for those that keep each other alive, goes by how many there are: with its default of 700 it took 4% of a
crawl's time. What Scrapy makes of a response is such a cycle, so the collector is not switched off.
"""

from __future__ import annotations

import gc

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured


class Garbage:
    """Extension. `SITECRAWL_GC_THRESHOLD` new objects start a collection; 0 leaves Python's own setting."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Garbage:
        threshold = crawler.settings.getint("SITECRAWL_GC_THRESHOLD")
        if not threshold:
            raise NotConfigured  # with a reason it would be a warning
        extension = cls(threshold)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._before = gc.get_threshold()
        gc.set_threshold(self._threshold, *self._before[1:])

    def spider_closed(self) -> None:
        gc.set_threshold(*self._before)
