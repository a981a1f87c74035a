"""All sitemaps of a crawl, in its database, and the times of their next visits.

One row a sitemap in the family `sitemaps`; its key is the fingerprint of its URL, so it is the frontier's key, too.
The changes of a checkpoint go into its batch. In memory: the records of the crawl's sitemaps, a heap of their next
visits, the keys of each host's sitemaps, and for each site the sum of their weights and what its first visits cost.

**New sitemaps.** A sitemap is paid for by a new link that any sitemap of its site has brought, or else by the daily
budget: of the sitemaps of a site first fetched in any 24 hours, no more than its budget (at least `FREE`) exceed the
new links that its sitemaps have brought.

That holds however they are named, at any depth. A site that lists pages gets all its sitemaps read, because each
pays for many others; one whose sitemaps list only sitemaps gets its budget. The site is that of the host that
vouches for the sitemap, so a robots.txt that names sitemaps all over the web has one budget.

Unpaid ones are fetched in lots of `FREE`, each after the one before has been read, and after all pages of the site
once it owes that many. Of what is left out only the number is kept. Its source is fetched again when all that was
named has been read, or when the site's sitemaps have brought two links each: once a lot if nothing comes, and once
each time the sitemaps double if links do. All of this is derived from the records, so it survives a crash and a stop.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import DAY, NEVER, ScheduleOptions, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.participant import Participant
from sitecrawl.urls.url import site_of

FREE: Final = 100
"""Sitemaps without new links after which a site's further ones come after its pages; most sites have fewer."""
_UNBOUNDED: Final = 1_000_000_000
_NAMED: Final = frozenset({How.ROBOTS, How.LINK, How.INDEX})
"""Ways of finding that count: not by hand, and not the few usual addresses."""


@dataclass(slots=True)
class _Site:
    named: list[float] = field(default_factory=list)
    """When each of its sitemaps was first asked for, in Unix seconds, ascending."""
    new: int = 0
    """New links that its sitemaps have brought."""
    unread: set[bytes] = field(default_factory=set)
    """Sitemaps in flight, and sources that are fetched again."""
    sources: tuple[dict[bytes, SitemapRecord], ...] = field(default_factory=lambda: ({}, {}, {}))
    """Sources that name more than there was room for, by depth of nesting."""

    @property
    def owed(self) -> int:
        """Sitemaps that no new link has paid for; negative if more links came."""
        return len(self.named) - self.new


@dataclass(slots=True)
class _Noted:
    site: str
    nesting: int
    new: int = 0
    left: int = 0


class _FirstVisits:
    """See the module. `budget`: sitemaps a day and site."""

    def __init__(self, budget: float) -> None:
        self._budget = int(budget) if budget < _UNBOUNDED else _UNBOUNDED
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)
        self._noted: dict[bytes, _Noted] = {}
        self._gains: Counter[str] = Counter()
        """By what names them: new links that sitemaps have brought, without one for each of them."""
        self.left = 0
        """Sitemaps that were left out."""

    def note(self, key: bytes, record: SitemapRecord) -> None:
        """Note a new or changed record."""
        counts = record.kind == SitemapKind.SITEMAP and record.how in _NAMED
        noted = self._noted.get(key)
        if noted is None:
            noted = self._noted[key] = _Noted(record.site, _nesting(record))
            if counts:
                insort(self._sites[noted.site].named, record.found)
                self._gains[record.parent] -= 1
        site = self._sites[noted.site]
        if record.kind == SitemapKind.SITEMAP:
            site.new += record.new - noted.new
            self._gains[record.parent] += record.new - noted.new
            noted.new = record.new
        if counts and record.state == SitemapState.OPEN:
            site.unread.add(key)
        else:
            site.unread.discard(key)
        self.left += record.left - noted.left
        noted.left = record.left
        if record.left:
            site.sources[noted.nesting][key] = record
        else:
            site.sources[noted.nesting].pop(key, None)

    def passed_on(self, key: bytes) -> None:
        """Note that another worker reads the sitemap."""
        self._sites[self._noted[key].site].unread.discard(key)

    def resumed(self, key: bytes, record: SitemapRecord) -> None:
        """Note that a source is fetched again."""
        self._sites[record.site].unread.add(key)

    def room(self, name: str, now: float, source: SitemapRecord | None = None) -> int:
        """How many more sitemaps of the site `name`, named by `source`, may be fetched.

        Unpaid ones go to the least nested sources.
        """
        site = self._sites[name]
        free = max(FREE - len(site.named), self._budget - _since(site, now))
        free = max(0, min(free, FREE - len(site.unread)))
        if free and source and any(site.sources[: _nesting(source)]):
            free = 0
        return max(-site.owed, free)

    def room_from(self, name: str, now: float) -> float:
        """When a spent budget has room for a lot again; `NEVER` if it is not spent, or zero."""
        named = self._sites[name].named
        if not 0 < self._budget <= len(named):
            return NEVER
        at = named[len(named) - self._budget + min(FREE, self._budget) - 1] + DAY
        return at if at > now else NEVER

    def owes(self, name: str) -> bool:
        """Whether the site's sitemaps have brought so little that further ones come after its pages."""
        return self._sites[name].owed >= FREE

    def resumable(self, name: str, now: float) -> list[bytes]:
        """Sources for which there is room now: first those whose sitemaps have paid for themselves, then the
        least nested.
        """
        site = self._sites[name]
        is_time = not site.unread or site.new >= 2 * len(site.named)  # so the same source comes seldom
        if not is_time or not any(site.sources) or not self.room(name, now):
            return []
        gains = [(self._gains[source.url], key) for some in site.sources for key, source in some.items()]
        gains.sort(key=lambda pair: min(0, -pair[0]))
        return [key for _, key in gains]


