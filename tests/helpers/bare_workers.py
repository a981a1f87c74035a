"""A worker's frontier as a crawl has it, with its database and its checkpoints, without Scrapy around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from database_files import database_at
from frontiers import FINGERPRINTS, Heard
from redis_servers import Server
from scrapy.settings import Settings
from waiting import until_async

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.cluster.join import join
from sitecrawl.crawl.frontiers import FrontierFactory
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.http.sheets import Sheets
from sitecrawl.page.items import Link


def link(url: str) -> Link:
    return Link(url, url.split("/")[2], key=FINGERPRINTS.url(url))


class Worker:
    """On the crawl `test`, with no pauses; `options` are those of `ClusterOptions`."""

    def __init__(self, redis: Server, folder: Path, **options: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.database = database_at(folder / "db", HASH_NAME)
        self.heard = Heard()
        self.heard.checkpoint = self.checkpoint
        settings = Settings()
        settings.setmodule("sitecrawl.settings")
        settings.setdict(
            {
                "SITECRAWL_DELAY_FACTOR": 0,
                "DEPTH_LIMIT": options.get("max_depth", 0),
            },
            priority="cmdline",
        )
        make = FrontierFactory(
            settings, Sheets(), folder / "seen", host_key=FINGERPRINTS.host, fingerprint=FINGERPRINTS.url
        )
        joined = join(ClusterOptions({"url": redis.url}, "test", **options))
        self.frontier = make.of_worker(self.database, joined, self.heard)

    def checkpoint(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch)
        self.frontier.committed()

    def look(self) -> Visit | None:
        """The next visit, as the scheduler asks for it."""
        visit = self.frontier.next()
        if self.frontier.wants_checkpoint:
            self.checkpoint()
        return visit

    def has_finished(self) -> bool:
        self.look()
        return self.frontier.is_finished()

    def seed(self, *urls: str) -> None:
        self.frontier.add([link(url) for url in urls], depth=0)
        self.checkpoint()

    async def visits(self, number: int) -> list[Visit]:
        return [await until_async(self.look, "a visit") for _ in range(number)]

    async def abandon(self) -> None:
        """As a kill leaves it."""
        await self.frontier.exchange.cease()
        self.database.close()


@asynccontextmanager
async def working(redis: Server, folder: Path, *, shards: int = 1, **options: Any) -> AsyncIterator[Worker]:
    worker = Worker(redis, folder, shards=shards, **options)
    worker.frontier.start()
    try:
        yield worker
    finally:
        await worker.frontier.close()
        worker.database.close()
