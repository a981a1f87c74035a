"""A week of nights on a site that changes: what does each way to keep up ask for, and what does it find?

    python benchmarks/week.py
    python benchmarks/week.py --pages 1000 --seed 7

The site is made up, on loopback. Its pages are listed by index pages of 50. Each night some are added, some say
something else, some are gone, and some have moved, which is known here and held against what is found:

- `again=1`: one crawl, and a round over it each night; what it found is what `scrapy changes` lists;
- all anew: a crawl of its own each night; its texts are compared with those of the night before;
- HttpCache: Scrapy's CrawlSpider with its cache and the policy of RFC 2616, on a clock that goes on by a day. The
  texts are compared in the same way. Pages that are linked no more, or answer with an error, count as gone.

Of the pages 6 in 10 have an ETag, 2 in 10 a Last-Modified, and 2 in 10 neither; half of these have a token in their
markup that is new each time. One page in 5 changes each third night, the others once in 60. What is found a night or
more too late is late. Requests and bytes are counted at the server.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Final

BENCHMARKS: Final = Path(__file__).parent
PROJECT: Final = BENCHMARKS.parent
DAY: Final = 86_400
_PER_INDEX: Final = 50
_WORDS: Final = 300
"""Of a page's text."""
_FILLING: Final = 6_000
"""Bytes of markup around it."""


@dataclass
class Leaf:
    """A page of the site."""

    number: int
    kind: str
    """`etag`, `date`, `plain` or `token`."""
    often: bool
    version: int = 0
    changed: float = 0.0
    """Unix time."""
    state: str = "here"
    """Or `gone`, or `moved`."""