def _nesting(source: SitemapRecord) -> int:
    """Of a robots.txt or front page 0, of what these name 1, of an index within an index 2."""
    return 0 if source.kind != SitemapKind.SITEMAP else 1 + (source.how == How.INDEX)


def _since(site: _Site, now: float) -> int:
    return len(site.named) - bisect_right(site.named, now - DAY)


_FAMILY = "sitemaps"


class SitemapStore(Participant):
    """See the module. A record that is changed must be `put`."""

    def __init__(self, database: Database, options: ScheduleOptions) -> None:
        self._database = database
        self._options = options
        self.first_visits = _FirstVisits(options.budget)
        self._records: dict[bytes, SitemapRecord] = {}
        self._changed: set[bytes] = set()
        self._hosts: defaultdict[str, set[bytes]] = defaultdict(set)
        self._vouched: defaultdict[str, set[bytes]] = defaultdict(set)
        """Sitemaps on other hosts, by voucher."""
        self._weights: dict[bytes, float] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._visits: list[tuple[float, bytes]] = []
        """Heap of visits; entries that differ from their records are stale."""
        self._planned: dict[bytes, float] = {}
        """Next visits by key, as last planned."""
        self.reload()

    def reload(self) -> None:
        """Read the records of the database again, after a checkpoint. Others stay."""
        for key, data in self._database.scan(_FAMILY):
            self._index(key, SitemapRecord.unpack(data))

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: bytes) -> bool:
        return key in self._records

    def __getitem__(self, key: bytes) -> SitemapRecord:
        return self._records[key]

    def get(self, key: bytes) -> SitemapRecord | None:
        return self._records.get(key)

    def items(self) -> Iterator[tuple[bytes, SitemapRecord]]:
        return iter(self._records.items())

    def count(self, host: str) -> int:
        """Sitemaps of `host`."""
        return len(self._hosts.get(host, ()))

    def of_host(self, host: str) -> list[SitemapRecord]:
        return [self._records[key] for key in self._hosts.get(host, ())]

    def speaking_for(self, host: str) -> list[SitemapRecord]:
        """Sitemaps of `host`, and others that it vouches for."""
        return [self._records[key] for key in self._hosts.get(host, set()) | self._vouched.get(host, set())]

    def put(self, key: bytes, record: SitemapRecord) -> None:
        """Store a new or changed `record`."""
        self._index(key, record)
        self._changed.add(key)

    def _index(self, key: bytes, record: SitemapRecord) -> None:
        self._records[key] = record
        self._hosts[record.host].add(key)
        self.first_visits.note(key, record)
        for voucher in record.vouchers:
            if voucher != record.host:
                self._vouched[voucher].add(key)
        weight = record.weight
        self._sums[site_of(record.host)] += weight - self._weights.get(key, 0.0)
        self._weights[key] = weight
        if record.next_visit != self._planned.get(key, NEVER):
            self._planned[key] = record.next_visit
            heapq.heappush(self._visits, (record.next_visit, key))

    def plan(self, key: bytes, now: float) -> None:
        """Set the next visit of a sitemap that has just been visited."""
        record = self._records[key]
        self.put(key, record)
        record.next_visit = now + record.interval(self._sums[site_of(record.host)], self._options)
        self.put(key, record)

    def is_watching(self) -> bool:
        """Whether anything will be visited (again)."""
        return any(record.state == SitemapState.OPEN or record.is_watched for record in self._records.values())

    def next_time(self) -> float | None:
        """Unix time of the next visit that is planned."""
        while self._visits:
            at, key = self._visits[0]
            if self._records[key].next_visit == at < NEVER:
                return at
            heapq.heappop(self._visits)
        return None

    def due(self, now: float) -> Iterator[bytes]:
        """Take the sitemaps due at `now`, the longest overdue first."""
        while (at := self.next_time()) is not None and at <= now:
            _, key = heapq.heappop(self._visits)
            record = self._records[key]
            record.next_visit = self._planned[key] = NEVER
            self._changed.add(key)
            yield key

    def prepare(self, batch: Batch) -> None:
        for key in self._changed:
            batch.put(_FAMILY, key, self._records[key].pack())

    def committed(self) -> None:
        self._changed.clear()


def read_sitemaps(database: Database) -> Iterator[SitemapRecord]:
    """The stored records, in no order."""
    return (SitemapRecord.unpack(data) for _, data in database.scan(_FAMILY))
