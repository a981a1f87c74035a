"""What a worker learns while it ends is in its directory, for it may never be started again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

from pagestore_helpers import exchange, page
from redis_servers import Server
from scrapy import Spider
from scrapy.utils.test import get_crawler
from waiting import until_async

from sitecrawl.cluster.steps import Keys
from sitecrawl.crawl.build import Crawl
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.pagestore import PageReader
from sitecrawl.scheduler import Scheduler
from sitecrawl.urls.url import parse

URL = "http://a.example/"


class Any(Spider):
    name = "any"


def test_a_page_that_is_lost_at_the_last_moment(redis: Server, tmp_path: Path) -> None:
    """Another worker has its partition, as Redis says when it is sent: it is taken out of the index all the same."""
    settings = {
        "ADDONS": {"sitecrawl.addon.Addon": 500},
        "JOBDIR": str(tmp_path),
        "SITECRAWL_CLUSTER": redis.url,
        "SITECRAWL_CLUSTER_SHARDS": 1,
    }

    async def story() -> None:
        crawler = get_crawler(Any, settings)
        crawler.spider = crawler._create_spider()
        crawler.engine = SimpleNamespace(_slot=None)  # type: ignore[assignment]
        scheduler = Scheduler.from_crawler(crawler)
        crawl = Crawl.of(crawler)
        assert crawl.ours.team is not None
        assert crawl.pages.store is not None
        crawl.ours.team.start()
        crawl.seeding.seed([parse(URL)])

        def look() -> Visit | None:
            crawl.checkpoints.run()
            return crawl.frontier.next()

        visit = await until_async(look, "the visit")
        with redis.client() as client:
            client.set(Keys("any", 1).base(0) + "lease", f"7:{'1' * 16}")
        came = exchange(URL, body=b"<title>a page</title>")
        crawl.pages.store.put(came, page(came))
        crawl.frontier.downloaded(visit, 0.0)
        crawl.frontier.done(visit, UrlState.FETCHED, status=200, row=crawl.pages.store.last_id)
        await scheduler._part("finished")

    asyncio.run(story())
    with PageReader(tmp_path) as reader:
        assert [(one.kind, one.url) for one in reader.captures()] == [("other", URL)]
