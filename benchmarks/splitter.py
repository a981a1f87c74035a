"""The host splitter: what it is good for that a site has a home, and which part of a name should say where.

    python benchmarks/splitter.py
    python benchmarks/splitter.py --only cnr --workers 4,16 --cache 4096 --batch 20
    python benchmarks/splitter.py --only sites --workers 4,16 --schemes

Nothing is fetched, and no clock is looked at: graphs of links (`hostwebs.py`) are walked host by host, and things are
counted. In a round each worker takes the next host that has pages to fetch, and fetches a batch of them, in the order
in which they were found: of its own hosts where they have a *home*, as in a cluster of ours; with *free leasing*, of
whichever host has waited longest, workers being drawn anew in every round. (Then the seen set is on Redis, and a
worker asks it of what its cache does not know. With a home the URL goes to its worker, which asks its own.)

The first table, a row for web, workers and leasing:

- stay: links that need not leave the worker that found them. Under free leasing a link has nowhere to stay.
- hits: of the questions that the workers' CLOCK caches are asked, those that they answer
- sent: URLs a page that go over the network: those that leave their worker; those that its cache does not know
- contacts: how often, in 1,000 pages, a worker turns to a host for the first time, so that it has to look up its
  address and to fetch its robots.txt, however long it keeps them
- connections: how often, in 1,000 pages, the last page of the host was another worker's, so that no open connection
  can be used, however long they stay open
- largest: how many times as many pages as the mean the busiest worker has

The second table, a row for web and scheme: links that lead to another page, host, site (registrable domain), or
top-level domain; of all links, those that stay with their worker if the URL, or that part of names, decides; largest,
as above. A web without names has two schemes: its hosts are blocks of pages.

With `--schemes` there is one table instead, of the schemes of other crawlers (`partition_schemes.py`).
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import hostwebs
import partition_schemes
from cityhash import CityHash64
from hostwebs import PROJECT, HostWeb
from partition_schemes import homes

from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.urls.url import site_of, top_level_of

DATA = PROJECT.parent / "shared" / "data"


SCHEMES: dict[str, Callable[[str], str]] = {"host": str, "site": site_of, "tld": top_level_of}
"""Which part of a host's name decides: a crawl may have any but the first."""


# Walks


@dataclass
class Count:
    """What workers have done."""

    pages: Counter[int] = field(default_factory=Counter)
    """By worker."""
    links: int = 0
    stayed: int = 0
    contacts: int = 0
    connections: int = 0
    hits: int = 0
    misses: int = 0


class Walk:
    """A crawl of a whole web, in which every page is fetched as soon as its host's turn comes."""

    def __init__(self, web: HostWeb, workers: int, cache: int, batch: int) -> None:
        self.web = web
        self.workers = workers
        self.count = Count()
        self._batch = batch
        self._caches = [Clock(cache) for _ in range(workers)]
        self._waiting = [deque[int]() for _ in web.hosts]
        self._known = bytearray(len(web.links))
        self._contacts: set[tuple[int, int]] = set()
        self._last: dict[int, int] = {}
        """Who fetched the last page of a host."""

    def run(self) -> Count:
        for page in self.web.seeds():
            self._find(page)
        while self._round():
            pass
        self.count.hits = sum(cache.hits for cache in self._caches)
        self.count.misses = sum(cache.misses for cache in self._caches)
        return self.count

    def _round(self) -> bool:
        """Every worker has a turn; says whether any had something to do."""
        raise NotImplementedError

    def _asked(self, worker: int, host: int) -> int:
        """Who is asked whether a URL was seen that `worker` has found on `host`."""
        raise NotImplementedError

    def _wait(self, host: int) -> None:
        """`host` has pages to fetch, and nobody is at them."""
        raise NotImplementedError

    def _find(self, page: int) -> None:
        if not self._known[page] and self.web.links[page]:
            self._known[page] = 1
            host = self.web.host_of[page]
            self._waiting[host].append(page)
            if len(self._waiting[host]) == 1:
                self._wait(host)

    def _fetch(self, worker: int, host: int) -> None:
        """A batch of pages of `host`, which waits again if there are more of them."""
        waiting, count = self._waiting[host], self.count
        for _ in range(min(self._batch, len(waiting))):
            count.pages[worker] += 1
            count.connections += self._last.get(host) != worker
            self._last[host] = worker
            self._read(worker, waiting[0])
            waiting.popleft()  # now, so that the host was not empty meanwhile
        count.contacts += (worker, host) not in self._contacts
        self._contacts.add((worker, host))
        if waiting:
            self._wait(host)

    def _read(self, worker: int, page: int) -> None:
        host_of, caches, count = self.web.host_of, self._caches, self.count
        count.links += len(self.web.links[page])
        for link in self.web.links[page]:
            asked = self._asked(worker, host_of[link])
            count.stayed += asked == worker
            caches[asked].touch(link)  # type: ignore[arg-type] # any key that can be hashed
            self._find(link)


class Homes(Walk):
    """Each host has a worker, and stays with it."""

    def __init__(self, web: HostWeb, workers: int, cache: int, batch: int) -> None:
        super().__init__(web, workers, cache, batch)
        self._homes = homes(web, site_of, workers)
        self._hosts = [deque[int]() for _ in range(workers)]

    def _asked(self, worker: int, host: int) -> int:
        return self._homes[host]

    def _wait(self, host: int) -> None:
        self._hosts[self._homes[host]].append(host)

    def _round(self) -> bool:
        busy = [worker for worker in range(self.workers) if self._hosts[worker]]
        for worker in busy:
            self._fetch(worker, self._hosts[worker].popleft())
        return bool(busy)


