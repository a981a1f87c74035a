"""Workers of one cluster crawl as processes of their own, on a web that counts what it is asked for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import forks
import small_limits
from crawling import PROJECT, environment, with_settings
from killing import killed_at
from ports import held_port
from waiting import PATIENCE

from sitecrawl.pagestore import PageReader

BENCHMARKS = PROJECT / "benchmarks"
sys.path.append(str(BENCHMARKS))

from syntheticweb import CONTROL, Web  # noqa: E402


@contextmanager
def web_of(pages: int, hosts: int = 12, *, links: int = 8) -> Iterator[Web]:
    """Pages that link across hosts, so across shards."""
    with held_port() as port:
        web = Web(pages=pages, hosts=hosts, links=links, size=2_000, port=port)
        with _served(web):
            yield web


@contextmanager
def _served(web: Web) -> Iterator[None]:
    words = [part for name, value in vars(web).items() for part in (f"--{name}", str(value))]
    command = [sys.executable, str(BENCHMARKS / "syntheticweb.py"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()


def told(web: Web, path: str = "/") -> dict[str, int]:
    """How many pages the web was asked for since it last told, and how often. With `/peek` it counts on."""
    with build_opener(ProxyHandler({})).open(f"http://{CONTROL}:{web.port}{path}", timeout=PATIENCE) as answer:
        found: dict[str, int] = json.load(answer)
        return found


def urls_of(web: Web) -> set[str]:
    return {web.url(number) for number in range(web.pages)}


class Worker:
    """`scrapy crawl` with a directory of its own; it can be killed and started again. `LIMITS` among the settings:
    values of limits that are no settings, by name.
    """

    def __init__(
        self,
        folder: Path,
        seeds: str,
        redis: str,
        *,
        spider: str = "generic",
        arguments: Sequence[str] = ("scope=any",),
        begins: bool = True,
        **settings: Any,
    ) -> None:
        self.folder = folder
        self._limits = small_limits.as_variable(settings.pop("LIMITS", {}))
        self._words = with_settings(
            "crawl",
            spider,
            *(word for argument in (f"seeds={seeds}", *arguments) for word in ("-a", argument)),
            settings={
                "SITECRAWL_CLUSTER": redis,
                "SITECRAWL_LEASE_SECONDS": 4,
                "SITECRAWL_CLUSTER_SHARDS": 4,
                "SITECRAWL_DELAY_FACTOR": 0,
                "SITECRAWL_ALLOW_PRIVATE": True,
                "JOBDIR": folder / "job",
                "STATS_DUMP": True,
                "LOG_LEVEL": "INFO",
                **settings,
            },
        )
        folder.mkdir(parents=True, exist_ok=True)
        if begins:
            self.start()

    def start(self) -> None:
        self.process = forks.start(self._words, environment(**self._limits), self.folder / "log")

    def killed_at(self, point: str, pages: int) -> None:
        """Start it, and have it killed where it comes to `point`; see `killing.killed_at`."""
        killed_at(point, self._words, self.folder / "log", pages=pages)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)

    @property
    def log(self) -> str:
        """Empty as long as the process has not begun with it."""
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    @property
    def complaints(self) -> str:
        """The last warnings and errors of its log, and its end: what a failed test shows."""
        found = [line for line in self.log.splitlines() if " ERROR: " in line or " WARNING: " in line]
        return "\n".join([*found[-12:], self.log[-500:]])

    def pages(self) -> list[str]:
        if not (self.folder / "job" / "pages.sqlite").exists():
            return []
        with PageReader(self.folder / "job") as reader:
            return [capture.url for capture in reader.pages() if capture.kind == "page"]


@contextmanager
def fleet(folder: Path, number: int, seeds: str, redis: str, **settings: Any) -> Iterator[list[Worker]]:
    forks.prepare()
    workers = [Worker(folder / f"worker-{n}", seeds, redis, **settings) for n in range(number)]
    try:
        yield workers
    finally:
        for worker in workers:
            if worker.process.poll() is None:
                worker.send(signal.SIGCONT)
                worker.kill()


def two_workers(redis: str, directory: Path) -> dict[str, object]:
    """The settings of a crawl by two workers that one command starts."""
    return {"SITECRAWL_WORKERS": 2, "SITECRAWL_CLUSTER": redis, "JOBDIR": directory}


def stored(workers: Sequence[Worker]) -> Counter[str]:
    """How often each URL's page is stored, over all workers."""
    return Counter(url for worker in workers for url in worker.pages())
