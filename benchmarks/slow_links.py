"""Is what is slow paid for by what is quick? A site of which a third is slow; hosts by the hundred that are.

    python benchmarks/slow_links.py
    python benchmarks/slow_links.py --kinds late --where among --seats 16
    python benchmarks/slow_links.py --hosts 500 --kinds drip hang

A site of `--pages` pages on the loopback, each after `--latency` seconds, is crawled alone, by the defaults or with
`--seats` requests at once and no pauses. Then a third of it, pages that lead to no others, is *late* (each comes
`--late` seconds after it was asked for), *drips* a byte a second, or *hangs* before its first byte. Their addresses
are of another kind than the quick ones' (`apart`), or alike (`among`).

With `--hosts`, each page of the site links to hosts that have never answered and are of that kind, so many in all.

A line a crawl: seconds from the first request until half, nine tenths and all of the quick pages were answered, and
the crawl ended; how many quick and slow pages came whole; how often slow ones were asked for. A crawl that takes
longer than `--limit` seconds is stopped. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from crawling import environment, scrapy_command  # noqa: E402 - the path comes first

KINDS: Final = ("late", "drip", "hang")
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
_DRIPPED: Final = 600
"""Bytes of a page that drips: ten minutes."""
_WORDS: Final = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdgklmnrst"]


@dataclass
class Web:
    """What is served, and what was asked for. Times are monotonic seconds."""

    pages: int
    latency: float
    kind: str = ""
    where: str = ""
    late: float = 5.0
    strangers: Sequence[str] = ()
    """Addresses, each of a host that is all of that kind."""
    root: str = ""
    begun: float = 0.0
    came: dict[str, float] = field(default_factory=dict)
    """By path, when a page of the site was first answered whole."""
    slow_asked: int = 0

    @property
    def quick(self) -> int:
        return self.pages - self.pages // 3

    def path(self, number: int) -> str:
        """Of the pages the last third may be slow."""
        is_apart = self.where == "apart" and number >= self.quick
        return "/" if not number else f"/{'slow/' if is_apart else 'page-'}{number}"

    def is_slow(self, number: int) -> bool:
        return self.kind != "" and not self.strangers and number >= self.quick

    def body(self, number: int) -> bytes:
        draw = random.Random(number)
        text = " ".join(draw.choices(_WORDS, k=150))
        led = [] if number >= self.quick else [one for one in (2 * number + 1, 2 * number + 2) if one < self.quick]
        slow = [self.quick + number // 2] if number < self.quick and not number % 2 else []
        each = -(-len(self.strangers) // self.pages)
        links = [self.path(one) for one in (*led, *slow) if one < self.pages]
        links += [f"{self.root.replace('127.0.0.1', one)}/" for one in self.strangers[number * each :][:each]]
        anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
        return f"<title>{number}</title><p>{text}</p>{anchors}".encode()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                host = writer.get_extra_info("sockname")[0]
                await self._answer(path, host, reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_stranger = host != "127.0.0.1"
        digits = "".join(filter(str.isdigit, path)) or "0"
        number = int(digits)
        if not is_stranger and (number >= self.pages or self.path(number) != path):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        self.begun = self.begun or time.monotonic()
        body = self.body(number)
        if is_stranger or self.is_slow(number):
            self.slow_asked += 1
            await self._slowly(body, reader, writer)
        else:
            await asyncio.sleep(self.latency)
            writer.write(_HEAD % len(body) + body)
        if not is_stranger:
            self.came.setdefault(path, time.monotonic())

    async def _slowly(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.kind == "late":
            await asyncio.sleep(self.late)
            if reader.at_eof():  # nobody waits for it any more
                raise ConnectionError
            writer.write(_HEAD % len(body) + body)
            await writer.drain()
            return
        if self.kind == "drip":
            writer.write(_HEAD % _DRIPPED)
        for _ in range(_DRIPPED):
            await asyncio.sleep(1)
            if writer.is_closing():
                raise ConnectionError
            if self.kind == "drip":
                writer.write(b"x")
                await writer.drain()


@contextmanager
def serving(web: Web) -> Iterator[None]:
    """It listens at addresses of the loopback, all on one port."""
    started = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    ended = asyncio.Event()

    async def serve() -> None:
        site = await asyncio.start_server(web.answer, "127.0.0.1", 0, backlog=1000)
        port = site.sockets[0].getsockname()[1]
        web.root = f"http://127.0.0.1:{port}"
        if web.strangers:
            await asyncio.start_server(web.answer, list(web.strangers), port)
        loops.append(asyncio.get_running_loop())
        started.set()
        await ended.wait()

    thread = threading.Thread(target=asyncio.run, args=[serve()], daemon=True)
    thread.start()
    started.wait()
    try:
        yield
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()


def crawl(web: Web, seats: int, limit: float, more: Sequence[str]) -> str:
    """The figures of one crawl."""
    at_once = {
        "CONCURRENT_REQUESTS": seats,
        "CONCURRENT_REQUESTS_PER_DOMAIN": seats,
        "SITECRAWL_CONCURRENT_REQUESTS_PER_IP": seats,
        "SITECRAWL_DELAY_FACTOR": 0,
    }
    with serving(web), tempfile.TemporaryDirectory(prefix="slow-links-") as folder:
        settings = {"JOBDIR": Path(folder) / "job", "SITECRAWL_DASHBOARD": False, **(at_once if seats else {})}
        scope = ["-a", "scope=any"] if web.strangers else []
        settings |= {"SITECRAWL_ALLOW_PRIVATE": True} if web.strangers else {}
        words = ("crawl", "generic", "-a", f"seeds={web.root}/", *scope)
        command = [*scrapy_command(*words, settings=settings), *(word for one in more for word in ("-s", one))]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=log, stderr=log)
            try:
                code = str(process.wait(limit))
            except subprocess.TimeoutExpired:
                code = "stopped"
                process.kill()
                process.wait()
            if code not in {"0", "4", "stopped"}:
                raise SystemExit((Path(folder) / "log").read_text())
        ended = time.monotonic()
    quick = sorted(web.came[path] for one in range(web.pages) if (path := web.path(one)) in web.came
                   and not web.is_slow(one))  # fmt: skip
    wanted = sum(not web.is_slow(one) for one in range(web.pages))
    slow = len(web.came) - len(quick)

    def until(share: float) -> str:
        count = max(1, round(share * wanted))
        return f"{quick[count - 1] - web.begun:.1f}" if len(quick) >= count else "-"

    times = " | ".join(map(until, (0.5, 0.9, 1.0)))
    ending = f"{ended - web.begun:.1f} ({code})"
    return f"{times} | {ending} | {len(quick)} of {wanted} | {slow} | {web.slow_asked} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--late", type=float, default=5.0, help="seconds")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--where", nargs="+", choices=("apart", "among"), default=["apart", "among"])
    parser.add_argument("--seats", type=int, default=0, help="requests at once; 0: the defaults, with their pauses")
    parser.add_argument("--hosts", type=int, default=0, help="that are slow, beside the site")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds")
    parser.add_argument("--alone", action="store_true", help="only the site without anything slow")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the crawls")
    asked = parser.parse_args()
    print("| slow | where | half | nine tenths | all quick | end | quick | slow | asked for slow |", flush=True)
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    strangers = [f"127.2.{number // 200}.{number % 200 + 1}" for number in range(asked.hosts)]
    alone = Web(asked.pages, asked.latency)
    print("| none | |", crawl(alone, asked.seats, asked.limit, asked.set), flush=True)
    for kind in () if asked.alone else asked.kinds:
        for where in ("hosts",) if strangers else asked.where:
            web = Web(asked.pages, asked.latency, kind, where, asked.late, strangers)
            print(f"| {kind} | {where} |", crawl(web, asked.seats, asked.limit, asked.set), flush=True)


if __name__ == "__main__":
    main()
