"""The reference: the frontier's contract in memory. It judges nothing, and looks at all it knows at every call."""

from __future__ import annotations

import time

from sitecrawl.crawl import configuration
from sitecrawl.frontier.base import BaseFrontier, Nothing
from sitecrawl.frontier.contract import Asked, Capability, Figures
from sitecrawl.frontier.urls.host import Host, PolitenessOptions
from sitecrawl.frontier.urls.order import FIRST, Facts, Order, priority_of
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link


class MemoryFrontier(BaseFrontier, Nothing):
    """It is its own parts, but for the content-seen test. `clock` gives monotonic seconds."""

    can = Capability.ALL
    urls = hosts = manners = property(lambda self: self)

    def __init__(self, listener, order: Order, politeness: PolitenessOptions, clock=time.monotonic) -> None:
        self._listener, self._order, self._politeness, self._clock = listener, order, politeness, clock
        self.records: dict[bytes, UrlRecord] = {}
        self.requests: dict[bytes, bytes | None] = {}
        self.by_name: dict[bytes, Host] = {}
        self.serial = 0
        self.in_flight: dict[bytes, Visit] = {}

    @classmethod
    def from_crawler(cls, crawler, listener):
        return cls(listener, configuration.order(crawler.settings), configuration.politeness(crawler.settings))

    @property
    def figures(self) -> Figures:
        count = [record.state for record in self.records.values()].count
        queued, fetched, failed, excluded, parts = map(count, UrlState)
        return Figures(queued, fetched, failed, excluded, parts, in_flight=len(self.in_flight))

    def get(self, key: bytes) -> UrlRecord | None:
        return self.records.get(key)

    def live(self):
        return iter(self.by_name.values())

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        host, now = self.by_name[self.records[visit.key].host], self._clock()
        host.fail(visit.key, now, self._politeness) if failed else setattr(host, "failures", 0)
        host.leave_alone(now, retry_after)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        self.by_name.setdefault(host_name.encode(), Host(host_name.encode(), host_name)).crawl_delay = crawl_delay

    def is_out(self, visit: Visit) -> bool:
        return self.by_name[self.records[visit.key].host].is_out

    def add(self, found, *, depth, referrer=NO_REFERRER, asked=None) -> int:
        asked, before = asked or Asked(), len(self.records)
        for link in found:
            record = UrlRecord(link.url, flags=asked.flags, depth=depth, referrer=referrer)
            if (known := self.records.get(link.key)) is not None:
                self._follow(link, known, record)
                continue
            record.host = link.host.encode()
            self.by_name.setdefault(record.host, Host(record.host, link.host))
            self.records[link.key] = record
            self._enter(link.key, FIRST if asked.flags & Flag.REQUISITE else link.priority, asked.request, link.score)
        return len(self.records) - before

    def _follow(self, link: Link, known: UrlRecord, record: UrlRecord) -> None:
        """What was only a part of pages becomes a page; of what waits already, the greatest priority counts."""
        if known.flags & ~record.flags & Flag.REQUISITE:
            if (visit := self.in_flight.get(link.key)) is not None:
                visit.is_linked_to = True
            elif known.state == UrlState.REQUISITE:
                self._listener.linked_to(link.key)
            elif known.state == UrlState.QUEUED:
                known.flags, known.depth, known.referrer = Flag.NONE, record.depth, record.referrer
                self._enter(link.key, link.priority, None)
        elif known.state == UrlState.QUEUED and link.priority > priority_of(known.rank):
            self._enter(link.key, link.priority, self.requests[link.key])

    def _enter(self, key: bytes, priority: int, request: bytes | None, score: float = 0.0) -> None:
        self.serial += 1
        record, self.requests[key] = self.records[key], request
        record.rank = self._order.rank(Facts(record.depth, self.serial, priority, 1, score, record.rank))
        record.state = UrlState.QUEUED

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        if key not in self.records or self.records[key].state == UrlState.QUEUED:
            return False
        self.records[key].flags &= ~Flag.REQUISITE
        self.records[key].attempts = 0
        self._enter(key, priority, request)
        return True

    def _waiting(self) -> list[tuple[bytes, UrlRecord, Host]]:
        waiting = [one for one in self.records.items() if one[1].state == UrlState.QUEUED]
        in_order = sorted(waiting, key=lambda one: one[1].rank + one[0])
        return [(key, record, self.by_name[record.host]) for key, record in in_order if key not in self.in_flight]

    def next(self) -> Visit | None:
        now = self._clock()
        for key, record, host in self._waiting():
            if host.free_at > now or host.active >= self._politeness.per_host:
                continue
            if host.is_dead(self._politeness) and not record.flags & Flag.AWAITED:
                record.state = UrlState.FAILED
                self._listener.given_up(key)
                continue
            visit = self.in_flight[key] = Visit(key, record, host, self.requests[key])
            visit.dead = host.is_dead(self._politeness)
            host.start(now, self._politeness)
            return visit
        return None

    def next_time(self) -> float | None:
        times = [host.free_at for _, _, host in self._waiting() if host.active < self._politeness.per_host]
        return max(0.0, min(times) - self._clock()) if times else None

    def is_finished(self) -> bool:
        return not self._waiting()

    def downloaded(self, visit, seconds, *, ip=None, failed=False, retry_after=0.0) -> None:
        host, visit.host = visit.host, None
        if host is not None:
            host.finish(self._clock(), seconds, self._politeness)
            if failed is not None:
                self.answered(visit, failed=failed, retry_after=retry_after)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self.downloaded(visit, 0.0)
        del self.in_flight[visit.key]
        record, is_part = self.records[visit.key], visit.is_requisite and state == UrlState.FETCHED
        record.status, record.state = status, UrlState.REQUISITE if is_part else state
        self.by_name[record.host].fetched += record.state == UrlState.FETCHED
        if is_part and visit.is_linked_to:
            self._listener.linked_to(visit.key)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        self.put_back(visit)
        record = self.records[visit.key]
        record.attempts += 1
        record.flags = record.flags & ~Flag.VOLATILE | Flag.VOLATILE * volatile
        self._enter(visit.key, priority, request)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        self.downloaded(visit, 0.0)
        del self.in_flight[visit.key]
        self.by_name[self.records[visit.key].host].leave_alone(self._clock(), rest)
