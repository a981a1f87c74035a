from __future__ import annotations

import logging
from typing import Any, Self

from scrapy.crawler import Crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.warc_store import WarcStore

logger = logging.getLogger(__name__)


class WarcPipeline:
    """Stores pages in the crawl directory's WARC files and page index. Other items pass."""

    def __init__(self, store: Fetches | WarcStore) -> None:
        self._store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.captures:
            logger.warning(
                "pipelines.WarcPipeline stores what middlewares.CaptureMiddleware has captured, and that is not "
                "among DOWNLOADER_MIDDLEWARES: nothing that is fetched is stored"
            )
        return cls(crawl.fetches)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem) and item.exchange is not None:
            self._store.put(item.exchange, item)
        return item
