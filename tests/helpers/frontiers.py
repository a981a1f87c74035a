"""Every frontier behind one face, for tests that hold for all of them: checkpoints, crashes, and waiting."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from database_files import database_at, put_away
from memory_frontier import MemoryFrontier
from redis_servers import Server
from waiting import PATIENCE
from worker_frontiers import PATIENT, CrawlOf, PlainSeen

from sitecrawl.base.errors import StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.frontier.base import Peers
from sitecrawl.frontier.contract import Asked, Frontier
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter

FINGERPRINTS = Fingerprinter(bytes(16))


def found(name: str, host: str = "a.example", **rest: Any) -> Link:
    url = f"http://{host}/{name}"
    return Link(url, host, key=FINGERPRINTS.url(url), **rest)


def unfiltered_key(host: str = "a.example") -> bytes:
    """Of a request without filter: random but for the site's region."""
    return FINGERPRINTS.host(host)[:2] + os.urandom(14)


PART = Asked(Flag.REQUISITE)
"""What a page is made of."""


def name_of(visit: Visit) -> str:
    return visit.url.rpartition("/")[2]


class Heard:
    """A listener that remembers what it is told."""

    directory = Path()
    database: Database

    def __init__(self) -> None:
        self.given: list[bytes] = []
        self.linked: list[bytes] = []
        self.errors: list[StorageError] = []
        self.stale_rows: list[int] = []
        self.met: list[str] = []
        self.counts = Counter[str]()
        self.checkpoint: Callable[[], None] = lambda: None

    def given_up(self, key: bytes) -> None:
        self.given.append(key)

    def linked_to(self, key: bytes) -> None:
        self.linked.append(key)

    def woken(self) -> None: ...

    def failed(self, error: StorageError) -> None:
        self.errors.append(error)

    def counted(self, name: str, number: int) -> None:
        self.counts[name] += number

    def moved(self) -> None: ...

    def ended(self, reason: str) -> None:
        self.met.append(reason)

    def withdrawn(self, rows: list[int]) -> None:
        self.stale_rows += rows

    def seed_pushed(self, text: str) -> bool:
        return False

    def widened(self, url: str) -> None: ...


@dataclass
class Setting:
    """How a crawl is made."""

    folder: Path
    order: str = "bfs"
    politeness: PolitenessOptions = PATIENT
    redis: Server | None = None


WORKERS = ("shared",)
"""Kinds of which a frontier is that of one worker of many, and hears of what it does from Redis."""


class Maker(Protocol):
    """Makes a frontier over what the crawl has kept."""

    def __call__(
        self, setting: Setting, database: Database, listener: Heard, clock: Callable[[], float]
    ) -> Frontier: ...


def disk(setting: Setting, database: Database, listener: Heard, clock: Callable[[], float]) -> Frontier:
    return DiskFrontier(
        database,
        order_named(setting.order),
        seen=PlainSeen(),
        host_key=FINGERPRINTS.host,
        fingerprint=FINGERPRINTS.url,
        listener=listener,
        clock=clock,
        wall=lambda: 1_800_000_000.0,
        politeness=setting.politeness,
        options=FrontierOptions(requisites=True),
    )


def shared(setting: Setting, database: Database, listener: Heard, clock: Callable[[], float]) -> Frontier:
    """A worker's that has all of a crawl on Redis; its exchange begins when it does."""
    assert setting.redis is not None
    crawl = CrawlOf(setting.redis.url, "test", partitions=4, lease=PATIENCE)
    frontier, _ = crawl.worker(database, listener, FINGERPRINTS, order=setting.order, politeness=setting.politeness)
    return frontier


class KeptFrontier(MemoryFrontier):
    """Every checkpoint keeps a copy, to which `crash` goes back, as a new process does."""

    _written: dict[str, Any]
    _kept: ClassVar[dict[str, Any]] = {"records": {}, "requests": {}, "by_name": {}, "serial": 0}

    def prepare(self, batch: Batch) -> None:
        self._written = deepcopy({name: vars(self)[name] for name in KeptFrontier._kept})
        for key, record in self.records.items():
            if record.flags & Flag.VOLATILE:
                del self._written["records"][key]

    def committed(self) -> None:
        vars(self)["_kept"] = self._written

    def crash(self) -> None:
        vars(self).update(deepcopy(self._kept), in_flight={})
        for host in self.by_name.values():
            host.active, host.free_at = 0, host.asked_until


