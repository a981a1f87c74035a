"""Stop the crawl when a pipeline's store fails; it resumes from the last checkpoint."""

from __future__ import annotations

from scrapy import signals
from scrapy.crawler import Crawler
from twisted.python.failure import Failure

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.privates import stop


def stop_on_storage_error(crawler: Crawler) -> None:
    """End the crawl with the reason `storage_error` at the first item that a pipeline cannot store."""

    def item_error(failure: Failure) -> None:
        if isinstance(failure.value, StorageError):
            crawler.signals.disconnect(item_error, signals.item_error)
            stop(crawler, "storage_error")

    crawler.signals.connect(item_error, signals.item_error, weak=False)
