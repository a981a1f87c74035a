from __future__ import annotations

import time
from typing import Any, ClassVar, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import run_in_thread

from pipelines.failure import stop_on_storage_error
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.database import DatabaseOptions, DatabaseStore


class DatabasePipeline:
    """Writes pages to the database at SITECRAWL_DATABASE_URL, in batches and in a thread. Other items pass."""

    table = "pages"
    stat = "database/pages"
    store_class: ClassVar[type[DatabaseStore]] = DatabaseStore

    def __init__(self, store: DatabaseStore, stats: StatsCollector) -> None:
        self._store = store
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not (url := configuration.secret(settings, "SITECRAWL_DATABASE_URL")):
            raise NotConfigured("SITECRAWL_DATABASE_URL names no database")
        assert crawler.stats
        crawl = Crawl.of(crawler)
        path, manifest = crawl.directory.path, crawl.directory.manifest
        options = DatabaseOptions(
            url=url,
            # A directory's name alone may come again; with the time it stays one crawl, also when it is resumed.
            crawl=f"{path.name} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(manifest.created))}",
            table=cls.table,
        )
        stop_on_storage_error(crawler)
        store = cls.store_class(options)
        crawl.checkpoints.add(store)
        return cls(store, crawler.stats)

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem):
            await self._add(item)
        return item

    async def _add(self, what: Any) -> None:
        self._store.add(what)
        self._stats.inc_value(self.stat)
        if self._store.due:
            await run_in_thread(self._store.flush)

    async def close_spider(self) -> None:
        await run_in_thread(self._store.flush)
        self._store.close()
