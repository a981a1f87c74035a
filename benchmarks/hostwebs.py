"""Webs as graphs of links whose pages have hosts, recorded or read off real sites: for what depends on no more."""

from __future__ import annotations

import sys
import tempfile
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from copied import Copy
from order import read_edges
from recorded import Recorded

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from realweb import SEEDS, tool  # noqa: E402

from sitecrawl.page.links import read_page  # noqa: E402


@dataclass
class HostWeb:
    """Pages are numbers, hosts are numbers. Those without links were linked to, and not read."""

    name: str
    hosts: list[str] = field(default_factory=list)
    """Names."""
    host_of: array[int] = field(default_factory=lambda: array("l"))
    """A page's host."""
    links: list[array[int]] = field(default_factory=list)
    """A page's links, in their order."""
    named: bool = True
    """Whether the names of its hosts are those of the web, not made up."""

    def seeds(self) -> list[int]:
        """Of each host, the first of its pages that has links: from there on a crawl goes host by host."""
        first: dict[int, int] = {}
        for page, links in enumerate(self.links):
            if links:
                first.setdefault(self.host_of[page], page)
        return list(first.values())


class _Builder:
    """Gives numbers to URLs and hosts as they come up."""

    def __init__(self, name: str) -> None:
        self.web = HostWeb(name)
        self._hosts: dict[str, int] = {}
        self._pages: dict[str, int] = {}

    def page(self, url: str) -> int:
        number = self._pages.get(url)
        if number is None:
            number = self._pages[url] = len(self.web.links)
            host = url.partition("://")[2].partition("/")[0]
            if host not in self._hosts:
                self._hosts[host] = len(self.web.hosts)
                self.web.hosts.append(host)
            self.web.host_of.append(self._hosts[host])
            self.web.links.append(array("l"))
        return number

    def read(self, url: str, links: Iterable[str]) -> None:
        self.web.links[self.page(url)] = array("l", map(self.page, links))


def of_edges(path: Path, host_size: int) -> HostWeb:
    """A graph without names: so many pages in a row are of one host."""
    web = HostWeb(path.name.partition(".")[0], named=False)
    web.links = [array("l", targets) for targets in read_edges(path)]
    web.host_of = array("l", (page // host_size for page in range(len(web.links))))
    web.hosts = [f"h{number}.example" for number in range(web.host_of[-1] + 1)]
    return web


def of_urls(path: Path) -> HostWeb:
    """A graph with the URL of every page, as `hollins.dat` has it."""
    builder = _Builder(path.stem)
    with path.open(encoding="utf8", errors="replace") as lines:
        pages, links = map(int, next(lines).split()[:2])
        urls = dict(next(lines).split(maxsplit=1) for _ in range(pages))
        numbers = {number: builder.page(url.strip()) for number, url in urls.items()}
        for _ in range(links):
            source, target = next(lines).split()[:2]
            builder.web.links[numbers[source]].append(numbers[target])
    return builder.web


def of_sites() -> HostWeb:
    """The seven real sites, with their links to all of the web; each page is read once, as breadth comes first."""
    builder = _Builder("seven sites")
    module = tool()
    with tempfile.TemporaryDirectory(prefix="sites-") as folder:
        cache = Path(folder).resolve()
        module.unpack(cache)

        def links(url: str) -> list[str]:
            host, _, path = url.partition("://")[2].partition("/")
            status, headers, body = module.answer(cache / module.HOSTS[host], f"/{path}")
            if status == 301:
                return [f"http://{host}{headers['Location']}"]
            declared = [(b"Content-Type", headers.get("Content-Type", "").encode())]
            return [link.url for link in read_page(url, body, declared).links] if status == 200 else []

        for url, found in _walk(SEEDS, links, lambda url: url.split("/")[2] in module.HOSTS):
            builder.read(url, found)
    return builder.web


def of_recordings(folder: Path, copies: int, pages: int) -> HostWeb:
    """So many copies (`copied.py`) of each recorded site, as far as its first `pages` pages. All of their links stay
    on their site: what led to others was not recorded, and none is made up.
    """
    builder = _Builder(f"recorded sites, {copies} copies")
    for path in sorted(folder.glob("*.tsv.gz")):
        site = Recorded(path)
        first = len(builder.web.links)
        base = Copy(site, 0)
        found = _walk([base.seed.url], lambda url, base=base: _recorded(base, url), lambda _: True, pages)  # type: ignore[misc]
        for url, links in found:
            builder.read(url, links)
        read = builder.web.links[first:]
        for number in range(1, copies):
            _repeat(builder.web, first, read, Copy(site, number).seed.host)
    return builder.web


def _recorded(site: Copy, url: str) -> list[str]:
    return [link.url for link in site.links(site.page(url))]


def _repeat(web: HostWeb, first: int, pages: Sequence[array[int]], host: str) -> None:
    offset = len(web.links) - first
    web.hosts.append(host)
    web.host_of.extend([len(web.hosts) - 1] * len(pages))
    web.links.extend(array("l", (target + offset for target in links)) for links in pages)


def _walk(
    seeds: Sequence[str],
    links: Callable[[str], list[str]],
    admits: Callable[[str], bool],
    pages: int = sys.maxsize,
) -> Iterator[tuple[str, list[str]]]:
    """Pages with their links, breadth first."""
    known, queue = set(seeds), deque(seeds)
    while queue and pages:
        url = queue.popleft()
        found = links(url)
        yield url, found
        pages -= 1
        new = [link for link in dict.fromkeys(found) if link not in known and admits(link)]
        known.update(new)
        queue.extend(new)
