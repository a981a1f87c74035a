from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.warc_store import WarcStore


class WarcPipeline:
    """Stores pages in the crawl directory's WARC files and page index. Other items pass."""

    def __init__(self, store: Fetches | WarcStore) -> None:
        self._store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler).fetches)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem) and item.exchange is not None:
            self._store.put(item.exchange, item)
        return item
