"""What a crawl waits for beside its hosts: does it ask as soon as politeness allows, and does waiting cost anything?

    python benchmarks/latency.py
    python benchmarks/latency.py --pages 200 --delay 1 --only www.starlette.io
    python benchmarks/latency.py --hosts 10000

One site: each of the seven real sites is crawled alone, `--pages` of it, with a pause of `--delay` seconds after each
request. A server in this process notes when each request came and when it was answered. A line a site says what the
pauses alone cost, and in per cent of that, how much longer the crawl took from its first request to its last answer:
`answers` is what the server took, and `excess` the rest. `start` and `end` are what comes before and after. Then the
longest time by which one request was late, and for which that was. The exit code is 1 if a crawl took more than 2%
above its pauses and answers.

With `--hosts`, what so many hosts cost that are asked once in `--rest` seconds each, beside as many pages of hosts
that never rest (`waitinghosts.py`): 10,000 hosts with 60 seconds have 166 requests a second.

Where other work takes the cores, a crawl is late for want of one. `chrt --fifo 5` before the command gives it one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

import waitinghosts  # noqa: E402 - the path comes first
from crawling import environment, scrapy_command  # noqa: E402
from realweb import SEEDS  # noqa: E402
from timedweb import Answered, TimedWeb  # noqa: E402

ALLOWED: Final = 0.02
"""Of the pauses: what a crawl may take besides."""


@dataclass(frozen=True)
class Timed:
    """One crawl, and what its seed's host was asked for. Times are monotonic seconds."""

    host: str
    begun: float
    ended: float
    answers: Sequence[Answered]
    delay: float

    @property
    def pauses(self) -> float:
        """What the pauses between requests cost."""
        return (len(self.answers) - 1) * self.delay

    @property
    def wall(self) -> float:
        """From the first request to the last answer."""
        return self.answers[-1].at - self.answers[0].asked

    @property
    def answering(self) -> float:
        return sum(one.at - one.asked for one in self.answers)

    @property
    def excess(self) -> float:
        return self.wall - self.pauses - self.answering

    @property
    def late(self) -> list[tuple[float, str]]:
        """By how much each request came later than it might have, and for what, the latest first."""
        found = [(after.asked - before.at - self.delay, after.path) for before, after in pairwise(self.answers)]
        return sorted(found, reverse=True)

    def row(self) -> str:
        late, path = self.late[0]
        shares = (f"{100 * part / self.pauses:.1f}%" for part in (self.answering, self.excess))
        return " | ".join(
            (
                f"| {self.host} | {len(self.answers)} | {self.pauses:.2f} s | {self.wall:.2f} s",
                *shares,
                f"{self.answers[0].asked - self.begun:.2f} s | {self.ended - self.answers[-1].at:.2f} s",
                f"{1000 * late:.0f} ms, {path} |",
            )
        )


HEAD: Final = """\
| site | requests | pauses | wall | answers | excess | start | end | latest |
|---|---|---|---|---|---|---|---|---|"""


def crawl(web: TimedWeb, seed: str, pages: int, delay: float, more: Sequence[str]) -> Timed:
    """A fresh crawl of one site."""
    web.answers.clear()
    with tempfile.TemporaryDirectory(prefix="latency-") as folder:
        settings = {
            "JOBDIR": folder,
            "DOWNLOAD_DELAY": delay,
            "SITECRAWL_DELAY_FACTOR": 0,
            "LOG_LEVEL": "WARNING",
        }
        words = ("crawl", "generic", "-a", f"seeds={seed}", "-a", f"max_pages={pages}")
        command = [*scrapy_command(*words, settings=settings), *(word for one in more for word in ("-s", one))]
        begun = time.monotonic()
        subprocess.run(command, cwd=ROOT, env=environment(http_proxy=web.address), check=True, capture_output=True)
        ended = time.monotonic()
        host = urlsplit(seed).netloc
        return Timed(host, begun, ended, [one for one in web.answers if one.host == host], delay)


def crawls(sites: Sequence[str], pages: int, delay: float, more: Sequence[str]) -> Iterator[Timed]:
    with TimedWeb(Path(tempfile.gettempdir()) / "real_web") as web:
        for seed in SEEDS:
            if urlsplit(seed).netloc in (sites or seed):
                yield crawl(web, seed, pages, delay, more)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=80, help="of a site")
    parser.add_argument("--delay", type=float, default=0.25, help="seconds")
    parser.add_argument("--only", action="append", default=[], metavar="SITE")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the crawls")
    parser.add_argument("--all", action="store_true", help="every request's lateness, not only the latest")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds between two requests to one of these hosts")
    parser.add_argument("--hosts", type=int, default=0, help="ask what so many hosts cost that wait, instead")
    arguments = parser.parse_args()
    if arguments.hosts:
        for row in waitinghosts.rows(arguments.hosts, 2 * arguments.hosts, arguments.rest):
            print(row, flush=True)
        return 0
    print(HEAD, flush=True)
    worst = 0.0
    for timed in crawls(arguments.only, arguments.pages, arguments.delay, arguments.set):
        print(timed.row(), flush=True)
        if arguments.all:
            print(*(f"  {1000 * late:.1f} ms {path}" for late, path in timed.late), sep="\n", flush=True)
        worst = max(worst, timed.excess / timed.pauses)
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
