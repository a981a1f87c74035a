"""The frontier as it grows: does an operation at ten million URLs cost what it costs at a hundred thousand?

    python benchmarks/frontier_scale.py
    python benchmarks/frontier_scale.py --urls 1000000 --profile growth.prof

Pages of a synthetic web go through the real frontier (order `aopic`, lambda policy `hosts`, the seen set over its own
table) until it knows `--urls` URLs. Nothing is held back: a web without end is what traps are. Every page has 40
links, four fifths of them to URLs that nobody has seen; half stay on the host, the others go to hosts that are chosen
by Zipf's law, and known targets are mostly a host's early pages. A host rests for a second after each page, and a
checkpoint comes every 500 pages.

From 100,000 URLs on, three lines a decade say what memory the process holds (RSS) and held at the most, the bytes on
disk a URL, and the mean time of each operation over the last `WINDOW` URLs: of the processor and, in brackets, of the
clock on the wall, which also counts waits for the disk and for other processes. Other processes make the processor
slower, too, so the last line is a crawl of 100,000 URLs again, in a process of its own right after the largest size.

It also says what each tier of the URL-seen test answered. Then the crawl is closed and opened again, and all
credit is added up. `--quick` grows to 20,000 URLs and fetches all of them, to show that none is lost.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from pathlib import Path
from random import Random

from replaying import Unheard

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.credit.policies import owed
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter

HOSTS = 10_000
SEEDS = 100
LINKS = 40
NEW_SHARE = 0.8
OWN_SHARE = 0.5
COMMIT_EVERY = 500
FIRST_MARK = 100_000
WINDOW = 160_000
"""URLs over which times are averaged, or half the size where that is less."""
PAGES_PER_SECOND = 100


class Web:
    """A web without end: of every host it knows how many of its URLs were linked to."""

    def __init__(self, hosts: int) -> None:
        self._random = Random(1)
        self._fingerprint = Fingerprinter(bytes(16))
        self._weights = list(accumulate(1 / rank for rank in range(1, hosts + 1)))
        self._minted = [0] * hosts

    def fingerprint(self, url: str) -> bytes:
        return self._fingerprint.url(url)

    def host_key(self, name: str) -> bytes:
        return self._fingerprint.host(name)

    def seeds(self, count: int) -> list[Link]:
        return [self._new(host) for host in range(count)]

    def links(self, url: str) -> list[Link]:
        own = int(url[len("http://h") : url.index(".")])
        hosts = self._random.choices(range(len(self._minted)), cum_weights=self._weights, k=LINKS)
        return [self._link(own if self._random.random() < OWN_SHARE else host) for host in hosts]

    def _link(self, host: int) -> Link:
        minted = self._minted[host]
        if not minted or self._random.random() < NEW_SHARE:
            return self._new(host)
        return self._url(host, int(minted ** self._random.random()))

    def _new(self, host: int) -> Link:
        self._minted[host] += 1
        return self._url(host, self._minted[host])

    def _url(self, host: int, number: int) -> Link:
        name = f"h{host}.example"
        path = (f"item/{number}.html", f"item/{number}.html", f"tag/{number}", f"view?topic={number}")[number % 4]
        url = f"http://{name}/{path}"
        return Link(url, name, key=self._fingerprint.url(url))


class Stopwatch:
    """Nanoseconds that each operation took, of the thread's processor and on the wall, and how often it was done."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._cpu: Counter[str] = Counter()
        self._wall: Counter[str] = Counter()
        self._times: Counter[str] = Counter()

    @contextmanager
    def time(self, operation: str, times: int) -> Iterator[None]:
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        yield
        self._cpu[operation] += time.thread_time_ns() - cpu
        self._wall[operation] += time.perf_counter_ns() - wall
        self._times[operation] += times

    def mean(self, operation: str) -> str:
        """In µs, the time on the wall in brackets."""
        times = 1000 * max(self._times[operation], 1)
        return f"{self._cpu[operation] / times:.1f} ({self._wall[operation] / times:.1f})"


