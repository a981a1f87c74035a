"""A crawl by two workers on a machine that is busy with something else: is every page stored, and each fetched once?

    python benchmarks/busy.py --load 16 --runs 5 none kill stop full failover
    python benchmarks/busy.py --load 16 --runs 50 --part 0.125 --limit 200 none
    python benchmarks/busy.py --load 16 --runs 5 --cluster none kill stop

Busy loops run beside every crawl, so each process has a small part of a core; with `--part 0.125` each worker runs
for an eighth of the time only, besides. With `--limit` the crawl has `max_pages`, with `--cluster` it is on a Redis
Cluster of three nodes. What happens to the workers, once a part of the pages has been asked for:

    none      nothing
    kill      one after the other is killed and started again (`--kills` in all)
    stop      one is stopped for three leases' length
    still     Redis stands still for two leases' length, so that all leases are over
    full      Redis is full for a while
    failover  the master is killed, and a sentinel has its replica take over

The web is on the same machine, so it may be late as well, and a page that brings nothing for half a second while
others wait is put off, and asked for once more (`frontier/urls/pace.py`): that is told (`put_off`), and is no fault.

A line for each run, with the machine's load average at its end. The exit code is 1 if pages are missing or stored
twice, a crawl did not end, or a worker ended with another exit code than 0.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

import forks  # noqa: E402
from fleet import Worker, fleet, stored, told, web_of  # noqa: E402
from redis_servers import Server, Watched, cluster, server, watched  # noqa: E402
from syntheticweb import Web  # noqa: E402
from waiting import until  # noqa: E402

from sitecrawl.frontier.urls import pace  # noqa: E402

_KINDS = ("none", "kill", "stop", "still", "full", "failover")
_LOOK = 0.05
_PERIOD = 0.1
"""Seconds in which a worker with a part of a core runs once."""
_TOLD = re.compile(r"'(?:cluster/(?=lost_)|frontier/(?=put_off))(\w+)': (\d+)")
_PATIENCE = {"sitecrawl.frontier.urls.pace.LEAST_PATIENCE": pace.LEAST_PATIENCE}
"""That of users, where forks for tests have another one."""


@contextmanager
def busy_loops(number: int, nice: int) -> Iterator[None]:
    command = ["nice", "-n", str(nice), sys.executable, "-I", "-S", "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _alive(workers: list[Worker]) -> list[Worker]:
    return [worker for worker in workers if worker.process.poll() is None]


def _until_asked(web: Web, pages: float, workers: list[Worker], patience: float) -> bool:
    """Wait until the web was asked for so many pages. False if the crawl ends before, or takes too long for that."""
    deadline = time.monotonic() + patience
    while told(web, "/peek")["requests"] < pages:
        if not _alive(workers) or time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
    return True


@contextmanager
def part_of_a_core(workers: list[Worker], part: float) -> Iterator[None]:
    """Let each of `workers` run for `part` of the time, as a container's quota does."""
    over = Event()

    def hold() -> None:
        while not over.wait(part * _PERIOD):
            for worker in workers:
                worker.send(signal.SIGSTOP)
            over.wait((1 - part) * _PERIOD)
            for worker in workers:
                worker.send(signal.SIGCONT)

    holder = Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        over.set()
        holder.join()


def _kill(workers: list[Worker], web: Web, kills: int, pages: int, patience: float) -> int:
    """Kill and start a worker `kills` times, evenly over the crawl. How many kills there were."""
    for number in range(kills):
        if not _until_asked(web, pages * (number + 1) / (kills + 1), workers, patience):
            return number
        alive = _alive(workers)
        worker = alive[number % len(alive)]
        worker.kill()
        worker.start()
    return kills


def _stop(workers: list[Worker], seconds: float) -> None:
    workers[0].send(signal.SIGSTOP)
    time.sleep(seconds)
    workers[0].send(signal.SIGCONT)


