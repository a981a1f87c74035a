"""What a crawl of many workers takes of Redis' memory, a URL: by kind of row, in a snapshot and in a log.

    python benchmarks/partition_memory.py ../shared/data/webs --urls 10000000

Copies of recorded sites are crawled by the real frontier until `--grown` URLs are known; nothing is fetched. What
there is beyond that are copies of its rows (`grown.py`). The rows of one partition after the other are written to a
database, packed from there as `cluster.compaction` packs them, and pushed to a real Redis, which has all of them in
the end. About `SAMPLES` parts are packed once more kind by kind: a kind takes what a part grows by with it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from copied import copies  # noqa: E402
from grown import Crawl, Many  # noqa: E402
from redis_servers import Server  # noqa: E402

from sitecrawl.cluster.compaction import GROWTH, URLS  # noqa: E402
from sitecrawl.cluster.snapshots import pack_part  # noqa: E402
from sitecrawl.frontier.moving import Row, parts_of  # noqa: E402
from sitecrawl.frontier.urls.record import UrlState  # noqa: E402

SAMPLES = 12
WAITING, DONE = "URLs that wait", "URLs that are done"


def kind_of(row: Row) -> str:
    family, key, value = row
    if family == "urls":
        return WAITING if value[0] == UrlState.QUEUED else DONE
    if family == "content":
        return "digests of bodies" if key[:1] == b"D" else "titles and texts"
    return family


class Snapshots:
    """Those of all partitions, as they are put on Redis."""

    def __init__(self, crawl: Crawl, many: Many, part: int) -> None:
        self._crawl = crawl
        self._many = many
        self._urls = part
        self._every = many.known // part // SAMPLES + 1
        self.rows, self.sampled, self.sizes = Counter[str](), Counter[str](), Counter[str]()
        """Rows of each kind, those of the samples alone, and what these take."""
        self.parts = self.size = 0
        self.seconds = 0.0
        """Of a core, for packing."""

    def put(self, folder: Path, client: Any) -> None:
        territory = self._many.territory
        for partition in territory.held:
            with self._many.partition(partition, folder) as database:
                for rows in parts_of(database, territory.regions(partition), self._urls):
                    client.rpush(f"snapshot:{partition}", self._part(rows))

    def _part(self, rows: Sequence[Row]) -> bytes:
        begun = time.thread_time()
        part = self._packed(rows)
        self.seconds += time.thread_time() - begun
        by_kind = defaultdict(list)
        for row in rows:
            by_kind[kind_of(row)].append(row)
        self.rows.update({kind: len(of_kind) for kind, of_kind in by_kind.items()})
        if self.parts % self._every == 0:
            self._sample(by_kind)
        self.parts, self.size = self.parts + 1, self.size + len(part)
        return part

    def _packed(self, rows: Sequence[Row]) -> bytes:
        return pack_part(self._crawl.facts, rows, self._crawl.fingerprint)

    def _sample(self, by_kind: dict[str, list[Row]]) -> None:
        self.sampled.update({kind: len(of_kind) for kind, of_kind in by_kind.items()})
        packed: list[Row] = []
        before = len(self._packed(packed))
        for kind in sorted(by_kind, key=lambda kind: (kind != DONE, kind != WAITING)):
            packed += by_kind[kind]
            size = len(self._packed(packed))
            self.sizes[kind] += size - before
            before = size


def report(snapshots: Snapshots, held: int) -> None:
    """`held`: bytes of Redis."""
    known, parts = snapshots.rows[WAITING] + snapshots.rows[DONE], snapshots.parts
    a_url = held / known
    print(f"{known:,} URLs, of which {snapshots.rows[DONE]:,} are done.")
    print(
        f"A snapshot takes {a_url:.1f} B of Redis a URL, in {parts:,} parts of {snapshots.size / known:.1f} B a URL."
    )
    print(f"With its log: {a_url * (1 + GROWTH / 2):.1f} B on average. {held / 1e6:,.0f} MB of snapshots.")
    print(f"Cost: {1e6 * snapshots.seconds / known:.1f} us of a core.")
    print("| kind | rows | bytes each | bytes a URL |\n|---|---|---|---|")
    for kind, number in snapshots.rows.most_common():
        if kind in snapshots.sizes:
            each = snapshots.sizes[kind] / snapshots.sampled[kind]
            print(f"| {kind} | {number:,} | {each:.1f} | {each * number / known:.2f} |")


def used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def measure(folder: Path, redis: Server, arguments: argparse.Namespace) -> None:
    begun = time.perf_counter()
    sites = copies(arguments.webs, arguments.copies)
    crawl = Crawl(folder, sites, arguments.partitions)
    crawl.grow(min(arguments.urls, arguments.grown))
    known, logged = crawl.frontier.counts.known, crawl.logged / crawl.pages
    print(
        f"{known:,} URLs grown in {time.perf_counter() - begun:,.0f} s. A log grows by {logged:,.0f} B a page.",
        flush=True,
    )
    snapshots = Snapshots(crawl, Many(crawl, sites, max(known, arguments.urls), arguments.partitions), arguments.part)
    with closing(redis.client()) as client:
        empty = used(client)
        snapshots.put(folder, client)
        report(snapshots, used(client) - empty)
    crawl.database.close()
    memory = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.perf_counter() - begun:,.0f} s and {memory:,.0f} MB in all, beside Redis.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("webs", type=Path, help="a folder of recorded sites")
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--grown", type=int, default=300_000, help="URLs that the frontier finds itself, at most")
    parser.add_argument("--copies", type=int, default=8, help="of each site, that the frontier crawls")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--part", type=int, default=URLS, help="URLs in a part, about")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="partitions-") as folder:
        redis = Server(Path(folder), "--appendonly", "no")
        try:
            measure(Path(folder), redis, arguments)
        finally:
            redis.close()


if __name__ == "__main__":
    main()
