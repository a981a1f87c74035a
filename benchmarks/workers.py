"""Many workers on one machine: how fast they are together, and how many one Redis carries.

    python benchmarks/workers.py --pages 20000 --workers 1,2
    python benchmarks/workers.py --steps 2,8,64

The first starts `scrapy crawl generic` with SITECRAWL_WORKERS as a user does, on a web (`syntheticweb.py`) that has
the last core; on fewer cores than workers and one they get in each other's way. Pages/s are those between the first
page and the last, without the starts of the processes; the processor's seconds are those of all processes, Redis'
among them, and of the starts. With `--part 0.5` (as root, on Linux) the crawl has half a core for each worker, all
processes together, so that the web and the others have the rest: what two cores of half the speed would give.

The second has no pages, and no workers either: it takes the steps that so many workers take on Redis in a second, by
their own code (`PartitionStore`, `Board`): each says that it lives, looks how all partitions stand, tells its
figures, and commits an entry for each of its four partitions, with bundles for others (`--bundles`). Entries are as
large as those of a real crawl: 4 kB a page (docs/scaling.md). What is counted is Redis' own processor time, so it
does not matter how fast this process is. One core of Redis carries what fits into a second of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from peers import Job, Ours, _environment, _settings, _wait, serving, told  # noqa: E402
from redis_servers import server  # noqa: E402
from syntheticweb import Web  # noqa: E402

from sitecrawl.cluster.connection import connect_async  # noqa: E402
from sitecrawl.cluster.entries import Entry, FromInbox  # noqa: E402
from sitecrawl.cluster.leases import Leases  # noqa: E402
from sitecrawl.cluster.partition_store import Commit, PartitionStore  # noqa: E402
from sitecrawl.cluster.run import Run  # noqa: E402
from sitecrawl.cluster.steps import Keys, Steps  # noqa: E402
from sitecrawl.plugins.dashboard.cluster import Board  # noqa: E402

FOR_EACH = 4
"""Partitions of a worker, as `sitecrawl.console.many_workers` makes them."""
BYTES = 4_000
"""Of an entry, a page."""
BUNDLE = 300
"""Bytes: links that lead to another partition."""
TALLY = 60
PERIOD = 20_000
"""Microseconds after which a part of a core is given anew."""
FIGURES = "x" * 600
_SPEED = re.compile(rb"([\d,.]+) a second")


class Crawled(NamedTuple):
    pages: int
    twice: int
    rate: float
    cpu: float


@contextmanager
def cores(number: float) -> Iterator[Path]:
    """A control group whose processes have so many cores, before all others: the file that takes their ids."""
    root = Path("/sys/fs/cgroup")
    group = (root / "cpu" if (root / "cpu").is_dir() else root) / f"workers-{os.getpid()}"
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.weight").write_text("10000")
            (group / "cpu.max").write_text(f"{round(number * PERIOD)} {PERIOD}")
        else:
            (group / "cpu.shares").write_text("262144")
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD}")
            (group / "cpu.cfs_quota_us").write_text(f"{round(number * PERIOD)}")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def crawl(web: Web, workers: int, part: float) -> Crawled:
    """One crawl by so many workers, each of which has `part` of a core."""
    with tempfile.TemporaryDirectory(prefix="workers-") as folder:
        job, ours = Job(web, Path(folder)), Ours()
        command = [*ours.command(job), *_settings({"SITECRAWL_WORKERS": workers, "SITECRAWL_DASHBOARD": False})]
        told(web)
        with (Path(folder) / "log").open("wb") as log, cores(part * workers) if part < 1 else nullcontext() as group:
            process = subprocess.Popen(command, cwd=folder, env=_environment(ours), stdout=log, stderr=log)
            if group:
                group.write_text(str(process.pid))
            status, usage = _wait(process)
        said = (Path(folder) / "log").read_bytes()
        rate = _SPEED.search(said)
        assert status == 0, said.decode()
        assert rate is not None, said.decode()
        asked = told(web)
        cpu = usage.ru_utime + usage.ru_stime
        return Crawled(asked["pages"], asked["requests"] - asked["pages"], float(rate[1].replace(b",", b"")), cpu)


class Simulated:
    """A worker's steps, without the work between them."""

    def __init__(self, url: str, number: int, workers: int, pages: int, bundles: int) -> None:
        steps = Steps(connect_async({"url": url}, cluster=False), Keys("simulated", FOR_EACH * workers))
        self.steps, self.session = steps, f"{number:016x}"
        self._store = PartitionStore(steps, self.session, Leases(30.0, time.monotonic), time.monotonic)
        self._board = Board(steps, self.session)
        self._tokens = {FOR_EACH * number + n: 0 for n in range(FOR_EACH)}
        self._shards = FOR_EACH * workers
        self._bundles = min(bundles, self._shards - 1)
        self._data = os.urandom(BYTES * pages // FOR_EACH)
        self._count = 0

    async def begin(self) -> None:
        for partition in self._tokens:
            lent = await self._store.lease(partition)
            assert lent is not None
            self._tokens[partition] = lent[0]

    async def second(self) -> None:
        """What a worker does on Redis in one."""
        self._count = count = self._count + 1
        await Run("", 0).beat(self.steps, self.session, 30.0)
        await self._store.standing()
        commits = []
        for partition, token in self._tokens.items():
            entry = Entry(
                partition,
                count,
                self._data,
                b"t" * TALLY,
                heard=FromInbox.of([b"b" * BUNDLE] * (self._bundles * (count - 1))),
                sends=self._sends(partition),
            )
            arrived = [f"{count - 1}:{target}" for target in entry.sends if count > 1]
            commits.append(Commit(partition, token, entry, arrived))
        assert None not in await self._store.commit(commits)
        await self._store.deliver(
            [
                (target, str(partition), count, bundle)
                for partition in self._tokens
                for target, bundle in self._sends(partition).items()
            ]
        )
        await self._store.inboxes(dict.fromkeys(self._tokens, 0), 100)
        if count % 2:
            await self._board.tell(FIGURES, read=False)

    async def close(self) -> None:
        await self.steps.client.aclose()

    def _sends(self, partition: int) -> dict[int, bytes]:
        return {(partition + n) % self._shards: b"b" * BUNDLE for n in range(1, 1 + self._bundles)}


async def simulate(workers: int, pages: int, bundles: int, seconds: int) -> tuple[float, int]:
    """Redis' processor seconds, and the commands that were sent, in so many seconds of a crawl in
    which each worker fetches `pages` a second.
    """
    with server() as redis, redis.client() as asked:
        team = [Simulated(redis.url, number, workers, pages, bundles) for number in range(workers)]
        for worker in team:
            await worker.begin()
        before, sent = cpu_of(asked), sum(worker.steps.commands for worker in team)
        for _ in range(seconds):
            await asyncio.gather(*(worker.second() for worker in team))
        spent = cpu_of(asked) - before
        sent = sum(worker.steps.commands for worker in team) - sent
        for worker in team:
            await worker.close()
        return spent, sent


def cpu_of(client: Any) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_user"] + found["used_cpu_sys"])


def bounds(workers: list[int], pages: int, bundles: int, seconds: int) -> Iterator[str]:
    yield f"| workers, each {pages} pages/s | Redis CPU, us/page | us/command | commands/s | of its core | full at |"
    yield "|---|---|---|---|---|---|"
    for number in workers:
        spent, sent = asyncio.run(simulate(number, pages, bundles, seconds))
        each = spent / (number * pages * seconds)
        share = spent / seconds
        yield (
            f"| {number} | {1e6 * each:,.0f} | {1e6 * spent / sent:,.1f} | {sent / seconds:,.0f} "
            f"| {share:.1%} | {1 / each:,.0f} pages/s |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Web()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", default="", help="how many, with commas between the numbers")
    parser.add_argument("--part", type=float, default=1.0, help="of a core, for each worker")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", default="", help="as many workers without work, with commas")
    parser.add_argument("--rate", type=int, default=200, help="pages a second that each of those fetches")
    parser.add_argument("--bundles", type=int, default=8, help="partitions to which the links of a second's pages go")
    parser.add_argument("--seconds", type=int, default=20, help="of their crawl")
    arguments = parser.parse_args()
    if arguments.steps:
        for line in bounds(
            [int(n) for n in arguments.steps.split(",")], arguments.rate, arguments.bundles, arguments.seconds
        ):
            print(line, flush=True)
    if arguments.workers:
        web = Web(**{name: getattr(arguments, name) for name in vars(Web())})
        with serving(web, (os.cpu_count() or 1) - 1, nginx=False):
            print(
                "| workers | pages | asked for twice | pages/s | CPU, ms a page |\n|---|---|---|---|---|", flush=True
            )
            for _ in range(arguments.rounds):
                for number in map(int, arguments.workers.split(",")):
                    one = crawl(web, number, arguments.part)
                    print(
                        f"| {number} | {one.pages:,} | {one.twice:,} | {one.rate:,.0f} "
                        f"| {1000 * one.cpu / one.pages:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
