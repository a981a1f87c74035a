"""Crawls whose pages are read by workers that break on some of them, or before there is any."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

from scrapy.crawler import Crawler

from sitecrawl.crawl import reading
from sitecrawl.isolation.parsers import Parsers
from sitecrawl.spiders.generic import GenericSpider


class BreakingSpider(GenericSpider):
    name = "breaking"
    worker = "breaking_worker"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        vars(reading)["Parsers"] = partial(Parsers, module=cls.worker)
        return super().from_crawler(crawler, *args, **kwargs)


class StartlessSpider(BreakingSpider):
    name = "startless"
    worker = "no_such_worker"
