"""Where every URL stands: its record, its queue entry, its place in the counts, and its credit.

Invariants, between two calls:
- A record that is `QUEUED` has one entry in its section's queue, under its rank; no other record has one. Entries
  in memory may be stale: `waiting` tells.
- Counts of the crawl, of hosts and of sections are those of the records. Volatile records (in memory only) are
  counted apart, so that what is stored agrees with itself.
- A stored record that waits is on the ledger's books from `enter` to `leave`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from sitecrawl.base.errors import CorruptFile, InvalidUrl
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.credit.policies import owed
from sitecrawl.frontier.urls.breadth import Breadth
from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.given_up import GivenUp
from sitecrawl.frontier.urls.host import KEY_BYTES, Host
from sitecrawl.frontier.urls.link_credit import LinkCredit
from sitecrawl.frontier.urls.order import (
    FIRST,
    Facts,
    Order,
    priority_of,
    raised_rank,
    serial_of,
    with_priority,
)
from sitecrawl.frontier.urls.record import MAX_DEPTH, NO_REFERRER, RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import KEY_BYTES as SECTION_KEY_BYTES
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.page.items import Link
from sitecrawl.urls.url import CRAWLED, parse

_PASSING: Final = Flag.UNFILTERED | Flag.VOLATILE
"""Of URLs of which nothing is remembered when they have come to their end."""
_NO_LEVEL: Final = _PASSING | Flag.REQUISITE
"""Of what breadth first would not look for."""


def name_of(url: str) -> str:
    """The host, and its port, of a URL that is queued; empty where no browser would take it for one."""
    try:
        return parse(url, schemes=CRAWLED).host
    except InvalidUrl:
        return ""


def _never_answered(host: Host) -> bool:
    """Of the names in a pool nobody knows."""
    return not host.has_answered or host.is_pool


class UrlStates:
    """See the module. `in_flight` holds the keys of the URLs that are being fetched; `wall` gives Unix seconds. Links
    that are new are filed in `breadth`, if there is one.
    """

    def __init__(
        self,
        database: Database,
        order: Order,
        counts: Counts,
        link_credit: LinkCredit,
        *,
        in_flight: Collection[bytes],
        wall: Callable[[], float],
        breadth: Breadth | None = None,
    ) -> None:
        self._breadth = breadth
        self._path = database.path
        self._order = order
        self._counts = counts
        self._link_credit = link_credit
        self._urls = link_credit.urls
        self._hosts = link_credit.hosts
        self._in_flight = in_flight
        self._wall = wall
        self._entries = Overlay(database, "queue")
        self._requests = Overlay(database, "requests")
        self._given_up = GivenUp(database)
        self.joined: Callable[[Host, Link], tuple[Section, bytes] | None] = lambda host, found: None
        """Whether a link is another form of a page, and of which: `frontier.forms.forms`."""

    # Look-ups

    def waiting(self, entry: bytes) -> UrlRecord | None:
        """The record of the URL that `entry` stands for, if it still does."""
        rank, key = entry[:RANK_BYTES], entry[RANK_BYTES:]
        record = self._urls.get(key)
        stands = record is not None and record.state == UrlState.QUEUED and record.rank == rank
        return record if stands and key not in self._in_flight else None

    def read_ahead(self, entry: bytes, hosts: Callable[[], Iterable[Host]]) -> None:
        """Have the record of `entry` in memory. If it must be read, then with those that `hosts` are to be asked for
        next: of many, each costs a third.
        """
        key = entry[RANK_BYTES:]
        if not self._urls.is_at_hand(key):
            self._urls.get_many([key, *{host.upcoming for host in hosts() if host.upcoming} - {key}])

    def known(self, key: bytes) -> UrlRecord:
        """The record of a URL that is queued. Raises `CorruptFile` if it has gone."""
        record = self._urls.get(key)
        if record is None:
            raise CorruptFile(f"The record of URL {key.hex()} has gone from {self._path} while it was queued")
        return record

    def under_way(self, host: Host) -> Iterator[UrlRecord]:
        """The records of the URLs of `host` that are being fetched."""
        records = (self.known(key) for key in self._in_flight)
        return (record for record in records if record.host == host.key)

    def host_of(self, record: UrlRecord) -> Host:
        """Raises `CorruptFile` if the host is missing."""
        host = self._hosts.get(record.host)
        if host is None:
            raise CorruptFile(f"The host of {record.url} is missing from {self._path}")
        return host

    def request(self, key: bytes) -> bytes:
        """What the request for a URL is beside a GET. Raises `CorruptFile` if it is missing."""
        blob = self._requests.get(key)
        if blob is None:
            raise CorruptFile(f"The request of URL {key.hex()} is missing from {self._path}")
        return blob

    # Changes

    def insert(
        self,
        found: Link,
        *,
        depth: int,
        referrer: bytes = NO_REFERRER,
        priority: int = 0,
        flags: int = Flag.NONE,
        credit: int = 0,
        tenth: int | None = None,
        page_host: Host | None = None,
    ) -> Host:
        """Queue a URL that is new; returns its host. `tenth`: what a tenth of the page's link to it is worth; None
        where no page's link has led to it. If it is on `page_host`, that of its page, the caller files it by `bring`.
        """
        is_seed = tenth is None and not depth and not flags & Flag.REQUISITE
        host = self._hosts.home(found.host, seed=is_seed)
        record = UrlRecord(
            found.url,
            flags=flags,
            depth=min(max(depth, 0), MAX_DEPTH),
            host=host.key,
            referrer=referrer,
            credit=credit,
        )
        joined = self.joined(host, found) if tenth is not None else None
        section, page = joined or (self._hosts.section_for(host, record), b"")
        record.section = section.key[KEY_BYTES:]
        if page:  # a link to another form of a page is one to the page
            self._link_credit.owe(self._urls.get(referrer), {page: found}, tenth or 0)
        elif tenth is not None:
            given = tenth * found.weight
            self._link_credit.give(record, given)
            section.received += given
        elif is_seed:
            self._link_credit.graph.seed(host.key)
        if flags & Flag.REQUISITE:
            priority = FIRST
        else:
            host.known += 1
            section.known += 1
        record.rank = self.rank(record, priority or found.priority, found.score)
        self.enter(found.key, record, host)
        if self._breadth is not None and not flags & _NO_LEVEL and host is not page_host:
            self._breadth.add(host, [found.key])
        return host

    def bring(self, host: Host, page: bytes, urls: Sequence[bytes]) -> None:
        """A page of `host` was the first to link to these URLs of it; all are fingerprints."""
        if self._breadth is not None and urls:
            self._breadth.bring(host, page, urls)

    def become_page(self, key: bytes, record: UrlRecord) -> Host:
        """A page links to a requisite that does not wait: it is a page that has been fetched. Gives its host."""
        host = self.host_of(record)
        section = host.sections[record.section]
        record.flags &= ~Flag.REQUISITE
        record.section = self._hosts.section(host, record.url).key[KEY_BYTES:]
        host.known += 1
        host.sections[record.section].known += 1
        self._hosts.changed(host, section)
        self._hosts.changed(host, host.sections[record.section])
        return host

    def await_as_page(self, found: Link, record: UrlRecord, *, depth: int, referrer: bytes) -> Host:
        """A page links to a requisite that waits: it waits as if it had been found now. Gives its host."""
        self.leave(found.key, record, self.host_of(record))
        host = self.become_page(found.key, record)
        record.flags &= ~Flag.REQUEST
        record.depth, record.referrer, record.rank = min(depth, MAX_DEPTH), referrer, b""
        record.rank = self.rank(record, found.priority, found.score)
        self.enter(found.key, record, host)
        return host

    def enter(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """Put the URL into the queue and into what waits."""
        section = host.sections[record.section]
        self._counts.wait(record, 1, host)
        host.queued += 1
        section.queued += 1
        self._hosts.changed(host, section)
        volatile = bool(record.flags & Flag.VOLATILE)
        section.queue.push(record.rank + key, volatile=volatile)
        if volatile:
            host.volatile += 1
            section.volatile += 1
            self._link_credit.ledger.give_up(record)
        else:
            self._link_credit.ledger.enter(record, host)
            self._entries.put(section.key + record.rank + key)
        self._urls.put(key, record)

    def enter_again(self, key: bytes, record: UrlRecord, host: Host, *, priority: int, request: bytes | None) -> None:
        """Put a URL that has been in the queue behind those that wait there, with `request` beside a GET."""
        if request is not None:
            record.flags |= Flag.REQUEST
            self.put_request(key, request)
        record.rank = self.rank(record, priority)
        self.enter(key, record, host)

    def rank(self, record: UrlRecord, priority: int, score: float = 0.0) -> bytes:
        serial = self._counts.next_serial()
        paid = self._link_credit.ledger.policy.dividend
        return self._order.rank(Facts(record.depth, serial, priority, record.credit, score, record.rank, paid))

    def credited(self, records: Mapping[bytes, UrlRecord], waiting: Mapping[bytes, UrlRecord]) -> None:
        """Credit has reached known URLs. Of those that are `waiting` the places in the queue may have changed."""
        self._urls.put_many(records)
        if not self._order.by_credit:
            return
        ledger, in_flight, is_exact = self._link_credit.ledger, self._in_flight, self._order.is_exact
        hosts: dict[bytes, tuple[Host, int]] = {}
        for key, record in waiting.items():
            if key in in_flight:
                continue
            if (found := hosts.get(record.host)) is None:  # its dividend is the same while nothing else happens
                host = self.host_of(record)
                found = hosts[record.host] = host, ledger.policy.dividend_of(host)
            host, dividend = found
            balance = record.credit + owed(dividend, record.mark)
            rank = self._exact_rank(record, balance) if is_exact else raised_rank(record.rank, balance)
            if rank is not None:
                self._replace(key, record, host, rank)

    def _exact_rank(self, record: UrlRecord, balance: int) -> bytes:
        """The rank of a URL that waits with so much credit."""
        paid = self._link_credit.ledger.policy.dividend
        return self._order.rank(
            Facts(record.depth, serial_of(record.rank), priority_of(record.rank), balance, paid=paid)
        )

    def _replace(self, key: bytes, record: UrlRecord, host: Host, rank: bytes) -> None:
        """Let a URL of `host` that waits do so in the place of another `rank`."""
        section = host.sections[record.section]
        before, after = record.rank + key, rank + key
        record.rank = rank
        self._entries.move(section.key + before, section.key + after)
        section.queue.drop(before)
        section.queue.push(after)
        self._hosts.changed(host, section)

    def prefer(self, key: bytes, priority: int) -> Host | None:
        """Someone wants a known URL with `priority`: the greatest counts. Gives its host if its place has changed."""
        record = self._urls.get(key)
        if record is None or record.state != UrlState.QUEUED or key in self._in_flight:
            return None
        if record.flags & Flag.VOLATILE or priority <= priority_of(record.rank):
            return None
        host = self.host_of(record)
        self._counts.wait(record, -1, host)
        self._replace(key, record, host, with_priority(record.rank, priority))
        self._counts.wait(record, 1, host)
        self._urls.put(key, record)
        return host

    def move(self, key: bytes, record: UrlRecord, host: Host, section: Section) -> None:
        """Let a stored URL that waits do so in another section of its host, in the same place."""
        before, entry = host.sections[record.section], record.rank + key
        self._entries.move(before.key + entry, section.key + entry)
        before.queue.drop(entry)
        section.queue.push(entry)
        before.queued -= 1
        section.queued += 1
        self.recount(record, host, section)
        self._urls.put(key, record)

    def leave_pool(self, key: bytes, record: UrlRecord, pool: Host) -> Host | None:
        """Let a URL that waits in `pool` do so in the host that it is of, if that has a record; returns the host."""
        host = self._hosts.home(name_of(record.url) or pool.name)
        if host is pool:
            return None
        request = self.request(key) if record.flags & Flag.REQUEST else None
        section = pool.sections[record.section]
        self.leave(key, record, pool)
        is_page = not record.flags & Flag.REQUISITE
        pool.known -= is_page
        section.known -= is_page
        section = self._hosts.section_for(host, record)
        host.known += is_page
        section.known += is_page
        record.host, record.section = host.key, section.key[KEY_BYTES:]
        if request is not None:
            self.put_request(key, request)
        self.enter(key, record, host)
        if self._breadth is not None and not record.flags & _NO_LEVEL:
            self._breadth.add(host, [key])
        return host

    def recount(self, record: UrlRecord, host: Host, section: Section) -> None:
        """Count a URL among those of another section of its host. `put` its record after that."""
        before = host.sections[record.section]
        before.known -= 1
        section.known += 1
        record.section = section.key[KEY_BYTES:]
        self._hosts.changed(host, before)
        self._hosts.changed(host, section)

    def leave(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """Take the URL out of the queue and out of what waits."""
        section = host.sections[record.section]
        self._counts.wait(record, -1, host)
        host.queued -= 1
        section.queued -= 1
        self._hosts.changed(host, section)
        if record.flags & Flag.VOLATILE:
            host.volatile -= 1
            section.volatile -= 1
        else:
            self._link_credit.ledger.leave(record, host)
            self._entries.delete(section.key + record.rank + key)
        if record.flags & Flag.REQUEST:
            self._requests.delete(key)

    def end(self, key: bytes, record: UrlRecord, host: Host, state: UrlState) -> None:
        if state == UrlState.FAILED and _never_answered(host) and not record.flags & _PASSING:
            self._given_up.add(host.key, key, self.request(key) if record.flags & Flag.REQUEST else b"")
        self.leave(key, record, host)
        self._counts.reach(record, state)
        host.fetched += state == UrlState.FETCHED
        host.sections[record.section].fetched += state == UrlState.REQUISITE
        record.state = state
        record.fetched = float(int(self._wall()))
        record.mark = 0
        record.flags &= ~(Flag.REQUEST | Flag.VOLATILE | Flag.AWAITED)
        self._link_credit.ledger.give_up(record)
        if self._breadth is not None and state == UrlState.FETCHED:
            self._breadth.read(host, key)
        if record.flags & Flag.UNFILTERED:
            self._counts.forget(record)
            self._urls.delete(key)
        else:
            self._urls.put(key, record)

    def give_up(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """The URL fails without having been asked for: its host has never answered, when others were."""
        if not record.cause:
            record.cause = Cause.GIVEN_UP
        self.end(key, record, host, UrlState.FAILED)

    def retry_given_up(self) -> Iterator[Host]:
        """Queue what was given up of hosts that have never answered, as it was; gives the host of each URL."""
        for host_key, key, request in self._given_up.all():
            record = self._urls.get(key)
            if record is not None and record.state == UrlState.EXCLUDED:
                continue
            self._given_up.remove(host_key, key)
            host = self._hosts.get(host_key)
            if record is None or record.state != UrlState.FAILED or host is None or record.host != host_key:
                continue
            if _never_answered(host):
                record.attempts = 0
                yield self._come_back(key, record, host, request)

    def _come_back(self, key: bytes, record: UrlRecord, host: Host, request: bytes = b"") -> Host:
        """A URL that had come to its end without being asked for waits as it did."""
        self._counts.reach(record, record.state, -1)
        record.state = UrlState.QUEUED
        record.credit += self._link_credit.ledger.grant(self._counts.known)
        self.enter_again(key, record, host, priority=priority_of(record.rank), request=request or None)
        return host

    def reopen(self, record: UrlRecord, host: Host) -> None:
        """A URL that had come to its end has not: `enter` follows."""
        self._counts.reach(record, record.state, -1)
        host.fetched -= record.state == UrlState.FETCHED
        record.state = UrlState.QUEUED
        record.flags |= Flag.AGAIN
        record.attempts = 0

    def rewind(self, host: Host) -> None:
        """Let all that waits for `host` come again, though it was taken from its queues."""
        for section in host.sections.values():
            section.queue.rewind()
        end = KEY_BYTES + SECTION_KEY_BYTES
        for key in self._entries.pending(host.key):
            host.sections[key[KEY_BYTES:end]].queue.push(key[end:])

    def put_request(self, key: bytes, request: bytes) -> None:
        """Keep what the request for a URL is beside a GET."""
        self._requests.put(key, request)

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand the queue's and the requests' changes to `batch`."""
        for part in (self._entries, self._requests, self._given_up):
            part.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        for part in (self._entries, self._requests, self._given_up):
            part.flushed()
