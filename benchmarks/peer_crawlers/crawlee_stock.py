"""The crawler that crawlee's own documentation leads to, with its quickest parser."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext


async def crawl(seeds: list[str]) -> None:
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(desired_concurrency=32, min_concurrency=16, max_concurrency=64),
        respect_robots_txt_file=True,
        request_handler_timeout=timedelta(seconds=60),
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title})
        await context.enqueue_links(strategy="all")

    await crawler.run(seeds)


asyncio.run(crawl(Path(sys.argv[1]).read_text(encoding="ascii").split()))
