"""What a crawl of many workers takes of Redis' memory, a URL: by kind of row, in a snapshot and in a log.

    python benchmarks/partition_memory.py ../shared/data/webs --urls 1000000

Copies of recorded sites (`copied.py`) are crawled by the real frontier until so many URLs are known; nothing is
fetched. Its partitions are packed as `cluster.compaction` packs them, and written to a real Redis. About `SAMPLES`
parts are packed once more kind by kind: a kind takes what a part grows by with it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from copied import Copy, Target, copies  # noqa: E402
from redis_servers import Server  # noqa: E402
from replaying import Unheard  # noqa: E402

from sitecrawl.cluster.compaction import GROWTH, URLS  # noqa: E402
from sitecrawl.cluster.entries import RecordingBatch, pack_entry  # noqa: E402
from sitecrawl.cluster.snapshots import pack_part  # noqa: E402
from sitecrawl.crawldir.database import Database  # noqa: E402
from sitecrawl.frontier.counts import PartCounts  # noqa: E402
from sitecrawl.frontier.crawl_seen import CrawlSeen  # noqa: E402
from sitecrawl.frontier.disk import DiskFrontier  # noqa: E402
from sitecrawl.frontier.hosts import PolitenessOptions  # noqa: E402
from sitecrawl.frontier.moving import NO_FACTS, Row, facts_of, parts_of  # noqa: E402
from sitecrawl.frontier.options import FrontierOptions  # noqa: E402
from sitecrawl.frontier.order import order_named  # noqa: E402
from sitecrawl.frontier.record import UrlState  # noqa: E402
from sitecrawl.frontier.territory import Territory  # noqa: E402
from sitecrawl.page.items import Link  # noqa: E402
from sitecrawl.seen.store import SeenOptions  # noqa: E402
from sitecrawl.urls.fingerprint import HASH_NAME, Fingerprinter  # noqa: E402
from sitecrawl.urls.url import Canonicalizer, Url, site_of  # noqa: E402

PAGES_PER_SECOND = 100
COMMIT_EVERY = 500
SAMPLES = 12
WAITING, DONE = "URLs that wait", "URLs that are done"


class Crawl:
    """One frontier over all partitions; a clock that every page moves on."""

    def __init__(self, directory: Path, sites: Sequence[Copy], partitions: int) -> None:
        self._fingerprints, self._canonicalizer = Fingerprinter(bytes(16)), Canonicalizer()
        self._sites = {site_of(site.seed.host): site for site in sites}
        self._now = 1.7e9
        self.territory = Territory(partitions, {number: PartCounts() for number in range(partitions)})
        self.database = Database(directory / "db", hash_name=HASH_NAME)
        self.frontier = DiskFrontier(
            self.database,
            order_named("aopic"),
            seen=CrawlSeen(directory / "seen.bloom", SeenOptions(bloom="auto"), hash_name=HASH_NAME),
            host_key=self._fingerprints.host,
            fingerprint=self.fingerprint,
            listener=Unheard(),
            clock=lambda: self._now,
            wall=lambda: self._now,
            politeness=PolitenessOptions(delay_factor=0),
            options=FrontierOptions(),
            territory=self.territory,
        )
        self.frontier.add([self._link(site.seed) for site in sites], depth=0)
        self.pages = self.logged = 0

    def fingerprint(self, url: str) -> bytes:
        return self._fingerprints.url(self._canonicalizer.canonical_href(url))

    def _link(self, target: Target) -> Link:
        key = self._fingerprints.url(self._canonicalizer.canonical(Url(target.url, target.host)))
        return Link(target.url, target.host, nofollow=target.nofollow, key=key)

    def grow(self, urls: int) -> None:
        """Until so many are known, or all."""
        while self.frontier.counts.known < urls and self._fetch():
            if self.pages % COMMIT_EVERY == 0:
                self.commit()
        self.commit()

    def _fetch(self) -> bool:
        while (visit := self.frontier.next()) is None:
            if (rest := self.frontier.next_time()) is None:
                return False
            self._now += rest
        site = self._sites[site_of(visit.url[7:].partition("/")[0])]
        page = site.page(visit.url)
        self.frontier.downloaded(visit, 0.0)
        if page.status == 200:
            self.frontier.judge_content(visit, page.sha1, title=page.title, text_hash=page.text_hash)
            links = {link.key: link for link in map(self._link, site.links(page)) if link.key != visit.key}
            self.frontier.expand(visit, list(links.values()))
        self.frontier.done(visit, UrlState.FETCHED, status=page.status, good=bool(page.content))
        self.pages += 1
        self._now += 1 / PAGES_PER_SECOND
        return True

    def commit(self) -> None:
        """A checkpoint, with an entry for each partition."""
        recorded = RecordingBatch(self.database.batch(), self.territory)
        self.frontier.flush(recorded)
        self.database.write(recorded.into, sync=False)
        self.frontier.flushed()
        facts = facts_of(self.territory, self.frontier.link_credit.ledger, self.frontier.counts.serial)
        self.logged += sum(len(pack_entry(facts[one], changes)) for one, changes in recorded.changes.items())

    def parts(self) -> Iterator[list[Row]]:
        """Of all partitions."""
        for partition in self.territory.held:
            yield from parts_of(self.database, self.territory.regions(partition), URLS)

    def packed(self, rows: Sequence[Row]) -> bytes:
        return pack_part(NO_FACTS, rows, self.fingerprint)


def kind_of(row: Row) -> str:
    family, key, value = row
    if family == "urls":
        return WAITING if value[0] == UrlState.QUEUED else DONE
    if family == "content":
        return "digests of bodies" if key[:1] == b"D" else "titles and texts"
    return family


def report(crawl: Crawl, redis: Server) -> None:
    known, done = crawl.frontier.counts.known, crawl.frontier.counts.fetched
    print(f"{known:,} URLs, of which {done:,} are done. A log grows by {crawl.logged / crawl.pages:,.0f} B a page.")
    with closing(redis.client()) as client:
        empty = used(client)
        seconds, size, parts = to_redis(crawl, client)
        held = (used(client) - empty) / known
    print(f"A snapshot takes {held:.1f} B of Redis a URL, in {parts:,} parts of {size / known:.1f} B a URL.")
    print(
        f"With its log: {held * (1 + GROWTH / 2):.1f} B on average. Cost: {1e6 * seconds / known:.1f} us of a core."
    )
    print("| kind | rows | bytes each | bytes a URL |\n|---|---|---|---|")
    rows, sizes = kinds(crawl, parts // SAMPLES + 1)
    for kind, number in rows.most_common():
        share = sizes[kind] / (rows[WAITING] + rows[DONE])
        print(f"| {kind} | {number:,} | {sizes[kind] / number:.1f} | {share:.2f} |", flush=True)


def used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def to_redis(crawl: Crawl, client: Any) -> tuple[float, int, int]:
    """Seconds of a core that packing takes, bytes, parts."""
    begun, size, parts = time.thread_time(), 0, 0
    for rows in crawl.parts():
        part = crawl.packed(rows)
        client.rpush("snapshot", part)
        size, parts = size + len(part), parts + 1
    return time.thread_time() - begun, size, parts


def kinds(crawl: Crawl, every: int) -> tuple[Counter[str], Counter[str]]:
    """Rows, and what they take, by kind, of one part out of `every`."""
    counted, sizes = Counter[str](), Counter[str]()
    for rows in islice(crawl.parts(), 0, None, every):
        by_kind = defaultdict(list)
        for row in rows:
            by_kind[kind_of(row)].append(row)
        counted.update({kind: len(of_kind) for kind, of_kind in by_kind.items()})
        packed: list[Row] = []
        before = len(crawl.packed(packed))
        for kind in sorted(by_kind, key=lambda kind: (kind != DONE, kind != WAITING)):
            packed += by_kind[kind]
            size = len(crawl.packed(packed))
            sizes[kind] += size - before
            before = size
    return counted, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("webs", type=Path, help="a folder of recorded sites")
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--copies", type=int, default=16, help="of each site")
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="partitions-") as folder:
        redis = Server(Path(folder), "--appendonly", "no")
        try:
            begun = time.perf_counter()
            crawl = Crawl(Path(folder), copies(arguments.webs, arguments.copies), arguments.partitions)
            crawl.grow(arguments.urls)
            print(f"Grown in {time.perf_counter() - begun:,.0f} s", flush=True)
            report(crawl, redis)
            crawl.database.close()
        finally:
            redis.close()


if __name__ == "__main__":
    main()
