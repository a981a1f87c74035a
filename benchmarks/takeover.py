"""What it costs a worker to take a partition over: to read its snapshot off Redis, and to write it to its database.

    python benchmarks/takeover.py ../shared/data/webs --urls 10000 100000 600000

Partitions of so many URLs (`grown.py`) are put on a real Redis, each as a crawl that has no other partition and that
nobody works on. For each a worker begins in a process of its own, with the frontier that a crawl has, and does
nothing but take it over. A task that sleeps for a millisecond again and again sees how long nothing else can run:
while the partition is *read*, up to the checkpoint that lets it in, and in that checkpoint, where it is *taken*.
Then it is *given* away again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from copied import copies  # noqa: E402
from grown import KEY, Crawl, Many, fingerprinted  # noqa: E402
from redis_servers import Server  # noqa: E402
from replaying import Unheard  # noqa: E402
from scrapy.settings import Settings  # noqa: E402
from waiting import until_async  # noqa: E402

from sitecrawl.base.hashing import HASH_NAME  # noqa: E402
from sitecrawl.cluster.address import ClusterOptions  # noqa: E402
from sitecrawl.cluster.compaction import URLS  # noqa: E402
from sitecrawl.cluster.connection import connect_async  # noqa: E402
from sitecrawl.cluster.entries import Entry, pack_entry  # noqa: E402
from sitecrawl.cluster.join import join  # noqa: E402
from sitecrawl.cluster.leases import Leases  # noqa: E402
from sitecrawl.cluster.partition_store import Commit, PartitionStore  # noqa: E402
from sitecrawl.cluster.run import PLACE  # noqa: E402
from sitecrawl.cluster.shared_frontier import SharedFrontier  # noqa: E402
from sitecrawl.cluster.snapshots import pack_part  # noqa: E402
from sitecrawl.cluster.steps import Keys, Steps  # noqa: E402
from sitecrawl.crawl.frontiers import FrontierFactory  # noqa: E402
from sitecrawl.crawldir.database import Database  # noqa: E402
from sitecrawl.frontier.moving import parts_of  # noqa: E402
from sitecrawl.http.sheets import Sheets  # noqa: E402
from sitecrawl.urls.fingerprint import Fingerprinter  # noqa: E402

CRAWL = "taken"
LEASE = 600.0
"""Seconds: what is measured is no matter of leases."""


class Taken(NamedTuple):
    """Seconds and bytes."""

    urls: int
    reading: float
    longest_gap: float
    """Of the event loop, while it was read."""
    taking: float
    """All of it a gap."""
    of_a_core: float
    """Of the taking: on a machine that others use it takes longer."""
    giving: float
    """Of a core, all of it a gap."""
    memory: int
    """By which the worker's memory grew at its peak."""


# Into Redis


def put(crawl: Crawl, many: Many, folder: Path, url: str) -> int:
    """The only partition of `many`, as a crawl on the Redis at `url`. Returns the bytes of its snapshot."""
    options = options_of(url)
    keys = Keys(CRAWL, options.shards)
    with many.partition(0, folder) as database:
        rows = parts_of(database, many.territory.regions(0), URLS)
        parts = [pack_part(crawl.facts, some, crawl.fingerprint) for some in rows]

    async def put_parts() -> None:
        client = connect_async(options.redis, cluster=False)
        await client.hset(keys.base(PLACE) + "crawl", "key", KEY.hex())
        store = PartitionStore(Steps(client, keys), "0" * 16, Leases(LEASE, time.monotonic), time.monotonic)
        lent = await store.lease(0)
        assert lent is not None
        token, _ = lent
        await store.commit([Commit(0, token, Entry(0, 1, pack_entry(crawl.facts, {})))])
        for place, part in enumerate(parts):
            await store.put_part(0, token, place, part)
        assert await store.compact(0, token, len(parts), sum(map(len, parts)), 1) == b"done"
        await store.release(0, token)
        await client.aclose()

    asyncio.run(put_parts())
    return sum(map(len, parts))


def options_of(url: str) -> ClusterOptions:
    return ClusterOptions({"url": url}, CRAWL, shards=1, lease_seconds=LEASE, unsafe=True)


# Out of Redis


class Gaps:
    """How long the event loop did not get round to a task that sleeps for a millisecond."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - before)

    def stop(self) -> float:
        self._task.cancel()
        return self.longest


@contextmanager
def worker(folder: Path, url: str) -> Iterator[tuple[SharedFrontier, Database]]:
    database = Database(folder / "db", hash_name=HASH_NAME)
    settings = Settings()
    settings.setmodule("sitecrawl.settings")
    try:
        fingerprints = Fingerprinter(KEY)
        make = FrontierFactory(
            settings,
            Sheets(),
            folder / "seen.bloom",
            host_key=fingerprints.host,
            fingerprint=fingerprinted(fingerprints),
        )
        yield make.of_worker(database, join(options_of(url)), Unheard()), database
    finally:
        database.close()


def memory(field: str) -> int:
    """Of this process, in bytes: `VmRSS` as it is, `VmHWM` at its peak (proc(5))."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def take(folder: Path, url: str) -> Taken:
    """In a process of its own."""

    async def taken() -> Taken:
        with worker(folder, url) as (frontier, database):
            before = memory("VmRSS")
            begun, gaps = time.perf_counter(), Gaps()
            frontier.start()
            await until_async(lambda: bool(frontier.partitions.arrivals), "the partition is read", seconds=LEASE)
            arrived, longest = time.perf_counter(), gaps.stop()
            worked = time.thread_time()
            batch = database.batch()
            frontier.prepare(batch)
            database.write(batch)
            frontier.committed()
            taking, worked = time.perf_counter() - arrived, time.thread_time() - worked
            urls, grown = frontier.frontier.counts.known, memory("VmHWM") - before
            for held in frontier.holdings.held.values():
                held.is_leaving = True
            given = time.thread_time()
            frontier.partitions.change()
            given = time.thread_time() - given
            await frontier.exchange.cease()
            return Taken(urls, arrived - begun, longest, taking, worked, given, grown)

    return asyncio.run(taken())


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    sites = copies(arguments.webs, arguments.copies)
    crawl = Crawl(folder, sites, 1)
    crawl.grow(min(arguments.grown, *arguments.urls))
    print("| URLs | snapshot, MB | read, s | longest gap, s | taken, s | of a core, s | given, s | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for urls in arguments.urls:
        with tempfile.TemporaryDirectory(prefix="taken-", dir=folder) as place:
            redis = Server(Path(place))
            try:
                size = put(crawl, Many(crawl, sites, urls, 1), Path(place), redis.url)
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    found = process.submit(take, Path(place), redis.url).result()
            finally:
                redis.close()
        seconds = (found.reading, found.longest_gap, found.taking, found.of_a_core, found.giving)
        figures = " | ".join(f"{one:.2f}" for one in seconds)
        print(f"| {found.urls:,} | {size / 1e6:.1f} | {figures} | {found.memory / 1e6:.0f} |", flush=True)
    crawl.database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("webs", type=Path, help="a folder of recorded sites")
    parser.add_argument("--urls", type=int, nargs="+", default=[10_000, 100_000, 600_000])
    parser.add_argument("--grown", type=int, default=10_000, help="URLs that the frontier finds itself, at most")
    parser.add_argument("--copies", type=int, default=1, help="of each site, that the frontier crawls")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taken-") as folder:
        measure(Path(folder), arguments)


if __name__ == "__main__":
    main()
