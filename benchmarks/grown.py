"""A frontier as large as one likes: recorded sites that it has crawled, and further copies of them.

To crawl a million URLs takes a quarter of an hour, though nothing is fetched. So some copies of the sites
(`copied.py`) are *grown*: crawled by one real frontier, with all that it learns and decides. Of the others the rows
are made from those (`copied_rows.py`), each as far as the one that it was made from: it is as if many workers had
each crawled as many sites as this frontier has.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from copied import Copy, Target
from copied_rows import SiteRows
from replaying import Unheard

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import RecordingBatch, pack_entry
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.moving import Facts, Row, facts_of, region_of_row, rows_of
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import REGION_SIZE, Fingerprinter
from sitecrawl.urls.url import Canonicalizer, site_of

PAGES_PER_SECOND = 100
COMMIT_EVERY = 500
KEY = bytes(16)
"""That of the crawl's fingerprints."""


def fingerprinted(fingerprints: Fingerprinter) -> Callable[[str], bytes]:
    """The key of a URL, by its text."""
    canonicalizer = Canonicalizer()
    return lambda url: fingerprints.url(canonicalizer.canonical_href(url))


class Crawl:
    """One frontier over all partitions; a clock that every page moves on."""

    def __init__(self, directory: Path, sites: Sequence[Copy], partitions: int) -> None:
        self.fingerprints = Fingerprinter(KEY)
        self.fingerprint = fingerprinted(self.fingerprints)
        self._sites = {site_of(site.seed.host): site for site in sites}
        self._now = 1.7e9
        self.territory = Territory(partitions, {number: PartCounts() for number in range(partitions)})
        self.database = Database(directory / "db", hash_name=HASH_NAME)
        self.frontier = DiskFrontier(
            self.database,
            order_named("aopic"),
            seen=CrawlSeen(directory / "seen.bloom", SeenOptions(), hash_name=HASH_NAME),
            host_key=self.fingerprints.host,
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

    def _link(self, target: Target) -> Link:
        return Link(target.url, target.host, nofollow=target.nofollow, key=self.fingerprint(target.url))

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
            self.frontier.contents.judge(
                visit, page.sha1, title=page.title, text_hash=page.text_hash, sample=page.sample
            )
            links = {link.key: link for link in map(self._link, site.links(page)) if link.key != visit.key}
            self.frontier.expand(visit, list(links.values()))
        self.frontier.done(visit, UrlState.FETCHED, status=page.status, good=bool(page.content))
        self.pages += 1
        self._now += 1 / PAGES_PER_SECOND
        return True

    def commit(self) -> None:
        """A checkpoint, with an entry for each partition."""
        recorded = RecordingBatch(self.database.batch(), self.territory)
        self.frontier.prepare(recorded)
        self.database.write(recorded.into, sync=False)
        self.frontier.committed()
        facts = facts_of(self.territory, self.frontier.link_credit.ledger, self.frontier.counts.serial)
        self.logged += sum(len(pack_entry(facts[one], changes)) for one, changes in recorded.changes.items())

    @property
    def facts(self) -> Facts:
        """Of a partition."""
        return facts_of(self.territory, self.frontier.link_credit.ledger, self.frontier.counts.serial)[0]


class Many:
    """So many URLs, or some more, in so many partitions: those that `crawl` has found in `sites`, and further copies.

    Raises `ValueError` if sites cannot be told apart by their regions.
    """

    def __init__(self, crawl: Crawl, sites: Sequence[Copy], urls: int, partitions: int) -> None:
        self.territory = Territory(partitions, {number: PartCounts() for number in range(partitions)})
        self._placed: defaultdict[int, list[tuple[SiteRows, Copy]]] = defaultdict(list)
        """What to make of what, by partition."""
        self.known = 0
        crawled, copied = _by_site(crawl, sites), max(site.number for site in sites) + 1
        turns = ((rows, rows.site.copy(rows.site.number + copied * turn)) for turn in count() for rows in crawled)
        while self.known < urls:
            rows, site = next(turns)
            self._placed[self.territory.partition(crawl.fingerprints.region(site.seed.host))].append((rows, site))
            self.known += rows.urls

    @contextmanager
    def partition(self, number: int, folder: Path) -> Iterator[Database]:
        """A database with its rows, in `folder` for that time."""
        database = Database(folder / "partition", hash_name=HASH_NAME)
        try:
            for rows, site in self._placed[number]:
                batch = database.batch()
                for row in rows.copied(site):
                    batch.put(*row)
                database.write(batch, sync=False)
            yield database
        finally:
            database.close()
            shutil.rmtree(folder / "partition")


def _by_site(crawl: Crawl, sites: Sequence[Copy]) -> list[SiteRows]:
    found: defaultdict[bytes | None, list[Row]] = defaultdict(list)
    for row in rows_of(crawl.database, range(1 << 8 * REGION_SIZE)):
        found[region_of_row(*row)].append(row)
    regions = [crawl.fingerprints.region(site.seed.host) for site in sites]
    if len(set(regions)) < len(regions):
        raise ValueError("Two of the sites have one region: take another number of copies")
    return [
        SiteRows(site, found[region], crawl.fingerprints, crawl.fingerprint)
        for site, region in zip(sites, regions, strict=True)
    ]
