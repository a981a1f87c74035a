"""Workers that share a crawl of a small graph through a real Redis, driven by hand, each with a page store."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from database_files import database_at
from frontiers import Heard
from pagestore_helpers import STARTED, exchange, page
from redis_servers import Server, lasting, put_back
from waiting import PATIENCE
from worker_frontiers import CrawlOf

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.cluster.join import join
from sitecrawl.cluster.outside import CrawlOnRedis, opened
from sitecrawl.cluster.standing import Tally
from sitecrawl.cluster.steps import Keys
from sitecrawl.crawldir.directory import CrawlDirectory, keep_copy
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.crawldir.meta import PAGES as POSITION
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.urls.fingerprint import Fingerprinter

CRAWL = "shared"
PARTITIONS = 5
PAGES = 60
HOSTS = 16
LEASE = 600.0
KEY = bytes(16)
FINGERPRINTS = Fingerprinter(KEY)


def url_of(page: int) -> str:
    return f"http://h{page % HOSTS}.example/t{page % 3}/p{page}"


def number_of(url: str) -> int:
    return int(url.rpartition("p")[2])


def links_of(page: int) -> list[Link]:
    random = Random(page)
    return [link((page + 1) % PAGES), *(link(random.randrange(PAGES)) for _ in range(3))]


def link(page: int) -> Link:
    url = url_of(page)
    return Link(url, url[7:].partition("/")[0], key=FINGERPRINTS.url(url))


ALL = {url_of(page) for page in range(PAGES)}


def begin(redis: Server) -> None:
    """The crawl on Redis, with nothing in it."""
    with redis.client() as client:
        client.hset(Keys(CRAWL, PARTITIONS).base(0) + "crawl", "key", KEY.hex())
    join(ClusterOptions({"url": redis.url}, CRAWL, spider="test", shards=PARTITIONS))


class Worker:
    """One worker, in the directory `folder`. Use it inside one event loop."""

    def __init__(self, folder: Path, redis: Server) -> None:
        self.folder = folder
        directory = CrawlDirectory(folder, "test", key=KEY)
        self.database = database_at(directory.database, HASH_NAME)
        keep_copy(self.database, directory)
        self.pages = WarcStore(folder)
        position = self.database.get("meta", POSITION)
        self.pages.recover(json.loads(position) if position else None)
        self.heard = Heard()
        self.frontier, self.store = CrawlOf(redis.url, CRAWL, PARTITIONS, LEASE).worker(
            self.database, self.heard, FINGERPRINTS
        )
        self.in_flight: list[Visit] = []
        self.frontier.add([link(0), link(1)], depth=0)
        self._reread = self.database.get("meta", LINKS_READ) is not None
        if self._reread:
            for url in stored(folder):
                self.frontier.add(links_of(number_of(url)), depth=1, referrer=FINGERPRINTS.url(url))
        self.frontier.is_starting = False
        self.checkpoint()

    def fetch(self) -> bool:
        """Take a page, and end one that was taken before. Returns whether there was any."""
        if (visit := self.frontier.next()) is not None:
            self.in_flight.append(visit)
        if (len(self.in_flight) < 3 and visit is not None) or not self.in_flight:
            return visit is not None
        done = self.in_flight.pop(0)
        links = links_of(number_of(done.url))
        self.frontier.downloaded(done, 0.0)
        self.frontier.expand(done, links)
        body = f"{self.folder.name}: {[one.url for one in links]}".encode()
        came = exchange(done.url, body=body, started=STARTED + time.monotonic())
        self.pages.put(came, page(came))
        self.frontier.done(done, UrlState.FETCHED, status=200, row=self.pages.last_id)
        return True

    def checkpoint(self) -> None:
        batch = self.database.batch()
        if self._reread:
            batch.delete("meta", LINKS_READ)
        self._withdraw()
        self.pages.prepare(batch)
        self.frontier.prepare(batch)
        self.database.write(batch)
        self.frontier.committed()

    def _withdraw(self) -> None:
        if self.heard.stale_rows:
            self.pages.withdraw(self.heard.stale_rows)
            self.heard.stale_rows.clear()

    async def turn(self) -> bool:
        """Fetch some pages, make a checkpoint, and tell Redis. Returns whether the crawl has ended."""
        for _ in range(4):
            self.fetch()
        self.checkpoint()
        self.frontier.exchange.renewal.moved()
        self.frontier.exchange.renewal.round()
        await self.frontier.exchange.round()
        return self.frontier.has_ended

    async def kill(self) -> None:
        """Nothing more is written or sent."""
        self.database.close()
        self.pages.close()
        await self.store.steps.client.aclose()


def work(
    redis: Server, folders: Sequence[Path], pages: int | None = None, *, untold: int = 0, parts: bool = False
) -> None:
    """Let workers in these directories crawl until there are so many pages, or all, and be killed then. The first one
    stores up to `untold` pages more than Redis hears of; with `parts` each worker ends in good order.
    """

    async def crawl() -> None:
        workers = [Worker(folder, redis) for folder in folders]
        deadline = time.monotonic() + PATIENCE
        try:
            while not all([await worker.turn() for worker in workers]):
                assert time.monotonic() < deadline, "the crawl does not end"
                if pages is not None and fetched(redis) >= pages:
                    break
                await asyncio.sleep(0.002)
            if untold:
                await _work_on(workers[0], untold)
            for worker in workers if parts else ():
                worker.checkpoint()
                await worker.frontier.exchange.leave()
        finally:
            for worker in workers:
                await worker.kill()

    asyncio.run(crawl())


async def _work_on(worker: Worker, pages: int) -> None:
    wanted = worker.pages.last_id + pages
    for _ in range(10 * PAGES):
        if worker.pages.last_id < wanted:
            worker.fetch()
    worker.checkpoint()


def fetched(redis: Server) -> int:
    """How many pages Redis has heard of."""
    with on_redis(redis) as crawl:
        return sum(states[UrlState.FETCHED] for states in _states(crawl))


def _states(crawl: CrawlOnRedis) -> Iterator[Sequence[int]]:
    for partition in crawl.partitions:
        tally = crawl.client.hget(crawl.keys.base(partition) + "state", "tally")
        yield Tally.unpack(tally or b"").states


def on_redis(redis: Server) -> Any:
    return opened({"url": redis.url}, CRAWL)


def dead(redis: Server) -> None:
    """No worker counts as alive any more, and no partition is anybody's."""
    with redis.client() as client:
        client.delete(Keys(CRAWL, PARTITIONS).base(0) + "workers")
        for partition in range(PARTITIONS):
            client.delete(Keys(CRAWL, PARTITIONS).base(partition) + "lease")


class Frozen:
    """A crawl as it is, to be had again: what Redis has of it, and its workers' directories in `folder`."""

    def __init__(self, redis: Server, folder: Path) -> None:
        self._redis = redis
        self._folder = folder
        with redis.client() as client:
            self._keys = lasting(client)

    def thaw(self, folder: Path) -> list[Path]:
        """The workers' directories, in `folder` now."""
        with self._redis.client() as client:
            put_back(client, self._keys)
        shutil.copytree(self._folder, folder, dirs_exist_ok=True)
        return sorted(folder.glob("worker-*"))


def stored(folder: Path) -> list[str]:
    """The URLs of the pages that count in a worker's directory."""
    with closing(PageReader(folder)) as reader:
        return [capture.url for capture in reader.pages() if capture.kind == "page"]
