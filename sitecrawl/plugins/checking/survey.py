"""One scan over the records of all URLs: the numbers that everything else has to agree with.

Memory holds a tally for every host and every section, and nothing for a URL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LEDGER
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import owed, policy_named
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import goes_last, level_of
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState


class Tally:
    """Totals of the records of a host or section."""

    __slots__ = ("fetched", "known", "queued")

    def __init__(self) -> None:
        self.known = 0
        self.queued = 0
        self.fetched = 0

    def add(self, record: UrlRecord) -> None:
        self.known += not record.flags & Flag.REQUISITE
        self.queued += record.state == UrlState.QUEUED
        self.fetched += record.state == UrlState.FETCHED


class Survey:
    """The scan's result. `hosts` are the rows of the family of that name, by key."""

    def __init__(self, database: Database) -> None:
        self.ledger, self.has_lost_ledger = _ledger(database)
        """A new one where it cannot be read."""
        self.unreadable = 0
        """Records that are none."""
        self.hosts, self.unreadable_hosts = _hosts(database)
        self.states: Counter[UrlState] = Counter()
        self.by_host: defaultdict[bytes, Tally] = defaultdict(Tally)
        self.by_section: defaultdict[bytes, Tally] = defaultdict(Tally)
        self.levels: Counter[int] = Counter()
        """Queued URLs of each level, but for those that go last."""
        self.requests = 0
        """Queued URLs that have a row in `requests`."""
        self._purses = 0
        """The credit in records, with what hosts owe them of dividends that were settled."""
        for _, data in database.scan("urls"):
            if (record := _unpacked(data)) is None:
                self.unreadable += 1
            else:
                self._add(record)

    def _add(self, record: UrlRecord) -> None:
        self.states[record.state] += 1
        self.by_host[record.host].add(record)
        self.by_section[record.host + record.section].add(record)
        self._purses += record.credit
        if record.state == UrlState.QUEUED:
            self.requests += bool(record.flags & Flag.REQUEST)
            self._purses += owed(self._dividend_of(record), record.mark)
            if not goes_last(record.rank):
                self.levels[level_of(record.rank)] += 1

    def _dividend_of(self, record: UrlRecord) -> int:
        """Up to where the host of `record` has passed on what it was paid."""
        if self.ledger.policy.name == "pages":
            return self.ledger.policy.dividend
        host = self.hosts.get(record.host)
        return record.mark if host is None else host.dividend

    @property
    def known(self) -> int:
        return sum(self.states.values())

    @property
    def held(self) -> int:
        """All the credit that there is, the lambda page's included."""
        unsettled = sum(host.rest + self._owed_to(host) for host in self.hosts.values())
        return self._purses + unsettled + self.ledger.reserve

    def _owed_to(self, host: Host) -> int:
        """Cash that the lambda page has paid to a host and the host has not collected yet."""
        is_paid = self.ledger.policy.name == "hosts" and host.key in self.by_host and self.by_host[host.key].queued
        return owed(self.ledger.policy.dividend, host.mark) if is_paid else 0


def records(database: Database) -> Iterator[tuple[bytes, UrlRecord]]:
    """The records that can be read."""
    for key, data in database.scan("urls"):
        if (record := _unpacked(data)) is not None:
            yield key, record


def readable(database: Database, keys: list[bytes]) -> list[UrlRecord | None]:
    """The records of `keys`; None where there is none that can be read."""
    return [_unpacked(data) for data in database.get_many("urls", keys)]


def _unpacked(data: bytes | None) -> UrlRecord | None:
    try:
        return None if data is None else UrlRecord.unpack(data)
    except CorruptFile:
        return None


def _ledger(database: Database) -> tuple[Ledger, bool]:
    """The ledger, and whether it cannot be read."""
    data = database.get("meta", LEDGER)
    try:
        return Ledger(policy_named("hosts")) if data is None else Ledger.unpack(data), False
    except CorruptFile:
        return Ledger(policy_named("hosts")), True


def _hosts(database: Database) -> tuple[dict[bytes, Host], int]:
    """The hosts by key, and how many rows are no host."""
    hosts: dict[bytes, Host] = {}
    unreadable = 0
    for key, data in database.scan("hosts"):
        try:
            hosts[key] = Host.unpack(key, data)
        except CorruptFile:
            unreadable += 1
    return hosts, unreadable