class FreeLeasing(Walk):
    """A batch of a host goes to whoever is free."""

    def __init__(self, web: HostWeb, workers: int, cache: int, batch: int) -> None:
        super().__init__(web, workers, cache, batch)
        self._hosts = deque[int]()
        self._order = list(range(workers))
        self._random = Random(1)

    def _asked(self, worker: int, host: int) -> int:
        return worker

    def _wait(self, host: int) -> None:
        self._hosts.append(host)

    def _round(self) -> bool:
        self._random.shuffle(self._order)
        leased = [(worker, self._hosts.popleft()) for worker in self._order[: len(self._hosts)]]
        for worker, host in leased:
            self._fetch(worker, host)
        return bool(leased)


# Tables

COLUMNS = ("web", "workers", "leasing", "stay", "hits", "sent a page", "contacts", "connections", "largest")


def table_row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table_head(cells: Sequence[str]) -> str:
    return f"{table_row(cells)}\n|{'---|' * len(cells)}"


def row(walk: Walk) -> str:
    """One of the first table."""
    count, has_home = walk.run(), isinstance(walk, Homes)
    pages = count.pages.total()
    return table_row(
        [
            walk.web.name,
            walk.workers,
            "home" if has_home else "free",
            f"{count.stayed / count.links:.1%}" if has_home else "-",
            f"{count.hits / (count.hits + count.misses):.1%}",
            f"{(count.links - count.stayed if has_home else count.misses) / pages:.2f}",
            f"{1000 * count.contacts / pages:.2f}",
            f"{1000 * count.connections / pages:.1f}",
            f"{max(count.pages.values()) * walk.workers / pages:.1f}",
        ]
    )


class Crossings:
    """Which links of a web lead from one part of it to another."""

    def __init__(self, web: HostWeb) -> None:
        self._web = web
        self._links: Counter[tuple[int, int]] = Counter()
        """By hosts."""
        self._pages: Counter[int] = Counter()
        for page, links in enumerate(web.links):
            self._pages[web.host_of[page]] += bool(links)
            self._links.update((web.host_of[page], web.host_of[link]) for link in links)

    def rows(self, workers: Sequence[int]) -> Iterator[str]:
        """Those of the second table. By URL, every page has a worker of its own."""
        web, cells = self._web, []
        for number in workers:
            home = [CityHash64(b"%d" % page) % number for page in range(len(web.links))]
            load = Counter(home[page] for page, links in enumerate(web.links) if links)
            stay = sum(home[page] == home[link] for page, links in enumerate(web.links) for link in links)
            largest = max(load.values()) * number / load.total()
            cells.append(f"{stay / sum(map(len, web.links)):.1%}, {largest:.1f}")
        yield table_row([web.name, "URL", "100.0%", *cells])
        for scheme, part in SCHEMES.items() if self._web.named else [("host", str)]:
            stays = self._within([part(host) for host in self._web.hosts])
            yield table_row([self._web.name, scheme, f"{1 - stays:.1%}", *(self._cell(part, n) for n in workers)])

    def _cell(self, part: Callable[[str], str], workers: int) -> str:
        home, load = homes(self._web, part, workers), Counter[int]()
        for host, pages in self._pages.items():
            load[home[host]] += pages
        return f"{self._within(home):.1%}, {max(load.values()) * workers / load.total():.1f}"

    def _within(self, parts: Sequence[object]) -> float:
        """The share of links whose ends are in the same one of `parts`, which are of the hosts."""
        links = self._links
        return sum(n for (one, other), n in links.items() if parts[one] == parts[other]) / links.total()


def webs(arguments: argparse.Namespace) -> Iterator[HostWeb]:
    data = arguments.data
    made = {
        "cnr-2000": lambda: hostwebs.of_edges(data / "graphs" / "cnr-2000.tsv.gz", arguments.host_size),
        "recorded": lambda: hostwebs.of_recordings(data / "webs", arguments.copies, arguments.pages),
        "sites": hostwebs.of_sites,
        "hollins": lambda: hostwebs.of_urls(data / "graphs" / "hollins.dat"),
    }
    for name, make in made.items():
        if any(part in name for part in arguments.only.split(",")):
            yield make()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", default="", help="parts of cnr-2000, recorded, sites, hollins, separated by commas")
    parser.add_argument("--workers", default="2,4,16,64")
    parser.add_argument("--cache", type=int, default=65_536, help="URLs in each worker's CLOCK cache")
    parser.add_argument("--batch", type=int, default=20, help="pages of a host one after the other")
    parser.add_argument("--host-size", type=int, default=1000, help="cnr-2000: so many pages in a row are one host")
    parser.add_argument("--copies", type=int, default=16, help="of each recorded site")
    parser.add_argument("--pages", type=int, default=500, help="that are read of a recorded site")
    parser.add_argument("--schemes", action="store_true", help="compare the schemes of other crawlers")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    workers = [int(number) for number in arguments.workers.split(",")]
    read = list(webs(arguments))
    if arguments.schemes:
        print(table_head(partition_schemes.COLUMNS))
        for web in read:
            for number in workers:
                print(*map(table_row, partition_schemes.rows(web, number)), sep="\n", flush=True)
        return
    print(table_head(COLUMNS))
    for web in read:
        for number in workers:
            for kind in (Homes, FreeLeasing):
                print(row(kind(web, number, arguments.cache, arguments.batch)), flush=True)
    print(f"\n{table_head(['web', 'scheme', 'cross', *(f'{n} workers: stay, largest' for n in workers)])}")
    for web in read:
        print(*Crossings(web).rows(workers), sep="\n", flush=True)


if __name__ == "__main__":
    main()
