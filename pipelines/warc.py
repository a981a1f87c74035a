from __future__ import annotations

from typing import Any, Protocol, Self

from scrapy.crawler import Crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.page.items import Exchange, PageItem


class _Store(Protocol):
    """Where exchanges go: a `WarcStore`, or `Fetches`, which store a page when its fetch is over."""

    def put(self, exchange: Exchange, page: PageItem | None = None) -> None: ...


class WarcPipeline:
    """Stores pages in the crawl directory's WARC files and page index. Other items pass."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler).fetches)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem) and item.exchange is not None:
            self._store.put(item.exchange, item)
        return item