class Crawl:
    """A frontier in `directory`, and a clock that every page moves on."""

    def __init__(self, directory: Path, web: Web) -> None:
        self.web = web
        self.watch = Stopwatch()
        self.pages = 0
        self.now = 0.0
        self._seen = CrawlSeen(directory / "seen", SeenOptions(), hash_name=HASH_NAME)
        self.database = Database(directory / "db", hash_name=HASH_NAME)
        self.frontier = DiskFrontier(
            self.database,
            order_named("aopic"),
            seen=self._seen,
            listener=Unheard(),
            host_key=web.host_key,
            fingerprint=web.fingerprint,
            clock=lambda: self.now,
            wall=time.time,
            politeness=PolitenessOptions(delay=1.0, delay_factor=0),
            options=FrontierOptions(lambda_policy="hosts", traps=TrapOptions(hold=False)),
        )

    def grow(self, urls: int) -> None:
        """Fetch pages until `urls` are known. Raises `SystemExit` if there is nothing left to fetch."""
        while self.frontier.counts.known < urls:
            if not self.fetch(expand=True):
                raise SystemExit(f"The crawl came to its end at {self.frontier.counts.known:,} URLs")

    def drain(self) -> None:
        """Fetch all that waits."""
        while self.fetch(expand=False):
            pass

    def fetch(self, *, expand: bool) -> bool:
        """One page; False if none is left."""
        visit = self._next()
        if visit is None:
            return False
        links = self.web.links(visit.url) if expand else []
        with self.watch.time("expand", len(links)):
            self.frontier.expand(visit, links)
        with self.watch.time("visit", 0):
            self.frontier.downloaded(visit, 0.0)
            self.frontier.done(visit, UrlState.FETCHED, status=200, good=True)
        self.pages += 1
        self.now += 1 / PAGES_PER_SECOND
        if self.pages % COMMIT_EVERY == 0:
            with self.watch.time("commit", COMMIT_EVERY):
                self.commit()
        return True

    def _next(self) -> Visit | None:
        while True:
            with self.watch.time("visit", 1):
                visit = self.frontier.next()
            rest = self.frontier.next_time() if visit is None else None
            if rest is None:
                return visit
            self.now += rest

    def commit(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.frontier.committed()

    def close(self) -> None:
        self.commit()
        self._seen.save(self.database, self.frontier.seen, self.frontier.counts.serial)
        self.database.close()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def marks(urls: int) -> list[int]:
    """The sizes that are measured."""
    powers = [FIRST_MARK * 10**power for power in range(len(str(urls)))]
    return [size for power in powers for size in (power, 2 * power, 5 * power) if size < urls] + [urls]


def report(crawl: Crawl) -> None:
    known, watch = crawl.frontier.counts.known, crawl.watch
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    disk = crawl.database.size_on_disk() / known
    print(
        f"| {known:,} | {resident() / 1e6:.0f} MB | {peak / 1e6:.0f} MB | {disk:.0f} "
        f"| {watch.mean('expand')} | {watch.mean('visit')} | {watch.mean('commit')} |",
        flush=True,
    )


def check(crawl: Crawl, urls: int) -> None:
    """Raises `SystemExit` if there are not `urls` records, or credit was made or lost. Call it after a commit."""
    frontier, records, held = crawl.frontier, 0, 0
    ledger, live = frontier.link_credit.ledger, {host.key: host for host in frontier.hosts.live()}
    for _, data in crawl.database.scan("urls"):
        record = UrlRecord.unpack(data)
        host = live.get(record.host) if record.state == UrlState.QUEUED else None
        held += record.credit
        if host is not None:  # it waits, and has been paid dividends that are not entered
            held += owed(ledger.policy.dividend_of(host), record.mark)
        records += 1
    held += sum(host.rest for host in frontier.hosts.live()) + ledger.reserve + ledger.pending
    if records != urls or records != frontier.counts.known:
        raise SystemExit(f"{records:,} records stand for {frontier.counts.known:,} URLs; {urls:,} were added")
    if held != ledger.total:
        raise SystemExit(f"{held:,} units of credit are left of {ledger.total:,}")
    print(f"{records:,} records, and all {ledger.total:,} units of credit", flush=True)


def grow(crawl: Crawl, urls: int) -> None:
    """Grow to `urls`, and print a line at every mark."""
    print("| URLs | RSS | peak | disk, bytes/URL | expand, µs/link | next and done, µs/page | commit, µs/page |")
    print("|---|---|---|---|---|---|---|")
    for mark in marks(urls):
        crawl.grow(mark - min(WINDOW, mark // 2))
        crawl.watch.reset()
        crawl.grow(mark)
        report(crawl)
    crawl.commit()
    for name, number in crawl.frontier.seen.figures().counts().items():
        print(f"URL-seen test, {name}: {number:,}", flush=True)


def grow_small_again(hosts: int) -> None:
    """Print the first mark's line as it would be now."""
    command = [sys.executable, __file__, "--urls", str(FIRST_MARK), "--hosts", str(hosts)]
    small = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(next(line for line in small.stdout.splitlines() if line.startswith("| 1")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--quick", action="store_true", help="20,000 URLs, all of which are fetched")
    parser.add_argument("--profile", type=Path, help="write a profile of the growth there (cProfile)")
    parser.add_argument("--directory", type=Path, help="where the crawl lies meanwhile; default: the system's")
    arguments = parser.parse_args()
    urls = 20_000 if arguments.quick else arguments.urls
    profile = cProfile.Profile() if arguments.profile else None
    with tempfile.TemporaryDirectory(prefix="frontier-", dir=arguments.directory) as folder:
        crawl = Crawl(Path(folder), Web(arguments.hosts))
        crawl.frontier.add(crawl.web.seeds(min(SEEDS, arguments.hosts)), depth=0)
        with profile or nullcontext():
            grow(crawl, urls)
        if urls > FIRST_MARK:
            grow_small_again(arguments.hosts)
        if profile is not None:
            profile.dump_stats(arguments.profile)
        print(f"{len(crawl.frontier.judge.demoted):,} hosts and sections are held back", flush=True)
        crawl = reopen(crawl, Path(folder))
        check(crawl, crawl.frontier.counts.known)
        if arguments.quick:
            crawl.drain()
            crawl.commit()
            print(f"{crawl.frontier.counts.fetched:,} fetched, {crawl.frontier.figures.waiting:,} left", flush=True)
            check(crawl, crawl.frontier.counts.known)
        crawl.close()


def reopen(crawl: Crawl, directory: Path) -> Crawl:
    """Close, open again, and say how long it took."""
    begun = time.perf_counter()
    crawl.close()
    closed = time.perf_counter()
    again = Crawl(directory, crawl.web)
    print(f"closed in {closed - begun:.1f} s, open in {time.perf_counter() - closed:.1f} s", flush=True)
    return again


if __name__ == "__main__":
    main()
