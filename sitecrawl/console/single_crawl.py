"""For commands that run one spider themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from scrapy import Spider
from scrapy.crawler import CrawlerProcessBase

from sitecrawl.base.display import printable
from sitecrawl.crawl.traffic import Traffic

_Spider = TypeVar("_Spider", bound=Spider)


def run_spider(process: CrawlerProcessBase, kind: type[_Spider], **arguments: Any) -> tuple[_Spider, dict[str, Any]]:
    """Run a crawl; return its spider and statistics. Raises what kept the crawl from beginning."""
    crawler = process.create_crawler(kind)
    task = asyncio.ensure_future(process.crawl(crawler, **arguments))
    process.start()
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        raise error
    assert isinstance(crawler.spider, kind)
    return crawler.spider, crawler.stats.get_stats() if crawler.stats else {}


def obstacle(stats: Mapping[str, Any]) -> str:
    """Why a crawl of one page brought nothing, in words."""
    traffic = Traffic.read(stats)
    refused = [status for status in traffic.statuses if status >= 400]
    if refused:
        return f"the server answered with status {refused[0]}"
    if traffic.forbidden:
        return "its robots.txt forbids it"
    return printable(traffic.failures.most_common(1)[0][0]) if traffic.failures else "no page came of it"