@dataclass
class Site:
    """Pages, and what happened to them in the last night."""

    random: Random
    pages: list[Leaf] = field(default_factory=list)
    looks: int = 0

    def add(self, number: int, now: float) -> None:
        for _ in range(number):
            kind = self.random.choices(("etag", "date", "plain", "token"), (6, 2, 1, 1))[0]
            age = self.random.uniform(1, 60) * DAY if not self.pages or len(self.pages) < number else 0
            self.pages.append(Leaf(len(self.pages), kind, self.random.random() < 0.2, changed=now - age))

    def night(self, now: float) -> dict[str, str]:
        """Lets a day pass; gives what has happened, by path."""
        events: dict[str, str] = {}
        for page in self.pages:
            if page.state != "here":
                continue
            draw = self.random.random()
            if draw < 0.005:
                page.state, events[f"/page/{page.number}"] = "gone", "gone"
            elif draw < 0.01:
                page.state, events[f"/page/{page.number}"] = "moved", "gone"
                events[f"/moved/{page.number}"] = "new"
            elif draw < 0.01 + (1 / 3 if page.often else 1 / 60):
                page.version, page.changed, events[f"/page/{page.number}"] = page.version + 1, now, "changed"
        first = len(self.pages)
        self.add(max(1, first // 50), now)
        events |= {f"/page/{page.number}": "new" for page in self.pages[first:]}
        return events

    def answer(self, path: str, etag: str | None, since: str | None) -> tuple[int, dict[str, str], bytes]:
        if path == "/":
            links = (f"/index/{n}" for n in range(-(-len(self.pages) // _PER_INDEX)))
            return 200, {}, _page("home", "", links)
        _, _, rest = path.partition("/")
        room, _, number = rest.partition("/")
        if room == "index" and number.isdigit():
            some = self.pages[int(number) * _PER_INDEX : (int(number) + 1) * _PER_INDEX]
            return 200, {}, _page(path, "", (f"/page/{page.number}" for page in some if page.state != "gone"))
        page = self.pages[int(number)] if number.isdigit() and int(number) < len(self.pages) else None
        if page is None or room not in {"page", "moved"} or page.state == "gone":
            return 404, {}, b"gone"
        if room == "page" and page.state == "moved":
            return 301, {"Location": f"/moved/{page.number}"}, b""
        return self._leaf(page, etag, since)

    def _leaf(self, page: Leaf, etag: str | None, since: str | None) -> tuple[int, dict[str, str], bytes]:
        self.looks += 1
        random = Random(f"{page.number} {page.version}")
        text = " ".join(random.choices(_VOCABULARY, k=_WORDS))
        token = f"<!-- {self.looks} -->" if page.kind == "token" else ""
        body = _page(f"page {page.number}", f"{text}{token}", ())
        tag, date = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"', formatdate(page.changed, usegmt=True)
        headers = {"etag": {"ETag": tag}, "date": {"Last-Modified": date}}.get(page.kind, {})
        if (page.kind == "etag" and etag == tag) or (page.kind == "date" and since == date):
            return 304, headers, b""
        return 200, headers, body


_VOCABULARY: Final = [
    f"{a}{b}" for a in ("sun", "rain", "wind", "snow", "hail") for b in ("day", "fall", "storm", "light")
]


def _page(title: str, text: str, links: Iterator[str] | tuple[()]) -> bytes:
    listed = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    filling = f"<style>{'p {color: black} ' * (_FILLING // 17)}</style>" if text else ""
    return f"<!doctype html><title>{title}</title>{filling}<body><p>{title} {text}<ul>{listed}</ul>".encode()


@dataclass
class Traffic:
    requests: int = 0
    size: int = 0
    statuses: Counter[int] = field(default_factory=Counter)


class Web:
    """Serves a site, and counts what it is asked for."""

    def __init__(self, site: Site) -> None:
        self.traffic, self.day = Traffic(), 0
        lock, web = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def date_time_string(self, timestamp: float | None = None) -> str:
                return formatdate(time.time() + web.day * DAY, usegmt=True)

            def do_GET(self) -> None:
                with lock:
                    asked = self.headers
                    status, headers, body = site.answer(self.path, asked["If-None-Match"], asked["If-Modified-Since"])
                head = {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}
                with lock:
                    web.traffic.requests += 1
                    web.traffic.statuses[status] += 1
                    web.traffic.size += len(body) + sum(len(f"{k}: {v}\r\n") for k, v in head.items()) + 100
                self.send_response(status)
                for name, value in head.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"

    def counted(self) -> Traffic:
        """Since the last call."""
        counted, self.traffic = self.traffic, Traffic()
        return counted

    @contextmanager
    def serving(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


Found = dict[str, str]
"""What happened, by path: `new`, `changed`, `gone`."""


class Ours:
    """One crawl, and rounds over it."""

    name = "`again=1`"

    def __init__(self, root: str, folder: Path) -> None:
        self._root, self._job = root, folder / "again"

    def night(self, number: int) -> Found:
        _crawl(self._root, self._job, "-a", "again=1")
        if not number:
            return {}
        done = _scrapy("changes", "-d", str(self._job), "--format", "jsonl")
        rows = [json.loads(line) for line in done.splitlines()]
        return {
            row["url"].removeprefix(self._root): {"moved": "gone"}.get(row["change"], row["change"]) for row in rows
        }


class Compared:
    """What brings all texts each night, which are compared."""

    name = ""

    def __init__(self, root: str, folder: Path) -> None:
        self._root, self._folder = root, folder
        self._before: dict[str, str] = {}

    def texts(self, number: int) -> dict[str, str]:
        raise NotImplementedError

    def night(self, number: int) -> Found:
        before, now = self._before, self.texts(number)
        self._before = now
        found = {path: "changed" for path in now.keys() & before.keys() if now[path] != before[path]}
        found |= dict.fromkeys(now.keys() - before.keys(), "new") | dict.fromkeys(before.keys() - now.keys(), "gone")
        return found if number else {}


class Anew(Compared):
    name = "all anew"

    def texts(self, number: int) -> dict[str, str]:
        job = self._folder / f"anew-{number}"
        _crawl(self._root, job)
        rows = [json.loads(row) for row in _scrapy("export", "-d", str(job), "--fields", "url,text").splitlines()]
        return {row["url"].removeprefix(self._root): row["text"] for row in rows}


class HttpCache(Compared):
    name = "Scrapy's HttpCache, RFC 2616"

    def texts(self, number: int) -> dict[str, str]:
        file, program = self._folder / "pages.jsonl", BENCHMARKS / "peer_crawlers" / "httpcache.py"
        _run([sys.executable, str(program), f"{self._root}/", str(self._folder / "cache"), str(file), str(number)])
        rows = [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()]
        return {row["url"].removeprefix(self._root): row["text"] for row in rows}


def _crawl(root: str, job: Path, *arguments: str) -> None:
    settings = ("-s", f"JOBDIR={job}", "-s", "SITECRAWL_DELAY_FACTOR=0", "-s", "SITECRAWL_DASHBOARD=False")
    _scrapy("crawl", "generic", "-a", f"seeds={root}/", *arguments, *settings)


def _scrapy(*words: str) -> str:
    return _run([sys.executable, "-m", "scrapy", *words])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} has ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


@dataclass
class Week:
    """What one way has come to, after the first night."""

    name: str
    happened: int = 0
    in_time: int = 0
    late: int = 0
    false: int = 0
    requests: int = 0
    size: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def missed(self) -> int:
        return self.happened - self.in_time - self.late


def live(make: Callable[[str, Path], Ours | Compared], pages: int, nights: int, seed: int) -> Week:
    """The same week, for one way to keep up."""
    site, began = Site(Random(seed)), time.time()
    site.add(pages, began)
    web = Web(site)
    with web.serving(), tempfile.TemporaryDirectory(prefix="week-") as folder:
        way = make(web.root, Path(folder))
        way.night(0)
        web.counted()
        week, open_events = Week(way.name), dict[str, str]()
        for number in range(1, nights + 1):
            web.day = number
            events = site.night(began + number * DAY)
            begun = time.monotonic()
            found = way.night(number)
            week.seconds += time.monotonic() - begun
            _judge(week, events, open_events, found)
            traffic = web.counted()
            week.requests += traffic.requests
            week.size += traffic.size
            week.statuses += traffic.statuses
    return week


def _judge(week: Week, events: Found, still: Found, found: Found) -> None:
    """Hold what was found against what happened; `still` is what has not been found so far."""
    leaves = {path: what for path, what in found.items() if path.startswith(("/page/", "/moved/"))}
    week.happened += len(events)
    for path, what in leaves.items():
        if events.get(path) == what:
            week.in_time += 1
        elif still.get(path) == what:
            week.late += 1
        else:
            week.false += 1
        still.pop(path, None)
    still |= {path: what for path, what in events.items() if leaves.get(path) != what}


def table(weeks: Iterable[Week], write: Callable[[str], None] = print) -> None:
    write("| way | changes | found that night | later | missed | false | requests | a change | answers 304 | MB |")
    write("|---|---|---|---|---|---|---|---|---|---|")
    for week in weeks:
        each = f"{week.requests / max(1, week.in_time + week.late):.1f}"
        counts = (week.happened, week.in_time, week.late, week.missed, week.false, week.requests)
        cells = [f"{number:,}" for number in counts] + [each, f"{week.statuses[304]:,}", f"{week.size / 1e6:.1f}"]
        write(f"| {week.name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--nights", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small site: shows that it works, and no figures")
    options = parser.parse_args()
    pages, nights = (60, 2) if options.quick else (options.pages, options.nights)
    weeks = (live(make, pages, nights, options.seed) for make in (Ours, Anew, HttpCache))
    table(weeks, partial(print, flush=True))


if __name__ == "__main__":
    main()
