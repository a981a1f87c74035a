"""What others do: the same crawl with stock Scrapy's JOBDIR, and with scrapy-redis. Each page is a line in a file,
written and flushed as soon as the spider has it.

    scrapy runspider scrapy_crawlers.py -a root=http://127.0.0.1:8000 -a feed=pages.txt -s JOBDIR=job
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class LinePipeline:
    """Appends each page's URL to a file."""

    def process_item(self, item: Any, spider: Spider) -> Any:
        with Path(spider.feed).open("a") as file:  # type: ignore[attr-defined]
            file.write(item["url"] + "\n")
        return item


class Follower(Spider):
    """Follows all links of one host."""

    name = "follower"
    root: str
    feed: str
    custom_settings = {  # noqa: RUF012 - Scrapy's interface
        "ITEM_PIPELINES": {LinePipeline: 1},
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
    }

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/0")

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield {"url": response.url}
        for link in LinkExtractor().extract_links(response):
            yield Request(link.url)
