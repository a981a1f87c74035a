"""A worker's frontier on a real Redis, driven as `order.py` drives that of one process: nothing is fetched."""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
HELPERS = PROJECT / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(PROJECT)]

from redis_servers import server  # noqa: E402
from replaying import Unheard  # noqa: E402

from sitecrawl.cluster.frontier import ClusterFrontier  # noqa: E402
from sitecrawl.cluster.join import join  # noqa: E402
from sitecrawl.cluster.options import ClusterOptions  # noqa: E402
from sitecrawl.cluster.shards import Keys, unpack  # noqa: E402
from sitecrawl.crawldir.database import Database  # noqa: E402
from sitecrawl.frontier.hosts import PolitenessOptions  # noqa: E402
from sitecrawl.frontier.record import UrlState  # noqa: E402
from sitecrawl.page.items import Link  # noqa: E402
from sitecrawl.urls.fingerprint import HASH_NAME, Fingerprinter  # noqa: E402
from sitecrawl.urls.url import Canonicalizer, Url  # noqa: E402

_ROUND = 50
"""Pages between two rounds with Redis: what a worker fetches in about a tenth of a second."""


class ClusterReplay:
    """One crawl on a Redis of its own. `targets` gives a page's links, `fetched` hears of every page."""

    def __init__(
        self, directory: Path, shards: int, url_of: Callable[[int], str], targets: Callable[[int], Sequence[int]]
    ) -> None:
        directory.mkdir()
        self._directory = directory
        self._shards = shards
        self._url_of = url_of
        self._targets = targets
        self._canonicalizer = Canonicalizer()
        self._ids: dict[bytes, int] = {}
        self.ended = False
        self.left = 0
        self.importance: dict[int, float] = {}

    def run(self, seeds: Sequence[int], budget: int, fetched: Callable[[int], None]) -> None:
        with server() as started:
            options = ClusterOptions({"url": started.url}, "order", shards=self._shards, ahead=64, host_batch=8)
            asyncio.run(self._run(options, seeds, budget, fetched))
            with started.client() as client:
                self.importance = dict(self._importances(client, options))

    async def _run(
        self, options: ClusterOptions, seeds: Sequence[int], budget: int, fetched: Callable[[int], None]
    ) -> None:
        joined = join(options)
        self._fingerprint = Fingerprinter(joined.key)
        with closing(Database(self._directory / "db", hash_name=HASH_NAME)) as database:
            frontier = ClusterFrontier(
                database,
                joined,
                host_key=self._fingerprint.host,
                listener=Unheard(),
                clock=time.monotonic,
                politeness=PolitenessOptions(delay_factor=0),
            )
            frontier.add([self._found(page) for page in seeds], depth=0)
            pump, done = frontier.pump, 0
            pump.starting = False
            while done < budget and not pump.ended:
                for _ in range(_ROUND):
                    if (visit := frontier.next()) is None:
                        break
                    page = self._ids[visit.key]
                    frontier.downloaded(visit, 0.0)
                    frontier.expand(visit, [self._found(target) for target in self._targets(page)])
                    frontier.done(visit, UrlState.FETCHED, status=200, good=True)
                    fetched(page)
                    done += 1
                frontier.flush(database.batch())
                frontier.flushed()
                await pump._round()  # noqa: SLF001 - a benchmark has no time to wait for the task
            self.ended, self.left = pump.ended, frontier.waiting
            await frontier.close()

    def _found(self, page: int) -> Link:
        url = self._url_of(page)
        host = url[7:].partition("/")[0]
        key = self._fingerprint.url(self._canonicalizer.canonical(Url(url, host)))
        self._ids[key] = page
        return Link(url, host, key=key)

    def _importances(self, client: Any, options: ClusterOptions) -> list[tuple[int, float]]:
        keys, found = Keys(options.crawl, options.shards), []
        for shard in range(options.shards):
            base = keys.base(shard)
            for name in client.scan_iter(f"sitecrawl:{{order.{shard}}}:done:*", count=10_000):
                for key, value in client.hgetall(name).items():
                    found.append((self._ids[key], struct.unpack(">BHf", value)[2]))
            for key, value in client.hgetall(f"{base}urls").items():
                found.append((self._ids[key], unpack(value)[6]))
        return found
