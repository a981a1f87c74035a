from __future__ import annotations

from typing import Any

from itemadapter import ItemAdapter

from pipelines.database import DatabasePipeline
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.itemtable import ItemStore


class ItemsPipeline(DatabasePipeline):
    """Writes what spiders take from pages to the table `items` of the database at SITECRAWL_DATABASE_URL, as JSON;
    each item once. Pages pass.
    """

    table = "items"
    stat = "database/items"
    store_class = ItemStore

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, PageItem):
            await self._add(ItemAdapter(item).asdict())
        return item
