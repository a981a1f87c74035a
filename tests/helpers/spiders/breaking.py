"""Crawls whose pages are read by workers that break on some of them, or before there is any."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from scrapy.crawler import Crawler

from sitecrawl.page.links import PageOptions
from sitecrawl.page.process_pool import PoolOptions
from sitecrawl.plugins.isolation import isolated_reading
from sitecrawl.plugins.isolation.isolated_reading import _Parsers
from sitecrawl.spiders.generic import GenericSpider


class BreakingSpider(GenericSpider):
    name = "breaking"
    parsers: Callable[..., _Parsers] = partial(_Parsers, module="breaking_worker")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        vars(isolated_reading)["_Parsers"] = cls.parsers
        return super().from_crawler(crawler, *args, **kwargs)


class StartlessSpider(BreakingSpider):
    name = "startless"
    parsers = partial(_Parsers, module="no_such_worker")


class Single(_Parsers):
    """Has a first worker, and never another one."""

    def __init__(self, options: PoolOptions, page: PageOptions) -> None:
        super().__init__(options, page, module="breaking_worker")
        self._module = "no_such_worker"


class SingleSpider(BreakingSpider):
    name = "single"
    parsers = Single
