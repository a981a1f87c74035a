"""Many workers on one Redis: ours against scrapy-redis, on the same web, in the same run.

    python benchmarks/cluster.py --pages 5000 --workers 2
    python benchmarks/cluster.py --kills 20

All workers of a crawler share one core; the web (`syntheticweb.py`) and the redis-server share another. Pages per
CPU second are those of the workers from their start to their end, and, as a start takes as much as hundreds of pages,
without what they took for a web of one page. What a page costs Redis is its own CPU time, the commands that clients
sent, those that ran inside of scripts as well, and the bytes in and out: it is in no figure of the workers. Memory is
what Redis holds at its peak and at the end, above what it held empty, by the pages of the web: it knows no other
URLs. After each crawl comes a line with the medians of that crawler's crawls so far, and the responses that each
worker of this one had: where one had none, the other did not have to share, and the row says nothing of a cluster.

`--kills` kills a worker so many times at random moments, as `crash.py` does, and counts the pages that are never
stored and those that are stored twice.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median

PROJECT = Path(__file__).resolve().parent.parent
HELPERS = PROJECT / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(PROJECT)]

from killing import Crawler, ScrapyRedis, Sitecrawl, redis_server, survive, web_of  # noqa: E402
from peers import Job, Ours, Peer, _environment, _pinned, _settings, _wait, serving, told  # noqa: E402
from peers import ScrapyRedis as ScrapyRedisPeer  # noqa: E402
from redis_servers import Server  # noqa: E402
from syntheticweb import Web  # noqa: E402

IDLE = 20
"""Seconds for which scrapy-redis waits before it believes that its queue stays empty (`max_idle_time`): the worker
that did not get the seeds waits until the other one has read a page.
"""


class OurWorker(Ours):
    name = "sitecrawl"

    def command(self, job: Job) -> list[str]:
        settings = {
            "SITECRAWL_CLUSTER": job.redis,
            "SITECRAWL_CLUSTER_UNSAFE": True,
            "STATS_DUMP": True,
            "LOG_LEVEL": "INFO",
        }
        return [*super().command(job), *_settings(settings)]


class TheirWorker(ScrapyRedisPeer):
    def command(self, job: Job) -> list[str]:
        return [*super().command(job), "-a", f"max_idle_time={IDLE}", *_settings({"LOG_LEVEL": "INFO"})]


@dataclass
class Cost:
    """One crawl by some workers."""

    pages: int
    requests: int
    responses: list[int]
    """Those of each worker, robots.txt and all."""
    cpu: float
    """Seconds of all workers."""
    wall: float
    redis_cpu: float
    sent: int
    """Commands that clients sent."""
    run: int
    """Commands that Redis ran, those inside of scripts too."""
    bytes: int
    peak: int
    left: int
    """Bytes that Redis held above an empty one, at its peak and at the end."""


@contextmanager
def pinned_redis(core: int) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        server = Server(Path(folder))
        os.sched_setaffinity(server.pid, {core})
        try:
            yield server
        finally:
            server.close()


def crawl(peer: Peer, web: Web, server: Server, workers: int, core: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder, server.client() as client:
        client.flushall()
        client.config_resetstat()
        empty = client.info("memory")["used_memory"]
        before = client.info("cpu")
        told(web)
        processes: list[subprocess.Popen[bytes]] = []
        command: list[str] = []
        begun = time.perf_counter()
        for number in range(workers):
            place = Path(folder) / str(number)
            place.mkdir()
            # scrapy-redis' command empties Redis and pushes the seeds: once.
            job = Job(web, place, server.url)
            if number == 0 or isinstance(peer, Ours):
                command = _pinned(peer.command(job), core)
            with (place / "log").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        command,
                        cwd=place,
                        env=_environment(peer),
                        stdout=log,
                        stderr=log,
                    )
                )
        cpu = 0.0
        for number, process in enumerate(processes):
            status, usage = _wait(process)
            cpu += usage.ru_utime + usage.ru_stime
            if status:
                print((Path(folder) / str(number) / "log").read_text(errors="replace")[-2000:], flush=True)
        wall = time.perf_counter() - begun
        logs = [(Path(folder) / str(number) / "log").read_text(errors="replace") for number in range(len(processes))]
        asked = told(web)
        after, stats, memory = client.info("cpu"), client.info("stats"), client.info("memory")
        calls = {name: found["calls"] for name, found in client.info("commandstats").items()}
        run = sum(calls.values())
        return Cost(
            asked["pages"],
            asked["requests"],
            [sum(map(int, _RESPONSES.findall(log))) for log in logs],
            cpu,
            wall - (0 if isinstance(peer, Ours) else IDLE),
            sum(after[name] - before[name] for name in ("used_cpu_user", "used_cpu_sys")),
            sent_by_clients(calls, logs, is_scripted=isinstance(peer, Ours)),
            run,
            stats["total_net_input_bytes"] + stats["total_net_output_bytes"],
            memory["used_memory_peak"] - empty,
            memory["used_memory"] - empty,
        )


_COMMANDS = re.compile(r"'cluster/commands': (\d+)")
_RESPONSES = re.compile(r"'downloader/response_count': (\d+)")


def sent_by_clients(calls: dict[str, int], logs: list[str], *, is_scripted: bool) -> int:
    """Our workers send scripts, and count what they send; scrapy-redis sends all that is run."""
    if not is_scripted:
        return sum(calls.values())
    return sum(int(number) for log in logs for number in _COMMANDS.findall(log))


@dataclass
class Row:
    peer: Peer
    start: float = 0.0
    """CPU seconds of all workers that crawl a web of one page."""
    costs: list[Cost] = field(default_factory=list)

    def per_page(self, what: str) -> float:
        return median(getattr(cost, what) / max(cost.pages, 1) for cost in self.costs)

    @property
    def going(self) -> float:
        """CPU seconds a page without the start."""
        return median((cost.cpu - self.start) / max(cost.pages, 1) for cost in self.costs)


HEAD = (
    "| crawler | pages | pages/s | pages per CPU second | without the start | Redis CPU, us/page | commands/page "
    "| with those in scripts | bytes/page | memory a URL: peak, end | responses |\n|" + "---|" * 11
)


def line(row: Row) -> str:
    pages = median(cost.pages for cost in row.costs)
    speed = median(cost.pages / cost.wall for cost in row.costs)
    return (
        f"| {row.peer.name} | {pages:,.0f} | {speed:,.0f} | {1 / row.per_page('cpu'):,.0f} "
        f"| {1 / row.going:,.0f} | {1e6 * row.per_page('redis_cpu'):,.0f} "
        f"| {row.per_page('sent'):,.2f} | {row.per_page('run'):,.1f} | {row.per_page('bytes'):,.0f} "
        f"| {row.per_page('peak'):,.0f}, {row.per_page('left'):,.0f} "
        f"| {' + '.join(f'{number:,}' for number in row.costs[-1].responses)} |"
    )


# Kills


@dataclass
class ClusterCrawler(Sitecrawl):
    redis: str = ""
    name: str = "sitecrawl"

    def command(self, root: str) -> list[str]:
        self.settings = {"SITECRAWL_CLUSTER": self.redis, "SITECRAWL_LEASE_SECONDS": 5}
        return super().command(root)


def kill(kills: int, pages: int) -> None:
    print("| crawler | kills | URLs lost | stored twice |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        for place in ("ours", "theirs", "redis"):
            (folder / place).mkdir()
        server = Server(folder / "redis")
        try:
            attack(ClusterCrawler(folder / "ours", redis=server.url), kills, pages)
        finally:
            server.close()
        with redis_server() as socket:
            attack(ScrapyRedis(folder / "theirs", socket), kills, pages)


def attack(crawler: Crawler, kills: int, pages: int) -> None:
    with web_of(pages, 0.008) as web:
        losses = survive(crawler, web, kills, Random(1), 1.6)
    print(f"| {losses.crawler} | {losses.kills} | {losses.lost:,} | {losses.twice:,} |", flush=True)
    if losses.error:
        print(losses.error, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Web()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.kills:
        kill(arguments.kills, arguments.pages)
        return
    web = Web(**{name: getattr(arguments, name) for name in vars(Web())})
    smallest = replace(web, pages=1, hosts=1)
    rows = [Row(peer) for peer in (OurWorker(), TheirWorker()) if arguments.only in {"", peer.name}]
    *_, served_from = cores = sorted(os.sched_getaffinity(0))
    print(HEAD, flush=True)
    with pinned_redis(served_from) as server, serving(smallest, served_from, nginx=False):
        for row in rows:
            row.start = crawl(row.peer, smallest, server, arguments.workers, cores[0]).cpu
    with serving(web, served_from, nginx=False), pinned_redis(served_from) as server:
        for _ in range(arguments.rounds):
            for row in rows:
                row.costs.append(crawl(row.peer, web, server, arguments.workers, cores[0]))
                print(line(row), flush=True)


if __name__ == "__main__":
    main()
