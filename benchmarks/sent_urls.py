"""What a cache of sent URLs would save between workers (Broder, Najork and Wiener 2003): most links to other workers
are to the same few URLs.

    python benchmarks/sent_urls.py ../shared/data/graphs/cnr-2000.tsv.gz

The graph is walked as by `splitter.py`, by workers with four partitions each, and bundles are packed as when sent:
at each checkpoint one for each pair of partitions. Four ways to do it:

- all: a message for each link, as it is
- once: a message for each URL in a bundle, with the credit of all of its links
- cached: of a URL that its worker has sent before (a CLOCK cache) only fingerprint and credit
- late: the same, and a bundle in which all were sent before waits for one in which any was not

Commands and bytes a page are those of the bundles alone. Hosts and paths are made up, for the graph has none.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import hostwebs
import msgpack
from hostwebs import HostWeb
from partition_schemes import homes
from splitter import Homes, table_head, table_row

from sitecrawl.base.frames import compress
from sitecrawl.cluster.entries import Bundle
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.urls.territory import Message
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import site_of

FOR_EACH = 4
"""Partitions of a worker."""
WAYS = ("all", "once", "cached", "late")
_Pair = tuple[int, int]
_WORDS = ("about", "people", "papers", "projects", "events", "archive", "staff", "documents")


class Sending(Homes):
    """Counts `bundles` and `size` of what is sent, by way."""

    def __init__(self, web: HostWeb, workers: int, cache: int, every: int) -> None:
        super().__init__(web, workers, cache, 20)
        self._places = homes(web, site_of, FOR_EACH * workers)
        self._every = every
        self._key = Fingerprinter(bytes(16)).url
        self._sent = [Clock(cache) for _ in range(workers)]
        self._out = [defaultdict[_Pair, list[tuple[int, Message]]](list) for _ in range(workers)]
        self._late = [defaultdict[_Pair, dict[bytes, int]](dict) for _ in range(workers)]
        self.bundles, self.size = Counter[str](), Counter[str]()
        self.messages = self.known = 0

    def _url(self, page: int) -> tuple[str, str]:
        host = self.web.hosts[self.web.host_of[page]]
        return f"http://{host}/{_WORDS[page % 8]}/{_WORDS[page // 8 % 8]}/page-{page}.html", host

    def _read(self, worker: int, page: int) -> None:
        super()._read(worker, page)
        source, referrer = self._places[self.web.host_of[page]], self._key(self._url(page)[0])
        links = set(self.web.links[page])
        for link in links:
            if self._homes[self.web.host_of[link]] != worker:
                url, host = self._url(link)
                message = Message(Link(url, host, key=self._key(url)), 3, referrer, 10**9 // (10 * len(links)))
                self._out[worker][source, self._places[self.web.host_of[link]]].append((link, message))
        if self.count.pages[worker] % self._every == 0:
            self._send(worker)

    def _send(self, worker: int) -> None:
        for pair, found in self._out[worker].items():
            self._note("all", [message for _, message in found], {})
            by_url: defaultdict[int, list[Message]] = defaultdict(list)
            for link, message in found:
                by_url[link].append(message)
            self._note("once", [of[0]._replace(tenth=_sum(of)) for of in by_url.values()], {})
            known = {link for link in by_url if self._sent[worker].touch(link)}  # type: ignore[arg-type]
            new = [of[0]._replace(tenth=_sum(of)) for link, of in by_url.items() if link not in known]
            self.messages, self.known = self.messages + len(by_url), self.known + len(known)
            amounts = {by_url[link][0].link.key: _sum(by_url[link]) for link in known}
            self._note("cached", new, amounts)
            self._late[worker][pair] |= amounts
            if new:
                self._note("late", new, self._late[worker].pop(pair))
        self._out[worker].clear()

    def _note(self, way: str, messages: list[Message], amounts: dict[bytes, int]) -> None:
        self.bundles[way] += 1
        self.size[way] += len(Bundle(messages).pack())
        self.size[way] += len(compress(msgpack.packb(amounts))) if amounts else 0


def _sum(messages: list[Message]) -> int:
    return sum(message.tenth or 0 for message in messages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--cache", type=int, default=65_536)
    parser.add_argument("--every", type=int, nargs="+", default=[50, 500], help="pages of a worker's checkpoint")
    parser.add_argument("--host-size", type=int, default=1000)
    arguments = parser.parse_args()
    web = hostwebs.of_edges(arguments.graph, arguments.host_size)
    ways = [f"{way}: commands, bytes a page" for way in WAYS]
    print(table_head(["workers", "pages a checkpoint", "sent before", *ways]))
    for workers in arguments.workers:
        for every in arguments.every:
            walk = Sending(web, workers, arguments.cache, every)
            pages = walk.run().pages.total()
            cells = [f"{walk.bundles[way] / pages:.2f}, {walk.size[way] / pages:.0f}" for way in WAYS]
            print(table_row([workers, every, f"{walk.known / walk.messages:.0%}", *cells]), flush=True)


if __name__ == "__main__":
    main()
