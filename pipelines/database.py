from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, ClassVar, Final, Self

import sqlalchemy as sa
from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import run_in_thread
from sqlalchemy.dialects import mysql

from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.ending import stop_on_storage_error
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.pagestore.database import CRAWL, DatabaseOptions, DatabaseStore


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
        return cls(store, crawl.stats)

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


_DIGEST: Final = "item_digest"
"""The column with an item's digest."""


def _item_table(name: str) -> sa.Table:
    """The table of items."""
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column(CRAWL, sa.String(190), primary_key=True),
        sa.Column(_DIGEST, sa.CHAR(32), primary_key=True),
        sa.Column("rule", sa.String(190)),
        sa.Column("url", sa.Text),
        sa.Column("item", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )


def _item_row(item: Mapping[str, Any], crawl: str) -> dict[str, Any]:
    """The row for an item. `rule` and `url` stand in columns of their own, too, where the item has them. The key
    is the item's digest: an item that comes again, because a crash kept its page from a checkpoint, is the same row.

    Fields that JSON does not know become texts.
    """
    text = clean_text(json.dumps(dict(item), ensure_ascii=False, sort_keys=True, default=str))
    rule, url = item.get("rule"), item.get("url")
    return {
        CRAWL: clean_text(crawl)[:190],
        _DIGEST: blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest(),
        "rule": clean_text(str(rule))[:190] if rule is not None else None,
        "url": clean_text(str(url)) if url is not None else None,
        "item": text,
    }


class _ItemStore(DatabaseStore):
    """Gathers items and writes them in transactions, as a `DatabaseStore` does with pages."""

    key = _DIGEST
    what = "items"
    make_table = staticmethod(_item_table)
    make_row = staticmethod(_item_row)


class ItemsPipeline(DatabasePipeline):
    """Writes what spiders take from pages to the table `items` of the database at SITECRAWL_DATABASE_URL, as JSON;
    each item once. Pages pass.
    """

    table = "items"
    stat = "database/items"
    store_class = _ItemStore

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, PageItem):
            await self._add(ItemAdapter(item).asdict())
        return item
