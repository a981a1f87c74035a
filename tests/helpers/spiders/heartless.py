"""Scrapy's engine without its heartbeat: it looks for work when it is told to, and never by itself."""

from __future__ import annotations

from typing import Self

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from waiting import FOREVER


class Heartless:
    """An extension: extensions are made before the engine opens its spider."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = FOREVER
        return cls()