class Crawl:
    """One crawl on some frontier. Its clock moves only when it waits, but for a worker's, which is the real one."""

    def __init__(self, kind: str, setting: Setting) -> None:
        self.kind = kind
        self.setting = setting
        self.now = 1000.0
        self.heard = Heard()
        self.heard.checkpoint = self.checkpoint
        self.on_checkpoint: Callable[[], None] = lambda: None
        self._memory: KeptFrontier | None = None
        self._open()

    def _open(self) -> None:
        self.database = database_at(self.setting.folder / "db", HASH_NAME)
        self.frontier = self._made()
        self.peers = self.frontier if isinstance(self.frontier, SharedFrontier) else Peers()
        self.peers.start()

    def _made(self) -> Frontier:
        if self.kind != "memory":
            make: Maker = {"disk": disk, "shared": shared}[self.kind]
            return make(self.setting, self.database, self.heard, lambda: self.now)
        if self._memory is None:
            setting = self.setting
            order = order_named(setting.order)
            self._memory = KeptFrontier(self.heard, order, setting.politeness, lambda: self.now)
        else:
            self._memory.crash()
        return self._memory

    def clock(self) -> float:
        return time.monotonic() if self.kind in WORKERS else self.now

    def checkpoint(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.on_checkpoint()
        self.frontier.committed()

    async def crash(self) -> None:
        """The process dies and a new one begins: what came after the last checkpoint is gone."""
        if isinstance(self.frontier, SharedFrontier):
            await self.frontier.exchange.cease()
        self.database.close()
        self._open()

    async def close(self) -> None:
        await self.peers.close()
        put_away(self.database)

    # Work

    async def next(self) -> Visit | None:
        """The next visit, after whatever wait that takes; None at the end of the crawl."""
        deadline = time.monotonic() + PATIENCE
        while (visit := self.frontier.next()) is None:
            assert not self.heard.errors
            if self.frontier.is_finished():
                return None
            if self.peers.wants_checkpoint:
                self.checkpoint()
            await self._rest()
            assert time.monotonic() < deadline, "nothing comes, and nothing ends"
        return visit

    async def _rest(self) -> None:
        if self.kind in WORKERS:
            await asyncio.sleep(0.003)  # the worker's task talks to Redis meanwhile
            return
        seconds = self.frontier.next_time()
        assert seconds is not None, "URLs wait, and no host rests"
        self.now += seconds

    async def take(self, *names: str) -> list[Visit]:
        """The next visits, which must be of these, in some order."""
        visits = [visit for _ in names if (visit := await self.next()) is not None]
        assert sorted(map(name_of, visits)) == sorted(names)
        return visits

    async def nothing_comes(self) -> bool:
        """Whether nothing may be handed out now, though a worker has been given the time to hear of something."""
        for _ in range(20 if self.kind in WORKERS else 1):
            if self.frontier.next() is not None:
                return False
            await asyncio.sleep(0.005 if self.kind in WORKERS else 0)
        return True

    def finish(self, visit: Visit, *links: Link, state: UrlState = UrlState.FETCHED, **how: Any) -> None:
        if links:
            self.frontier.expand(visit, links)
        self.frontier.downloaded(visit, 0.0)
        self.frontier.done(visit, state, status=200 if state == UrlState.FETCHED else 0, **how)

    def ask(self, name: str, *, host: str = "a.example", key: bytes | None = None, **how: Any) -> bool:
        one = found(name, host)
        link = replace(one, key=one.key if key is None else key, priority=how.pop("priority", 0))
        place = {name: how.pop(name) for name in ("depth", "referrer") if name in how}
        return bool(self.frontier.add([link], **{"depth": 1, **place}, asked=Asked(**how)))

    async def drain(self, links: dict[str, list[Link]] | None = None) -> list[str]:
        """Fetch all that is left, each page with its links; the names in the order in which they came."""
        names = []
        while (visit := await self.next()) is not None:
            names.append(name_of(visit))
            self.finish(visit, *(links or {}).get(name_of(visit), ()))
        self.checkpoint()
        return names

    async def settled(self, **counts: int) -> None:
        """Wait until the crawl's counts are these: a worker hears of them after its checkpoint."""
        self.checkpoint()
        deadline = time.monotonic() + PATIENCE
        while (now := {name: getattr(self.frontier.figures, name) for name in counts}) != counts:
            assert self.kind in WORKERS, now
            assert time.monotonic() < deadline, now
            await asyncio.sleep(0.003)
            if self.kind in WORKERS:  # what comes from others is a checkpoint later in the counts
                self.checkpoint()


@asynccontextmanager
async def crawling(kind: str, setting: Setting) -> AsyncIterator[Crawl]:
    crawl = Crawl(kind, setting)
    try:
        yield crawl
    finally:
        await asyncio.wait_for(crawl.close(), PATIENCE)
