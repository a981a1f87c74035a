"""The reference: the frontier's contract in memory, and nothing else.

It shows what the others have to do. Every call looks at all that is known, so it is for thousands of URLs. It judges
nothing: all credit is alike, no trap is held back, no content was seen before. `flushed` keeps a copy, to which
`crash` goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Final

from memory_records import MemoryRecords

from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.contract import Capability, Listener
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.hosts.host import PolitenessOptions
from sitecrawl.frontier.queue.order import FIRST, Facts, Order, priority_of
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link


class MemoryFrontier:
    """See the module; what its calls mean is said in `contract.Frontier`. `clock` gives monotonic seconds."""

    can: Final = Capability.RECORDS | Capability.AGAIN
    wants_checkpoint: Final = False
    held = joined = silent = 0

    def __init__(
        self, order: Order, politeness: PolitenessOptions, listener: Listener, *, clock: Callable[[], float]
    ) -> None:
        self._order, self._politeness, self._listener, self._clock = order, politeness, listener, clock
        self._known = MemoryRecords()
        self.in_flight: dict[bytes, Visit] = {}
        self._kept = self._written = deepcopy(self._known)

    counts = urls = hosts = property(lambda self: self._known)
    waiting = property(lambda self: self._known.queued - len(self.in_flight))
    is_full: Final = False

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        return sum(
            self.add_request(one, depth=depth, priority=one.priority, flags=0, request=None, referrer=referrer)
            for one in found
        )

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        new = self.add(found, depth=visit.depth + 1, referrer=visit.key)
        for one in found:  # of what waits already, the greatest priority counts
            if (record := self._known.records[one.key]).state == UrlState.QUEUED and one.priority > priority_of(
                record.rank
            ):
                self._enter(one.key, one.priority)
        return new

    def require(self, page: bytes, found: Sequence[Link], *, depth: int, request: bytes | None = None) -> int:
        flags = Flag.REQUISITE
        return sum(
            self.add_request(one, depth=depth, priority=FIRST, flags=flags, request=request, referrer=page)
            for one in found
        )

    def add_request(
        self,
        found: Link,
        *,
        depth: int,
        priority: int,
        flags: int,
        request: bytes | None,
        referrer: bytes = NO_REFERRER,
        brings_credit: bool = False,
    ) -> bool:
        if (known := self._known.records.get(found.key)) is not None:
            if known.flags & Flag.REQUISITE and not flags & Flag.REQUISITE:
                self._follow(found, known, depth=depth, referrer=referrer)
            return False
        host = self._known.named(found.host)
        self._known.records[found.key] = UrlRecord(
            found.url, flags=flags, depth=depth, host=host.key, referrer=referrer
        )
        self._known.requests[found.key] = request
        self._enter(found.key, priority, found.score)
        return True

    def _follow(self, found: Link, known: UrlRecord, *, depth: int, referrer: bytes) -> None:
        if (visit := self.in_flight.get(found.key)) is not None:
            visit.is_linked_to = True
        elif known.state == UrlState.REQUISITE:
            self._listener.linked_to(found.key)
        elif known.state == UrlState.QUEUED:
            known.flags, known.depth, known.referrer = 0, depth, referrer
            self._known.requests[found.key] = None
            self._enter(found.key, found.priority)

    def _enter(self, key: bytes, priority: int, score: float = 0.0) -> None:
        self._known.serial += 1
        record = self._known.records[key]
        record.rank = self._order.rank(Facts(record.depth, self._known.serial, priority, 1, score, record.rank))
        record.state = UrlState.QUEUED

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        if key not in self._known.records or self._known.records[key].state == UrlState.QUEUED:
            return False
        self._known.requests[key] = request
        self._known.records[key].flags &= ~Flag.REQUISITE
        self._enter(key, priority)
        return True

    # Work

    def next(self) -> Visit | None:
        for key in self._known.in_order():
            record, host, now = self._known.records[key], self._known.host_of(key), self._clock()
            if key in self.in_flight or host.free_at > now or host.active >= self._politeness.per_host:
                continue
            dead = host.is_dead(self._politeness)
            if dead and not record.flags & Flag.AWAITED:
                self._end(key, UrlState.FAILED)
                self._listener.given_up(key)
                continue
            visit = self.in_flight[key] = Visit(key, record, host, self._known.requests[key])
            visit.dead = dead
            host.start(now, self._politeness)
            return visit
        return None

    def next_time(self) -> float | None:
        hosts = [self._known.host_of(key) for key in self._known.in_order() if key not in self.in_flight]
        times = [host.free_at for host in hosts if host.active < self._politeness.per_host]
        return max(0.0, min(times) - self._clock()) if times else None

    def is_finished(self) -> bool:
        return not self.waiting

    # Completion

    def downloaded(
        self,
        visit: Visit,
        seconds: float,
        *,
        ip: str | None = None,
        failed: bool | None = False,
        retry_after: float = 0.0,
    ) -> None:
        host, visit.host = visit.host, None
        if host is not None:
            host.finish(self._clock(), seconds, self._politeness)
            if failed is not None:
                self.answered(visit, failed=failed, retry_after=retry_after)

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        host = self._known.host_of(visit.key)
        if retry_after:
            host.leave_alone(self._clock(), retry_after)
        host.fail(visit.key, self._clock(), self._politeness) if failed else setattr(host, "failures", 0)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        self._known.named(host_name).crawl_delay = crawl_delay

    def is_out(self, visit: Visit) -> bool:
        return self._known.host_of(visit.key).is_out

    def is_repeated(self, visit: Visit, sha1: bytes) -> bool:
        return False

    def judge_content(
        self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None, sample: bytes | None = b""
    ) -> Verdict:
        return Verdict.NEW

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self.downloaded(visit, 0.0)
        if self.in_flight.pop(visit.key, None) is not None:
            self._known.records[visit.key].status = status
            if visit.is_requisite and state == UrlState.FETCHED:
                state = UrlState.REQUISITE
            self._end(visit.key, state)
            if visit.is_linked_to and state == UrlState.REQUISITE:
                self._listener.linked_to(visit.key)

    def _end(self, key: bytes, state: UrlState) -> None:
        self._known.records[key].state = state
        self._known.host_of(key).fetched += state == UrlState.FETCHED

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        self.downloaded(visit, 0.0)
        del self.in_flight[visit.key]
        record = self._known.records[visit.key]
        record.attempts += 1
        record.flags = record.flags & ~Flag.VOLATILE | Flag.VOLATILE * volatile
        self._known.requests[visit.key] = request
        self._enter(visit.key, priority)

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        host = visit.host
        self.downloaded(visit, 0.0)
        if host is not None:
            host.free_at = max(host.free_at, self._clock() + rest)
        del self.in_flight[visit.key]

    def pause(self) -> None: ...

    # Durability and life

    def recording(self, batch: Batch) -> Batch:
        return batch

    def flush(self, batch: Batch) -> None:
        self._written = deepcopy(self._known)
        for key, record in self._known.records.items():
            if record.flags & Flag.VOLATILE:
                del self._written.records[key]

    def flushed(self) -> None:
        self._kept = self._written

    def crash(self) -> None:
        """Go back to the last checkpoint, as a new process does."""
        self._known = deepcopy(self._kept)
        self.in_flight = {}
        for host in self._known.by_key.values():
            host.active, host.free_at = 0, host.asked_until

    def save(self) -> None: ...

    def start(self) -> None: ...

    async def close(self) -> None: ...

    def stats(self) -> dict[str, int | float]:
        return {}