def _stand_still(redis: Server, seconds: float) -> None:
    os.kill(redis.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(redis.pid, signal.SIGCONT)


def _fill(redis: Server, seconds: float) -> None:
    with redis.client() as client:
        client.config_set("maxmemory", "1")
        time.sleep(seconds)
        client.config_set("maxmemory", "0")


def _fail_over(redis: Watched) -> None:
    redis.master.kill()
    until(redis.has_taken_over, "the replica has taken over")


def run(kind: str, arguments: argparse.Namespace) -> bool:
    """One crawl. Whether nothing is wrong with it."""
    settings: dict[str, object] = {"SITECRAWL_LEASE_SECONDS": arguments.lease, "SITECRAWL_DASHBOARD": False}
    settings["LIMITS"] = _PATIENCE
    limit = arguments.limit or arguments.pages
    if arguments.limit:
        settings["SITECRAWL_MAX_PAGES"] = limit
    with ExitStack() as stack:
        redis: Server | Watched
        if kind == "failover":
            redis = stack.enter_context(watched())
        else:
            redis = stack.enter_context(cluster())[0] if arguments.cluster else stack.enter_context(server())
        web = stack.enter_context(web_of(arguments.pages))
        folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="busy-")))
        folder = folder / f"{kind}-{time.time_ns()}"
        forks.prepare()
        stack.enter_context(busy_loops(arguments.load, arguments.nice))  # last: all else is ready
        workers = stack.enter_context(fleet(folder, 2, web.url(0), redis.url, **settings))
        if arguments.part < 1:
            stack.enter_context(part_of_a_core(workers, arguments.part))
        begun = time.monotonic()
        faults = 0
        if kind == "kill":
            faults = _kill(workers, web, arguments.kills, limit, arguments.patience)
        elif kind in {"stop", "still", "full", "failover"} and _until_asked(
            web, limit / 4, workers, arguments.patience
        ):
            faults = 1
            if kind == "stop":
                _stop(workers, 3 * arguments.lease)
            elif isinstance(redis, Watched):
                _fail_over(redis)
            elif kind == "still":
                _stand_still(redis, 2 * arguments.lease)
            else:
                _fill(redis, 2 * arguments.lease)
        while _alive(workers) and time.monotonic() - begun < arguments.patience:
            time.sleep(_LOOK)
        ended, seconds = not _alive(workers), time.monotonic() - begun
        pages, asked = stored(workers), told(web)
        lines = [found for worker in workers for found in _TOLD.findall(worker.log)]
        print(
            f"{kind}{', cluster' if arguments.cluster else ''}, {faults} faults, load {arguments.load}, "
            f"part {arguments.part:g}, lease {arguments.lease:g}: {len(pages)} of {limit} stored, "
            f"{sum(n > 1 for n in pages.values())} twice; {asked['repeated']} fetched more than once, "
            f"one {asked['most']} times; {'ended after' if ended else 'NOT ENDED IN'} {seconds:.0f} s, "
            f"exit codes {[worker.process.poll() for worker in workers]}; told: "
            f"{', '.join(f'{name} {number}' for name, number in lines) or 'nothing'}; "
            f"load average {os.getloadavg()[0]:.0f}",
            flush=True,
        )
        codes = {worker.process.poll() for worker in workers}
    return codes == {0} and len(pages) == limit and set(pages.values()) == {1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=_KINDS)
    parser.add_argument("--load", type=int, default=6, help="busy loops")
    parser.add_argument("--nice", type=int, default=0, help="of the busy loops")
    parser.add_argument("--part", type=float, default=1.0, help="of the time, for which each worker may run")
    parser.add_argument("--lease", type=float, default=5.0, help="seconds")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--limit", type=int, default=0, help="max_pages")
    parser.add_argument("--cluster", action="store_true", help="a Redis Cluster")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--patience", type=float, default=110.0, help="seconds until a crawl is given up")
    parser.add_argument("--keep", type=Path, help="a folder for the workers' logs and directories")
    arguments = parser.parse_args()
    if arguments.cluster and {"still", "full", "failover"} & {*arguments.kinds}:
        parser.error("a Redis Cluster is neither stopped, filled nor failed over here")
    if arguments.part < 1 and "stop" in arguments.kinds:
        parser.error("workers that run for part of the time are stopped all the time")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # or the busy loops would go on for ever
    sound = [run(kind, arguments) for kind in arguments.kinds for _ in range(arguments.runs)]
    sys.exit(not all(sound))


if __name__ == "__main__":
    main()
