"""What a pipeline does when its store takes no more: the crawl stops, and resumes from the last checkpoint."""

from __future__ import annotations

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from sitecrawl.base.errors import StorageError


def stop_on_storage_error(crawler: Crawler) -> None:
    """Ends the crawl, with the reason `storage_error`, at the first item that a pipeline could not store."""

    def item_error(failure: Failure) -> None:
        if isinstance(failure.value, StorageError) and crawler.engine is not None:
            crawler.signals.disconnect(item_error, signals.item_error)
            deferred_from_coro(crawler.engine.close_spider_async(reason="storage_error"))

    crawler.signals.connect(item_error, signals.item_error, weak=False)
