"""All sitemaps of a crawl, in its database, and the times of their next visits.

One row a sitemap in the family `sitemaps`; its key is the fingerprint of its URL, so it is the frontier's key, too.
The changes of a checkpoint go into its batch. In memory: the records of the crawl's sitemaps, a heap of their next
visits, the keys of each host's sitemaps, and for each site the sum of their weights and what its first visits cost.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator

from sitecrawl.crawl.sitemaps import schedule
from sitecrawl.crawl.sitemaps.first_visits import FirstVisits
from sitecrawl.crawl.sitemaps.record import NEVER, SitemapRecord, SitemapState
from sitecrawl.crawl.sitemaps.schedule import ScheduleOptions
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.participant import Participant
from sitecrawl.urls.url import site_of

_FAMILY = "sitemaps"


class SitemapStore(Participant):
    """See the module. A record that is changed must be `put`."""

    def __init__(self, database: Database, options: ScheduleOptions) -> None:
        self._database = database
        self._options = options
        self.first_visits = FirstVisits(options.budget)
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
        weight = schedule.weight(record)
        self._sums[site_of(record.host)] += weight - self._weights.get(key, 0.0)
        self._weights[key] = weight
        if record.next_visit != self._planned.get(key, NEVER):
            self._planned[key] = record.next_visit
            heapq.heappush(self._visits, (record.next_visit, key))

    def plan(self, key: bytes, now: float) -> None:
        """Set the next visit of a sitemap that has just been visited."""
        record = self._records[key]
        self.put(key, record)
        record.next_visit = now + schedule.interval(record, self._sums[site_of(record.host)], self._options)
        self.put(key, record)

    def is_watching(self) -> bool:
        """Whether anything will be visited (again)."""
        return any(
            record.state == SitemapState.OPEN or schedule.is_watched(record) for record in self._records.values()
        )

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
