"""Streams of URL-seen tests: every link of every page, in the order in which a crawl meets them."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from linkrecorder import read_recorded
from order import choose_seeds, read_edges


@dataclass
class UrlStream:
    """Requests as small numbers, one a URL."""

    name: str
    all: array[int] = field(default_factory=lambda: array("q"))
    abroad: array[int] = field(default_factory=lambda: array("q"))
    """Those of links that lead to another host."""

    def extend(self, links: Iterable[tuple[int, bool]]) -> None:
        for url, is_abroad in links:
            self.all.append(url)
            if is_abroad:
                self.abroad.append(url)


def of_recording(path: Path) -> UrlStream:
    """What a crawl with `linkrecorder` wrote down."""
    numbers: dict[int, int] = {}
    stream = UrlStream(f"recorded in {path.name}")
    stream.extend((numbers.setdefault(key, len(numbers)), abroad) for key, abroad in read_recorded(path))
    return stream


def of_graph(path: Path, *, host_size: int, seeds: int) -> UrlStream:
    """A breadth-first crawl of a graph of links, `host_size` ids in a row being one host."""
    links = read_edges(path)
    stream = UrlStream(f"{path.name}, breadth first")
    first = choose_seeds(str(seeds), links)
    known, queue = set(first), deque(first)
    while queue:
        page = queue.popleft()
        stream.extend((target, target // host_size != page // host_size) for target in links[page])
        new = [target for target in links[page] if target not in known]
        known.update(new)
        queue.extend(dict.fromkeys(new))
    return stream


_HOSTS, _ACTIVE, _LINKS = 20_000, 1000, 40


def made_up(requests: int) -> UrlStream:
    """A web of 20,000 hosts, 1,000 of which are crawled at a time, one page of each in turn, as politeness has it. A
    page has 40 links: 12 of its host's navigation, 22 to pages near it, 6 to other hosts, the popular ones most.
    """
    random = Random(1)
    stream = UrlStream(f"{requests:,} requests of a made-up web")
    progress = [0] * _HOSTS
    while len(stream.all) < requests:
        for turn in range(_ACTIVE):
            host = (turn + len(stream.all) // (_LINKS * _ACTIVE * 50) * _ACTIVE) % _HOSTS
            stream.extend(_links(host, progress[host], random))
            progress[host] += 1
    del stream.all[requests:]
    return stream


def _links(host: int, page: int, random: Random) -> Iterator[tuple[int, bool]]:
    base = host << 20
    chance = random.random
    for place in range(12):
        yield base + place, False
    for _ in range(22):
        yield base + 12 + max(0, page + int(30 * chance()) - 5), False
    for _ in range(6):
        # A power law with exponent 2, as of in-degrees on the web (Broder and others 2000).
        other = int(_HOSTS * chance() ** 3)
        yield (other << 20) + int(1 / (1 - chance())) % (1 << 20), True


def totals(stream: Sequence[int]) -> str:
    return f"{len(stream):,} requests, {len(set(stream)):,} URLs"
