"""The ways in which crawlers that others have described divide the web among workers, walked over a graph of links.

A row for each scheme. Nobody waits for anybody: in a round each worker fetches one page.

- stay: links whose target has the same worker, so that they need not be sent
- largest: how many times as many pages as the mean the busiest worker has
- contacts: pairs of worker and host in 1,000 pages: each looks up the address and fetches robots.txt
- firewall: pages that are found if links to other workers are dropped
- cross-over: fetches of a page until 99% are found, if workers without pages of their own fetch those of others
- moved: pages that change their worker when one of the workers leaves, on the average of all workers

Seeds are one page of each host. Pages without a record of their links are left out.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from cityhash import CityHash64
from hostwebs import HostWeb

from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.urls.fingerprint import REGION_SIZE
from sitecrawl.urls.url import site_of, top_level_of

Assign = Callable[[HostWeb, Sequence[int]], list[int]]
"""The worker of each page, for the names of the workers."""

_BATCH = 64
"""Hosts of a process of the Internet Archive's crawler (Burner 1997)."""
_REPLICAS = 200
"""Points of a worker on the circle of consistent hashing."""
_PARTITIONS = 64
_ENOUGH = 0.99


def homes(web: HostWeb, part: Callable[[str], str], partitions: int) -> list[int]:
    """The partition of each host."""
    territory = Territory(partitions, {})
    hashes = (CityHash64(part(host).encode()) for host in web.hosts)
    return [territory.partition(value.to_bytes(8, "big")[:REGION_SIZE]) for value in hashes]


def _by_url(web: HostWeb, workers: Sequence[int]) -> list[int]:
    return [workers[CityHash64(b"%d" % page) % len(workers)] for page in range(len(web.links))]


def _by_name(part: Callable[[str], str], web: HostWeb, workers: Sequence[int]) -> list[int]:
    home = [workers[CityHash64(part(host).encode()) % len(workers)] for host in web.hosts]
    return [home[host] for host in web.host_of]


def _in_batches(web: HostWeb, workers: Sequence[int]) -> list[int]:
    return [workers[host // _BATCH % len(workers)] for host in web.host_of]


def _consistent(web: HostWeb, workers: Sequence[int]) -> list[int]:
    circle = sorted((CityHash64(b"%d/%d" % (worker, n)), worker) for worker in workers for n in range(_REPLICAS))
    points = [point for point, _ in circle]
    home = [circle[bisect(points, CityHash64(host.encode())) % len(circle)][1] for host in web.hosts]
    return [home[host] for host in web.host_of]


def _leased(web: HostWeb, workers: Sequence[int]) -> list[int]:
    partition = homes(web, site_of, _PARTITIONS)
    home = [workers[number % len(workers)] for number in range(_PARTITIONS)]
    return [home[partition[host]] for host in web.host_of]


SCHEMES: dict[str, Assign] = {
    "URL hash (Cho and Garcia-Molina)": _by_url,
    "host hash (Mercator)": partial(_by_name, str),
    "site hash (Cho and Garcia-Molina)": partial(_by_name, site_of),
    "hierarchical: top-level domain (Cho and Garcia-Molina)": partial(_by_name, top_level_of),
    "64 hosts a process (Internet Archive)": _in_batches,
    "consistent hashing of hosts (UbiCrawler)": _consistent,
    "site hash, 64 partitions leased (here)": _leased,
}
_LISTED = (_in_batches, _leased)
"""Schemes in which somebody has a list of who has what: of it only what the leaving worker had changes."""
CENTRAL = "any page to whoever is free (Google's URL server, WebFountain's controller)"
INDEPENDENT = "independent (Cho and Garcia-Molina)"
COLUMNS = ("web", "workers", "scheme", "stay", "largest", "contacts", "firewall", "cross-over", "moved")
_NAMED = ("site", "top-level")


def rows(web: HostWeb, number: int) -> Iterator[list[str]]:
    """The cells of a web's rows for so many workers."""
    for scheme, assign in SCHEMES.items():
        if web.named or not any(word in scheme for word in _NAMED):
            yield [web.name, str(number), scheme, *_cells(web, assign, number)]
    in_turns = [page % number for page in range(len(web.links))]
    yield [web.name, str(number), CENTRAL, "0.0%", "1.0", _contacts(web, in_turns), "-", "-", "0.0%"]
    of_all = f"{1000 * number * len(web.seeds()) / sum(map(bool, web.links)):.2f}"
    yield [
        web.name,
        str(number),
        INDEPENDENT,
        "-",
        "1.0",
        of_all,
        "-",
        f"{Crossover(web, None, number).run():.2f}",
        "-",
    ]


def _cells(web: HostWeb, assign: Assign, number: int) -> Iterator[str]:
    home = assign(web, range(number))
    read = [page for page, links in enumerate(web.links) if links]
    links = sum(len(web.links[page]) for page in read)
    yield f"{sum(home[page] == home[link] for page in read for link in web.links[page]) / links:.1%}"
    yield f"{max(Counter(home[page] for page in read).values()) * number / len(read):.1f}"
    yield _contacts(web, home)
    yield f"{_firewall(web, home) / _found(web):.1%}"
    yield f"{Crossover(web, home, number).run():.2f}"
    moved = 0
    for leaving in range(number) if number > 1 else ():
        rest = assign(web, [worker for worker in range(number) if worker != leaving])
        moved += sum(home[page] == leaving if assign in _LISTED else home[page] != rest[page] for page in read)
    yield f"{moved / len(read) / number:.1%}"


def _contacts(web: HostWeb, home: Sequence[int]) -> str:
    pairs = {(home[page], web.host_of[page]) for page, links in enumerate(web.links) if links}
    return f"{1000 * len(pairs) / sum(map(bool, web.links)):.2f}"


def _found(web: HostWeb) -> int:
    return _firewall(web, [0] * len(web.links))


def _firewall(web: HostWeb, home: Sequence[int]) -> int:
    """Pages that are found if a worker follows links to its own pages alone."""
    waiting = web.seeds()
    known = set(waiting)
    while waiting:
        page = waiting.pop()
        for link in web.links[page]:
            if web.links[link] and link not in known and home[link] == home[page]:
                known.add(link)
                waiting.append(link)
    return len(known)


class Crossover:
    """Workers that know nothing of one another; without `home` each takes all pages for its own."""

    def __init__(self, web: HostWeb, home: Sequence[int] | None, number: int) -> None:
        self._web = web
        self._home = home
        self._known: list[set[int]] = [set() for _ in range(number)]
        self._own = [deque[int]() for _ in range(number)]
        self._foreign = [deque[int]() for _ in range(number)]
        for place, page in enumerate(web.seeds()):
            self._find(place % number if home is None else home[page], page)

    def run(self) -> float:
        """Fetches for each page that was found, when enough are."""
        enough, fetches, found = _ENOUGH * _found(self._web), 0, set[int]()
        while len(found) < enough:
            for worker, own in enumerate(self._own):
                if waiting := own or self._foreign[worker]:
                    page = waiting.popleft()
                    fetches += 1
                    found.add(page)
                    for link in self._web.links[page]:
                        self._find(worker, link)
        return fetches / len(found)

    def _find(self, worker: int, page: int) -> None:
        if self._web.links[page] and page not in self._known[worker]:
            self._known[worker].add(page)
            is_own = self._home is None or self._home[page] == worker
            (self._own if is_own else self._foreign)[worker].append(page)
