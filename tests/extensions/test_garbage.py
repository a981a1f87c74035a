"""The cycle collector while a crawl runs."""

from __future__ import annotations

import gc

from scrapy import Spider
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.garbage import Garbage


def test_it_runs_less_often_while_a_crawl_runs() -> None:
    """What was set before is set again afterwards."""
    before = gc.get_threshold()
    extension = Garbage.from_crawler(get_crawler(Spider, {}))
    extension.spider_opened()
    assert gc.get_threshold() == (10_000, *before[1:])
    extension.spider_closed()
    assert gc.get_threshold() == before
