"""Run Python's cycle collector less often.

A crawl makes thousands of objects a page, nearly all of which die with their last reference. The collector starts by
the number of new objects: with the default of 700 it took 4% of a crawl's time. It stays on, because Scrapy's
responses contain cycles.
"""

from __future__ import annotations

import gc
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler

_THRESHOLD: Final = 10_000
"""New objects that start a collection."""


class Garbage:
    """Extension. 10,000 new objects start a collection while a crawl runs."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Garbage:
        extension = cls()
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._before = gc.get_threshold()
        gc.set_threshold(_THRESHOLD, *self._before[1:])

    def spider_closed(self) -> None:
        gc.set_threshold(*self._before)
