from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from pipelines.failure import stop_on_storage_error
from sitecrawl.errors import InvalidUrl
from sitecrawl.items import PageItem
from sitecrawl.pagestore import WarcStore
from sitecrawl.runtime import Runtime


class WarcPipeline:
    """Stores pages in the crawl directory's WARC files and page index. Other items pass."""

    def __init__(self, store: WarcStore) -> None:
        self._store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        stop_on_storage_error(crawler)
        return cls(Runtime.of(crawler).store)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem) and item.exchange is not None:
            try:
                self._store.put(item.exchange, item)
            except InvalidUrl as error:
                raise DropItem(str(error)) from error
        return item
