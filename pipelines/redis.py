from __future__ import annotations

import base64
import json
from typing import Any, Self

from redis.exceptions import RedisError
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import run_in_thread
from scrapy_redis.pipelines import RedisPipeline as ScrapyRedisPipeline
from scrapy_redis.pipelines import default_serialize

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.ending import stop_on_storage_error
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import PageItem


class RedisPipeline(ScrapyRedisPipeline, Participant):  # type: ignore[misc]
    """scrapy-redis' item pipeline with its settings, for pages too: JSON, pushed before the page counts as stored.
    Pages have a list of their own, so that who consumes one kind need not read the other.

    A page that a crash kept from its checkpoint is pushed again: consumers see every page at least once.
    """

    lost = ""
    """Why an item was lost; None before."""
    pages_key = "%(spider)s:pages"
    """Key of the list of pages, with `%(spider)s` as in `key`, that of items."""

    def __init__(self, server: Any, serialize_func: Any = None, **settings: Any) -> None:
        super().__init__(server, serialize_func=serialize_func or _serialize, **settings)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Raises `OptionError` for a key whose `%` format is invalid."""
        pipeline: Self = super().from_settings(settings)
        try:
            _ = pipeline.key % {"spider": ""}
        except (KeyError, ValueError, TypeError) as error:
            raise OptionError(
                f"REDIS_ITEMS_KEY is {pipeline.key!r}: %(spider)s alone is replaced, and % is written %%"
            ) from error
        return pipeline

    def item_key(self, item: Any, spider: Spider) -> str:
        """Key of the list for `item`."""
        key: str = self.pages_key if isinstance(item, PageItem) else self.key
        return key % {"spider": spider.name}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline: Self = cls.from_settings(crawler.settings)
        pipeline.crawler = crawler
        stop_on_storage_error(crawler)
        if has_our_scheduler(crawler.settings):
            Crawl.of(crawler).checkpoints.add(pipeline)
        return pipeline

    async def process_item(self, item: Any) -> Any:
        try:
            await run_in_thread(self._push, item, self.crawler.spider)
        except RedisError as error:
            self.lost = f"Redis takes no items: {error}. Start the crawl again when it is well"
            raise StorageError(self.lost) from error
        return item

    def _push(self, item: Any, spider: Spider) -> None:
        self.server.rpush(self.item_key(item, spider), self.serialize(item))

    def prepare(self, batch: Batch) -> None:
        """Fail the checkpoint if an item was lost; nothing is buffered."""
        if self.lost:
            raise StorageError(self.lost)


def _serialize(item: Any) -> str:
    """JSON of an item as in scrapy-redis; of a page as in docs/page-store.md."""
    return _page_json(item) if isinstance(item, PageItem) else default_serialize(item)


def _page_json(page: PageItem) -> str:
    """One JSON object: the page's facts, the addresses of its links, and its body.

    `body` is text where that is exact: encoded in `charset` it gives the very bytes again. Any other body is in
    `body_base64`.
    """
    fields = ("url", "status", "fetched", "depth", "referrer", "content_type", "charset", "title", "canonical")
    facts = {name: getattr(page, name) for name in (*fields, "noindex", "size")}
    text = _exact_text(page.body, page.charset)
    body = {"body_base64": base64.b64encode(page.body).decode()} if text is None else {"body": text}
    return json.dumps({**facts, "links": [link.url for link in page.links], **body})


def _exact_text(body: bytes, charset: str | None) -> str | None:
    """`body` as text, if that loses nothing."""
    if charset is None:
        return None
    try:
        text = body.decode(charset)
        return text if text.encode(charset) == body else None
    except (UnicodeError, LookupError):
        return None
