"""Crawls by several workers that are to end at a limit, whatever happens to the workers and to Redis on the way."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import forks
from fleet import Worker, stored
from partitions import steps, totals
from redis_servers import Server
from waiting import PATIENCE, until

LEASE = 2
"""Seconds of the workers' leases: a pause may be longer."""
SHARDS = 4
_LOOK = 0.1
"""Seconds between two looks whether they have ended."""
_REASON = re.compile(r"'finish_reason': '(\w+)'")


@dataclass
class Result:
    """What became of one crawl with `max_pages`."""

    seed: int
    limit: int
    workers: int
    faults: list[str] = field(default_factory=list)
    ended: bool = False
    """Whether all workers that lived ended by themselves, and then the dead ones that were started again."""
    codes: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    fetched: int = 0
    """URLs that Redis counts as fetched."""
    stored: int = 0
    """Pages in the workers' stores."""
    seconds: float = 0.0

    @property
    def is_over(self) -> bool:
        return max(self.fetched, self.stored) > self.limit

    @property
    def is_short(self) -> bool:
        return min(self.fetched, self.stored) < self.limit

    def __str__(self) -> str:
        how = f"ended after {self.seconds:.1f} s" if self.ended else "DID NOT END"
        return (
            f"seed {self.seed}: {self.workers} workers, limit {self.limit}, fetched {self.fetched}, "
            f"stored {self.stored}, {how}; {', '.join(self.faults) or 'no faults'}; {' '.join(self.reasons)}"
        )


class LimitedCrawl:
    """So many `workers` on an empty Redis, and what is done to them. All is drawn from `seed`."""

    def __init__(
        self,
        workers: int,
        folder: Path,
        server: Server,
        seeds: str,
        *,
        seed: int,
        limit: int,
        **settings: Any,
    ) -> None:
        self.random = Random(seed)
        self.result = Result(seed, limit, workers)
        self._server = server
        self._client = server.client()
        self._client.flushall()
        forks.prepare()
        self.workers = [
            Worker(
                folder / f"worker-{number}",
                seeds,
                server.url,
                SITECRAWL_LEASE_SECONDS=LEASE,
                SITECRAWL_CLUSTER_SHARDS=SHARDS,
                SITECRAWL_MAX_PAGES=limit,
                SITECRAWL_DASHBOARD=False,
                **settings,
            )
            for number in range(workers)
        ]
        self._dead: list[Worker] = []

    def fetched(self) -> int:
        """As Redis counts."""
        return totals(self._client, shards=SHARDS).fetched

    # Faults

    def disturb(self, times: int) -> None:
        """So many faults, each after as many steps on Redis as are drawn, as long as the crawl lasts."""
        until(lambda: self.fetched() > 0, "a page")
        kinds = (self._kill, self._kill_for_good, self._pause, self._slow)
        for _ in range(times):
            later = steps(self._client) + self.random.randint(0, 15)
            until(partial(self._has_gone_on, later), "some more steps")
            if not self._alive():
                return
            self.random.choice(kinds)(self.random.choice(self._alive()))

    def _has_gone_on(self, number: int) -> bool:
        """Whether Redis has run so many scripts, or nobody is left who could ask for one."""
        return steps(self._client) >= number or not self._alive()

    def _alive(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.process.poll() is None]

    def _note(self, what: str) -> None:
        self.result.faults.append(what)

    def _kill(self, worker: Worker) -> None:
        self._note(f"{worker.folder.name} killed at {self.fetched()}")
        worker.kill()
        worker.start()

    def _kill_for_good(self, worker: Worker) -> None:
        """It is started again only when the others have ended."""
        if len(self._alive()) < 2:
            return
        self._note(f"{worker.folder.name} killed for good at {self.fetched()}")
        worker.kill()
        self._dead.append(worker)

    def _pause(self, worker: Worker) -> None:
        """For less than its leases last, or for more."""
        seconds = self.random.uniform(0.2, 2.0 * LEASE)
        self._note(f"{worker.folder.name} paused for {seconds:.1f} s at {self.fetched()}")
        worker.send(signal.SIGSTOP)
        time.sleep(seconds)
        worker.send(signal.SIGCONT)

    def _slow(self, _: Worker) -> None:
        milliseconds = self.random.randint(50, 1_500)
        self._note(f"Redis held up for {milliseconds} ms at {self.fetched()}")
        self._client.client_pause(milliseconds)

    # The end

    def end(self) -> Result:
        """Wait until all workers have ended; those that were killed for good are started again for that, last."""
        result, begun = self.result, time.monotonic()
        result.ended = self._ends(self._alive())
        result.seconds = time.monotonic() - begun
        for worker in self._dead:
            worker.start()
        result.ended = self._ends(self._dead) and result.ended
        result.codes = [code for worker in self.workers if (code := worker.process.poll()) is not None]
        result.reasons = [reason for worker in self.workers for reason in _REASON.findall(worker.log)]
        result.fetched, result.stored = self.fetched(), stored(self.workers).total()
        return result

    def _ends(self, workers: Sequence[Worker]) -> bool:
        """Whether these workers end by themselves, as long as anything goes on."""
        seen, deadline = (-1, -1), 0.0
        while left := sum(worker.process.poll() is None for worker in workers):
            now = time.monotonic()
            if (goes_on := (self.fetched(), left)) != seen:
                seen, deadline = goes_on, now + PATIENCE
            if now > deadline:
                return False
            time.sleep(_LOOK)
        return True

    def close(self) -> None:
        for worker in self._alive():
            worker.send(signal.SIGCONT)
            worker.kill()
        self._client.close()


def attack(
    workers: int,
    folder: Path,
    server: Server,
    seeds: str,
    seed: int,
    *,
    faults: int,
    limits: tuple[int, int],
) -> Result:
    """One crawl with what `seed` draws: two workers or more, a limit out of `limits`, up to so many faults."""
    random = Random(f"crawl {seed}")
    folder.mkdir(exist_ok=True)
    crawl = LimitedCrawl(
        random.randint(2, workers),
        folder,
        server,
        seeds,
        seed=seed,
        limit=random.randint(*limits),
        DOWNLOAD_DELAY=random.choice((0, 0.05, 0.1)),
    )
    try:
        crawl.disturb(random.randint(min(1, faults), faults))
        return crawl.end()
    finally:
        crawl.close()
