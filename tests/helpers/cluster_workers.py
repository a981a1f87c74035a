"""A worker's frontier with its database and its checkpoints, without Scrapy around it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cluster_helpers import KEY
from frontiers import Heard
from redis_servers import Server
from waiting import until_async

from sitecrawl.cluster.frontier import ClusterFrontier
from sitecrawl.cluster.join import join
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.hosts import PolitenessOptions
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import HASH_NAME


class Worker:
    """A frontier with its database and a checkpoint, as `Runtime` and the scheduler give it."""

    def __init__(self, redis: Server, folder: Path, **options: Any) -> None:
        self.database = Database(folder / "db", hash_name=HASH_NAME)
        self.heard = Heard()
        self.heard.checkpoint = self.checkpoint
        joined = join(ClusterOptions({"url": redis.url}, "test", **options))
        self.frontier = ClusterFrontier(
            self.database,
            joined,
            host_key=str.encode,
            listener=self.heard,
            clock=time.monotonic,
            politeness=PolitenessOptions(delay=0, delay_factor=0),
        )

    def checkpoint(self) -> None:
        batch = self.database.batch()
        self.frontier.flush(batch)
        self.database.write(batch)
        self.frontier.flushed()

    async def seed(self, *urls: str) -> None:
        self.frontier.add([Link(url, url.split("/")[2], key=KEY.url(url)) for url in urls], depth=0)
        self.checkpoint()

    async def visits(self, number: int) -> list[Visit]:
        return [await until_async(self.frontier.next, "a visit") for _ in range(number)]


@asynccontextmanager
async def working(redis: Server, folder: Path, *, shards: int = 1, **options: Any) -> AsyncIterator[Worker]:
    worker = Worker(redis, folder, shards=shards, **options)
    worker.frontier.start()
    try:
        yield worker
    finally:
        await worker.frontier.close()
        worker.database.close()
