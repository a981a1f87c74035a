"""The search index, brought up to date when a crawl ends (`SITECRAWL_SEARCH_INDEX`).

It is done in a thread, from what the last checkpoint has made durable, as `scrapy search` does it beside a crawl. So
it may end at any page: when its time is up, and when somebody presses Ctrl-C once more. The next search goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.checkpoints import has_our_scheduler
from sitecrawl.crawl.directories import only_looks
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawl.traffic import INCOMPLETE, INDEXED
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.export import SEARCH_INDEX
from sitecrawl.plugins.export.documents.isolated import IsolatedDocuments
from sitecrawl.plugins.export.fulltext import SearchIndex
from sitecrawl.plugins.export.pages import Pages

logger = logging.getLogger(__name__)

_SECONDS: Final = 300.0
"""Which the end of a crawl may take longer: some 100,000 pages."""


class SearchIndexing:
    """Scrapy extension (`SITECRAWL_SEARCH_INDEX`)."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SearchIndexing:
        settings = crawler.settings
        if not SEARCH_INDEX.read(settings) or only_looks() or not has_our_scheduler(settings):
            raise NotConfigured
        indexing = cls()
        crawler.signals.connect(indexing.spider_opened, signal=signals.spider_opened)
        return indexing

    def spider_opened(self, spider: Spider) -> None:
        runtime = Runtime.of(spider.crawler)
        if not runtime.peers.are_there:
            runtime.checkpoints.last_acts.append(partial(update_index, runtime.path, runtime.stats))


async def update_index(directory: Path, stats: StatsCollector, seconds: float = _SECONDS) -> None:
    """Take in the pages of the crawl in `directory` that are new. What goes wrong is logged."""
    from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

    if not (directory / INDEX_FILE).is_file():
        return
    logger.info("Taking new pages into the search index")
    documents, until, stopped = IsolatedDocuments(), time.monotonic() + seconds, threading.Event()

    def stop() -> None:
        stopped.set()
        documents.close()

    def goes_on() -> bool:
        return not stopped.is_set() and time.monotonic() < until

    shutdown = reactor.addSystemEventTrigger("before", "shutdown", stop)  # type: ignore[arg-type] # Twisted calls it `self`
    try:
        count = await maybe_deferred_to_future(deferToThread(_updated, directory, documents, goes_on))
    except StorageError as error:
        logger.error("The search index is not up to date: %s", error)
        return
    finally:
        documents.close()
        if not stopped.is_set():
            reactor.removeSystemEventTrigger(shutdown)  # type: ignore[call-arg,misc]
    stats.set_value(INDEXED, count)
    if time.monotonic() >= until:
        stats.set_value(INCOMPLETE, value=True)
    for reason, number in documents.unread.items():
        stats.set_value(f"search/unread/{reason}", number)


def _updated(directory: Path, documents: IsolatedDocuments, go_on: Callable[[], bool]) -> int:
    """Update the index; return the number of new pages."""
    with (
        closing(PageReader(directory)) as reader,
        Pages(reader, documents) as pages,
        SearchIndex(directory) as index,
    ):
        return index.update(pages, go_on)
