"""What URLs cost a Redis: memory while they wait and when they are done, and time a link and a page.

    python benchmarks/cluster_memory.py --urls 1000000

Drives the steps of one shard without a worker or a network. Every page has `--links` links: half of them to URLs
that are new, as long as there are some, the others to such as are known.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
HELPERS = PROJECT / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(PROJECT)]

from cluster_helpers import Steps, link, outcome, seed  # noqa: E402
from redis_servers import Server  # noqa: E402

from sitecrawl.cluster.parcel import Outcome, ParcelLink  # noqa: E402

BATCH = 32


class Crawl:
    def __init__(self, steps: Steps, urls: int, links: int, hosts: int) -> None:
        self.steps = steps
        self.urls = urls
        self.links = links
        self.hosts = hosts
        self.made = 0
        self.random = Random(1)

    def url(self, number: int) -> str:
        return f"http://www.host-{number % self.hosts}.example/articles/some-words/page-{number}.html"

    def seeds(self) -> None:
        for number in range(self.hosts):
            self.steps.add(seed(self.url(number)))
        self.made = self.hosts

    def _known(self, page: int) -> int:
        """Four of five links stay on their host, and the first pages of a host are linked to most."""
        if self.random.random() < 0.2:
            return self.random.randrange(min(self.made, self.hosts))
        pages = -(-self.made // self.hosts)
        return min(page % self.hosts + self.hosts * int(pages * self.random.random() ** 3), self.made - 1)

    def of_page(self, page: int) -> list[ParcelLink]:
        new = min(self.links // 2, self.urls - self.made)
        numbers = [*range(self.made, self.made + new)]
        self.made += new
        numbers += [self._known(page) for _ in range(self.links - new)]
        return [link(self.url(number)) for number in dict.fromkeys(numbers)]

    def fetch(self, most: int) -> int:
        """Fetch so many pages, or as many as wait; returns how many."""
        done = 0
        while done < most and (leases := self.steps.lease(0, want=BATCH, hosts=8, most=8)):
            pages: list[Outcome] = [
                outcome(lease, url, *self.of_page(number_of(url))) for lease in leases for url in lease[6]
            ]
            self.steps.send(self.steps.parcel(0, pages))
            for lease in leases:
                self.steps.release(0, lease)
            done += len(pages)
        return done


def number_of(url: list[Any]) -> int:
    return int(url[1].decode().rpartition("-")[2].removesuffix(".html"))


def measured(client: Any, what: Any) -> tuple[int, float]:
    """What `what()` returns, and the seconds of CPU that Redis took for it."""
    before = client.info("cpu")
    found = what()
    after = client.info("cpu")
    return found, sum(after[name] - before[name] for name in ("used_cpu_user", "used_cpu_sys"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--links", type=int, default=40)
    parser.add_argument("--hosts", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        server = Server(Path(folder), "--appendonly", "no")
        try:
            with server.client() as client:
                report(client, arguments)
        finally:
            server.close()


def report(client: Any, arguments: argparse.Namespace) -> None:
    empty = client.info("memory")["used_memory"]
    steps = Steps(client, shards=1, buckets=arguments.urls // 64)
    crawl = Crawl(steps, arguments.urls, arguments.links, arguments.hosts)
    crawl.seeds()
    begun = time.perf_counter()
    pages, seconds = measured(client, lambda: crawl.fetch(arguments.urls // (arguments.links // 2)))
    held = client.info("memory")["used_memory"] - empty
    waiting = arguments.urls - pages
    print(f"{waiting:,} URLs wait and {pages:,} are done: {held / arguments.urls:,.0f} B a URL", flush=True)
    print(f"  Redis: {1e6 * seconds / pages:,.0f} us a page of {arguments.links} links, half of them new", flush=True)
    pages, seconds = measured(client, lambda: crawl.fetch(arguments.urls))
    held = client.info("memory")["used_memory"] - empty
    print(f"all {steps.done():,} are done: {held / arguments.urls:,.0f} B a URL", flush=True)
    print(
        f"  Redis: {1e6 * seconds / pages:,.0f} us a page of {arguments.links} links, all of them known", flush=True
    )
    print(f"  {time.perf_counter() - begun:,.0f} s in all, {client.info('server')['redis_version']}")


if __name__ == "__main__":
    main()
