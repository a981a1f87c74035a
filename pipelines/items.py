from __future__ import annotations

from typing import Any

from itemadapter import ItemAdapter
from scrapy.settings import BaseSettings

from pipelines.database import DatabasePipeline
from sitecrawl.base import declared
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.database import DatabaseStore
from sitecrawl.pagestore.itemcolumns import ItemColumnStore
from sitecrawl.pagestore.itemtable import ItemStore


class ItemsPipeline(DatabasePipeline):
    """Writes what spiders take from pages to the table `items` of the database at SITECRAWL_DATABASE_URL, as JSON or,
    with SITECRAWL_ITEMS_COLUMNS, a column a field; each item once. Pages pass.
    """

    table_setting = declared.ITEMS_TABLE
    stat = "database/items"

    @staticmethod
    def store_class(settings: BaseSettings) -> type[DatabaseStore]:
        return ItemColumnStore if declared.ITEMS_COLUMNS.read(settings) else ItemStore

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, PageItem):
            await self._add(ItemAdapter(item).asdict())
        return item
