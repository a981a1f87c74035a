"""`max_pages` of a crawl by several workers is changed while they work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from bare_workers import Worker
from drawn import SEED
from redis_servers import Server

from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.keys import Keys
from sitecrawl.cluster.options import CrawlLimits, NewLimit
from sitecrawl.cluster.run import Run, change
from sitecrawl.cluster.standing import Tally
from sitecrawl.cluster.steps import Steps
from sitecrawl.crawl import frontiers, shared_frontiers
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit

PARTITIONS = 4
PAGES = 150
"""There are so many; limits are lower by as many as may fail."""
FAILURES = 30
KEYS = Keys("test", PARTITIONS)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (frontiers, shared_frontiers):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=found, time=time.time))
    return found


class History:
    """Workers that do, in a random order, what they do: each round with Redis is one step, and nothing waits.

    `cap` is what may be fetched or in flight in all: the limit, or where that got lower what was so when the last
    worker had heard of it, with what came to nothing in the hands of workers that were lost.
    """

    def __init__(self, redis: Server, folder: Path, clock: Clock, random: Random, max_pages: int) -> None:
        self._redis, self._folder, self._clock, self._random = redis, folder, clock, random
        self._client: Any = redis.client()
        self._steps = Steps(connect_async({"url": redis.url}, cluster=False), KEYS)
        self._names = count()
        self._changes = count(1)
        self._said = max_pages
        self._failures = 0
        self.limit = self.cap = max_pages or inf
        self._lost = 0
        self.workers: list[Worker] = []
        self.in_flight: dict[Worker, list[Visit]] = {}
        self.silent: set[Worker] = set()

    async def begin(self) -> None:
        """Two workers, and all that there is."""
        self.come()
        self.come()
        self.workers[0].seed(*(f"http://h{n % 25}.example/{n}" for n in range(PAGES)))
        while self.workers[0].frontier.figures.queued < PAGES:
            self._clock.now += 0.2
            for worker in self.workers:
                worker.frontier.exchange.renewal.moved()
                worker.frontier.exchange.renewal.round()
                await worker.frontier.exchange.round()
                worker.checkpoint()

    async def close(self) -> None:
        for worker in self.workers:
            await worker.abandon()
        await self._steps.client.aclose()
        self._client.close()

    # What may happen

    def come(self) -> None:
        if len(self.workers) < 3:
            folder = self._folder / f"worker-{next(self._names)}"
            worker = Worker(self._redis, folder, shards=PARTITIONS, limits=CrawlLimits(max_pages=self._said))
            self.workers.append(worker)
            self.in_flight[worker] = []

    async def kill(self) -> None:
        """A worker; what it had is free at once."""
        if len(self.workers) > 1:
            worker = self._random.choice(self.workers)
            self.forget(worker)
            self.workers.remove(worker)
            self.silent.discard(worker)
            await worker.abandon()

    def sleep(self) -> None:
        """A worker begins or ceases to be silent, and may lose what it has."""
        worker = self._random.choice(self.workers)
        self.silent ^= {worker}
        if worker in self.silent and len(self.silent) == len(self.workers):
            self.silent.clear()
        elif worker in self.silent and self._random.random() < 0.5:
            self.forget(worker)

    def forget(self, worker: Worker) -> None:
        """Its leases are over: what Redis has not heard from it has its place in the limit, and is another's."""
        self._lost += sum(self._used(partition) - self._told(partition) for partition in self._held(worker))
        session = worker.frontier.holdings.session
        self._client.zrem(KEYS.base(0) + "workers", session)
        for partition in range(PARTITIONS):
            lease = KEYS.base(partition) + "lease"
            if (self._client.get(lease) or b"").endswith(session.encode()):
                self._client.delete(lease)

    async def change(self) -> None:
        pages = self._random.choice([0, *range(1, PAGES - FAILURES)])
        await change(self._steps, Run(CrawlLimits(), 0), NewLimit(float(next(self._changes)), "", pages))
        self.limit, self._lost = pages or inf, 0

    def fetch(self, worker: Worker) -> None:
        while len(self.in_flight[worker]) < 6 and (visit := worker.look()) is not None:
            self.in_flight[worker].append(visit)

    def end(self, worker: Worker) -> None:
        for visit in self.in_flight[worker][::2]:
            self.in_flight[worker].remove(visit)
            if fails := self._failures < FAILURES and self._random.random() < 0.3:
                self._failures += 1
            worker.frontier.done(visit, UrlState.FAILED if fails else UrlState.FETCHED, status=200)

    async def round(self, worker: Worker) -> None:
        if worker not in self.silent:
            worker.frontier.exchange.renewal.moved()
            worker.frontier.exchange.renewal.round()
            await worker.frontier.exchange.round()

    # What is so

    def _held(self, worker: Worker) -> list[int]:
        """Partitions that are this worker's, as Redis has it."""
        session = worker.frontier.holdings.session
        leases = {n: self._client.get(KEYS.base(n) + "lease") for n in range(PARTITIONS)}
        held = worker.frontier.holdings.held
        return [n for n, lease in leases.items() if n in held and lease == f"{held[n].token}:{session}".encode()]

    def _told(self, partition: int) -> int:
        """Pages of which Redis has heard."""
        tally = Tally.unpack(self._client.hget(KEYS.base(partition) + "state", "tally") or b"")
        return tally.states[UrlState.FETCHED]

    def _used(self, partition: int) -> int:
        """Pages that are fetched or in flight, where the partition is."""
        for worker in self.workers:
            if partition in self._held(worker):
                held = worker.frontier.holdings.held[partition]
                return held.counts.states[UrlState.FETCHED] + worker.frontier.partitions.in_flight(partition)
        return self._told(partition)

    def look(self) -> None:
        """The invariant holds."""
        found = sum(self._used(partition) for partition in range(PARTITIONS))
        assert found <= self.cap
        have_heard = all((worker.frontier.run.max_pages or inf) == self.limit for worker in self.workers)
        if have_heard and sum(len(self._held(worker)) for worker in self.workers) == PARTITIONS:
            self.cap = max(self.limit, found + self._lost)
        else:
            self.cap = max(self.cap, self.limit)

    async def step(self) -> None:
        self._clock.now += 0.2
        seldom: list[Callable[[], object]] = [self.come, self.kill, self.sleep, self.change]
        often: list[Callable[[Worker], object]] = [self.fetch, self.end, Worker.checkpoint, self.round]
        if self._random.random() < 0.08:
            found = self._random.choice(seldom)()
        else:
            found = self._random.choice(often)(self._random.choice(self.workers))
        if asyncio.iscoroutine(found):
            await found
        self.look()

    async def finish(self) -> None:
        """Nothing is changed any more."""
        self.silent.clear()
        for _ in range(300):
            self._clock.now += 0.2
            for worker in self.workers:
                self.fetch(worker)
                self.end(worker)
                worker.frontier.exchange.renewal.moved()
                worker.frontier.exchange.renewal.round()
                await worker.frontier.exchange.round()
            self.look()
            if all(worker.frontier.is_finished() for worker in self.workers):
                return
        raise AssertionError("The crawl does not end")


@pytest.mark.parametrize(
    "seed", [108, pytest.param(113, marks=pytest.mark.deep), pytest.param(SEED, id="drawn", marks=pytest.mark.deep)]
)
def test_changes_between_anything(seed: int, redis: Server, clock: Clock, tmp_path: Path) -> None:
    """Whatever happens, no more is fetched than may be, and at the end exactly that; a lower limit lets nothing be
    asked for beyond what was in flight.
    """
    random = Random(seed)

    async def run() -> None:
        history = History(redis, tmp_path, clock, random, random.choice([0, 40]))
        await history.begin()
        for _ in range(150):
            await history.step()
        await history.finish()
        counts = history.workers[0].frontier.figures
        assert counts.fetched <= history.cap
        assert counts.fetched >= history.limit or not counts.queued
        await history.close()

    asyncio.run(run())
