"""What the dashboard costs a crawl of many hosts.

    python benchmarks/dashboard.py --hosts 10000 --sections 10 --seconds 30

A crawl with `--hosts` hosts of `--sections` sections each, with a URL waiting in every one, is paused, so that what
its process still does is checkpoints and the dashboard. Its CPU time is read from outside, as a share of one core:
without the extension, with it and nobody looking, with one page's questions, and with ten. Then the two calls that
every page costs.
`--quick` does the same with a small crawl, to show that it works.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.settings import Settings

from sitecrawl.crawl import build
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.page.items import Link
from sitecrawl.plugins.dashboard.figures import Meter

REFRESH = 1.0
"""Seconds between two questions of a page, as app.js has it."""
DASHBOARD = "sitecrawl.plugins.dashboard.extension.Dashboard"


class Paused(Spider):
    """Has `hosts` hosts with `sections` sections waiting, and fetches none of it."""

    name = "paused"
    hosts = sections = 0

    async def start(self) -> Any:
        assert self.crawler.engine is not None
        self.crawler.engine.pause()
        made = build.Crawl.of(self.crawler)
        for n in range(self.hosts):
            host = f"host{n}.example"
            urls = [f"http://{host}/part{section}/page{n % 7}" for section in range(self.sections)]
            found = [Link(url, host, key=made.keys.fingerprints.url(url)) for url in urls]
            made.frontier.add(found, depth=1)
        made.checkpoints.write()
        print("ready", flush=True)
        nothing: tuple[Any, ...] = ()
        for item in nothing:
            yield item


def serve(hosts: int, sections: int, directory: str, *, watched: bool) -> None:
    """The crawl, until it is killed."""
    Paused.hosts, Paused.sections = hosts, sections
    settings = Settings()
    settings.setmodule("sitecrawl.settings", priority="project")
    settings.setdict({"JOBDIR": directory, "SITECRAWL_PROGRESS": False}, priority="cmdline")
    if not watched:
        settings.set("EXTENSIONS", {DASHBOARD: None}, priority="cmdline")
    process = CrawlerProcess(settings)
    process.crawl(Paused)
    process.start()


@dataclass
class Crawl:
    process: subprocess.Popen[str]
    url: str

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def share(self, seconds: float) -> float:
        """The share of a core that it takes over the next `seconds`."""
        before, began = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - began)

    def memory(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def crawl(options: argparse.Namespace, *, watched: bool) -> Iterator[Crawl]:
    with tempfile.TemporaryDirectory() as directory:
        words = [sys.executable, __file__, "--serve", f"{directory}/job", "--hosts", str(options.hosts)]
        words += ["--sections", str(options.sections), *([] if watched else ["--unwatched"])]
        root = Path(__file__).resolve().parent.parent
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root)
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = ""
            if watched:
                url = next((line.split()[1] for line in process.stderr if line.startswith("Dashboard: ")), "")
            assert process.stdout.readline() == "ready\n"
            time.sleep(min(3.0, options.seconds))
            yield Crawl(process, url)
        finally:
            process.kill()
            process.communicate()


class Reader:
    """Does what one open page does, until `over` is set, and once at least: a crawl that has little of the machine
    answers late.
    """

    def __init__(self, url: str, over: threading.Event) -> None:
        self._parts = urlsplit(url)
        self._over = over
        self.answers = 0
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _poll(self) -> None:
        while True:
            connection = http.client.HTTPConnection(self._parts.hostname or "", self._parts.port, timeout=600)
            connection.request("GET", f"{self._parts.path}overview")
            answer = connection.getresponse()
            assert json.loads(answer.read())["hosts"]
            connection.close()
            self.answers += 1
            if self._over.wait(REFRESH):
                break


def calls_of_a_page(number: int) -> float:
    """Seconds that the listener takes for a fetch that is over."""
    meter = Meter()
    visit = SimpleNamespace(key=b"k" * 16, url="http://a.example/", referrer=bytes(16))
    fetch = Fetch(cast("Any", visit), Request(visit.url))
    fetch.arrived(200, cast("Any", SimpleNamespace(seconds=0.12, body=b"")))
    began = time.process_time()
    for _ in range(number):
        meter.finished(fetch)
    return (time.process_time() - began) / number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--sections", type=int, default=10, help="of each host")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each share is measured")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--serve", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--unwatched", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.hosts, options.sections, options.serve, watched=not options.unwatched)
        return
    if options.quick:
        options.hosts, options.sections, options.seconds = 50, 3, 0.3
    measure(options)


def measure(options: argparse.Namespace) -> None:
    sections = options.hosts * options.sections
    print(f"{options.hosts:,} hosts, {sections:,} sections with a URL each; {options.seconds:g} s a line\n")
    print("| | share of a core |\n|---|---|")
    with crawl(options, watched=False) as plain:
        bare = plain.share(options.seconds)
        print(f"| without the extension | {bare:.2%} |", flush=True)
        memory = plain.memory()
    with crawl(options, watched=True) as watched:
        print(f"| with it, nobody looks | {watched.share(options.seconds):.2%} |", flush=True)
        print(f"| memory that it takes | {(watched.memory() - memory) / 1e6:.1f} MB |", flush=True)
        for readers in (1, 10):
            over = threading.Event()
            reading = [Reader(watched.url, over) for _ in range(readers)]
            time.sleep(min(2.0, options.seconds))
            share = watched.share(options.seconds)
            over.set()
            for reader in reading:
                reader.join()
            assert all(reader.answers for reader in reading)
            print(f"| {readers} {'page is' if readers == 1 else 'pages are'} open | {share:.2%} |", flush=True)
        print()
    print(f"A page fetched takes {calls_of_a_page(100_000) * 1e6:.1f} µs in the dashboard.")


if __name__ == "__main__":
    main()
