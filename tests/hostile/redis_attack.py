"""One attack on a crawl of many workers: its keys on Redis are spoilt, repaired, and the crawl goes on to its end.

What has to hold, whatever is spoilt:
- the repair ends without a traceback, and the check finds nothing any more; or it is said what cannot be repaired;
- the crawl goes on with its workers, and ends;
- in the end every page of the web is stored, once, and the check finds nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from fleet import urls_of, web_of
from partitions import totals
from redis_damages import spoil
from redis_servers import Server, lasting, put_back, server
from syntheticweb import Web
from victims import Forks
from waiting import until

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.cluster.outside import opened
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.checking.redis_check import check
from sitecrawl.plugins.checking.redis_repair import repair

PAGES: Final = 60
CRAWL: Final = "generic"
WORKERS: Final = ("worker-1", "worker-2")
SETTINGS: Final = {
    "SITECRAWL_LEASE_SECONDS": 2,
    "SITECRAWL_CLUSTER_SHARDS": 4,
    "SITECRAWL_SEEN_CAPACITY": 1_000,
    "SITECRAWL_ALLOW_PRIVATE": True,
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_MAX_PAGES": 10 * PAGES,
}


@dataclass
class Outcome:
    """What came of one attack."""

    spoils: list[str]
    faults: list[str] = field(default_factory=list)
    """What ought not to have happened."""
    named: list[str] = field(default_factory=list)
    """What the repair says that it cannot mend."""
    was_noticed: bool = False

    def __str__(self) -> str:
        return "; ".join(self.spoils) + "\n  " + "\n  ".join(self.faults)


@dataclass
class RedisRange:
    """A web, a Redis, and a crawl of two workers that were killed: `keys` and the directories in `folder`."""

    web: Web
    redis: Server
    forks: Forks
    folder: Path
    keys: dict[bytes, bytes] = field(default_factory=dict)

    def start(self, job: Path, **settings: Any) -> int:
        return self.forks.start(
            self.web.url(0), job, "-a", "scope=any", SITECRAWL_CLUSTER=self.redis.url, **{**SETTINGS, **settings}
        )

    def begin(self) -> None:
        """Two workers, one after the other; both are killed before the crawl is through."""
        for number, worker in enumerate(WORKERS, 1):
            job = self.folder / worker
            # Slowly: on a busy machine the first worker would fetch what the second one is to find.
            process = self.start(job, CONCURRENT_REQUESTS=2, CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOAD_DELAY=0.2)
            try:
                wanted = number * PAGES // 4
                until(lambda: self._fetched() >= wanted, f"{wanted} pages have been fetched")  # noqa: B023
                until((job / "pages.sqlite").exists, f"{worker} has a directory of its own")
            finally:
                os.kill(process, signal.SIGKILL)
                self.forks.end()
        with opened({"url": self.redis.url}, CRAWL) as crawl:
            until(lambda: not crawl.workers(), "the workers count as dead")
        with self.redis.client() as client:
            self.keys = lasting(client)

    def _fetched(self) -> int:
        with self.redis.client() as client:
            return totals(client).fetched

    def restore(self, folder: Path) -> None:
        with self.redis.client() as client:
            put_back(client, self.keys)
        for worker in WORKERS:
            shutil.copytree(self.folder / worker, folder / worker)


@contextmanager
def redis_range(folder: Path) -> Iterator[RedisRange]:
    """All that attacks need; the crawl has begun."""
    folder.mkdir(parents=True, exist_ok=True)
    with web_of(PAGES, 6, links=4) as web, server() as redis:
        forks = Forks(folder)
        try:
            at = RedisRange(web, redis, forks, folder)
            at.begin()
            yield at
        finally:
            forks.close()


def attack(at: RedisRange, seed: str) -> Outcome:
    """Spoil one to three things of the crawl, and see. `seed` decides what."""
    random = Random(seed)
    with tempfile.TemporaryDirectory(dir=at.folder) as name, at.redis.client() as client:
        folder = Path(name)
        at.restore(folder)
        outcome = Outcome([spoil(client, random) for _ in range(random.randint(1, 3))])
        if _repaired(at, folder, outcome):
            _go_on(at, folder, outcome)
            _compare(at, folder, outcome)
    return outcome


def _repaired(at: RedisRange, folder: Path, outcome: Outcome) -> bool:
    """Whether there is a crawl now that can go on."""
    try:
        with opened({"url": at.redis.url}, CRAWL) as crawl:
            found = repair(crawl, [folder / worker for worker in WORKERS])
    except SitecrawlError as error:
        outcome.named.append(str(error))
        return False
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        outcome.faults.append(traceback.format_exc(limit=-4))
        return False
    outcome.was_noticed = bool(found.before)
    outcome.faults += [f"not mended: {fault}" for fault in found.after]
    return not found.after


def _go_on(at: RedisRange, folder: Path, outcome: Outcome) -> None:
    """With all workers, one after the other: each has something in its directory."""
    for worker in WORKERS:
        at.start(folder / worker)
        ended = at.forks.end()
        if ended.code or "Traceback" in ended.log:
            outcome.faults.append(f"{worker} ends with {ended.code}: {ended.log[-600:]}")


def _compare(at: RedisRange, folder: Path, outcome: Outcome) -> None:
    stored: Counter[str] = Counter()
    for worker in WORKERS:
        with PageReader(folder / worker) as reader:
            stored.update(capture.url for capture in reader.pages() if capture.kind == "page")
    if missing := urls_of(at.web) - stored.keys():
        outcome.faults.append(f"{len(missing)} pages are not stored, such as {min(missing)}")
    if twice := [url for url, number in stored.items() if number > 1]:
        outcome.faults.append(f"{len(twice)} pages are stored more than once, such as {min(twice)}")
    with opened({"url": at.redis.url}, CRAWL) as crawl:
        left = check(crawl, [folder / worker for worker in WORKERS])
    outcome.faults += [f"in the end: {fault}" for fault in left.faults]
