"""Items of a crawl in a table of any database that SQLAlchemy reaches, each once, as JSON.

The key is the digest of the item itself: the same item of the same page, which comes again when a crash has kept its
page from a checkpoint, is the same row. The rest is as with pages (`sitecrawl.pagestore.database`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import sqlalchemy as sa
from itemadapter import ItemAdapter
from sqlalchemy.dialects import mysql

from pipelines.database import DatabasePipeline
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.pagestore.database import CRAWL, DatabaseStore

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
    """The row for an item. `rule` and `url` stand in columns of their own, too, where the item has them.

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
