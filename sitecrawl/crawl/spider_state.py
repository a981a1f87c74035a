"""`spider.state` as Scrapy has it, without pickle and as fresh as the last checkpoint."""

from __future__ import annotations

import logging
from typing import Any

import msgpack
from scrapy import Spider

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.requests import pack, unpack
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SPIDER_STATE
from sitecrawl.crawldir.participant import Participant

logger = logging.getLogger(__name__)


class SpiderState(Participant):
    """The dict `spider.state`, kept for resumed crawls.

    It may hold what `Request.meta` may hold. Every checkpoint writes all of it: keep it small.
    """

    def __init__(self, spider: Spider, database: Database) -> None:
        """Raises `CorruptFile`."""
        self._spider = spider
        self._warned = False
        self.state: dict[str, Any] = {}
        if (data := database.get("meta", SPIDER_STATE)) is not None:
            try:
                self.state = unpack(data)
            except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
                raise CorruptFile(f"The state of the spider {spider.name!r} cannot be read: {error!r}") from error
        spider.state = self.state  # type: ignore[attr-defined]

    def prepare(self, batch: Batch) -> None:
        try:
            batch.put("meta", SPIDER_STATE, pack(getattr(self._spider, "state", self.state)))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            if not self._warned:
                logger.warning("The state of the spider %r cannot be stored: %s", self._spider.name, error)
            self._warned = True
