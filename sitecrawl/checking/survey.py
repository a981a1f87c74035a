"""One scan over the records of all URLs: the numbers that everything else has to agree with.

Memory holds a tally for every host and every section, and nothing for a URL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import WRAP, owed
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.order import goes_last, level_of
from sitecrawl.frontier.record import Flag, UrlRecord, UrlState

BATCH: Final = 1_000
"""Rows that are looked up in one go."""


class Tally:
    """What the records of a host or of a section add up to."""

    __slots__ = ("fetched", "known", "queued")

    def __init__(self) -> None:
        self.known = 0
        self.queued = 0
        self.fetched = 0

    def add(self, record: UrlRecord) -> None:
        self.known += 1
        self.queued += record.state == UrlState.QUEUED
        self.fetched += record.state == UrlState.FETCHED


class Survey:
    """The scan's result. `hosts` are the rows of the family of that name, by key."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
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
        self.history = 0.0
        self.seeds: Counter[bytes] = Counter()
        """By host."""
        self._ledger = ledger
        self._purses = 0
        """The credit in records, with what hosts owe them of dividends that were settled."""
        for _, data in database.scan("urls"):
            try:
                self._add(UrlRecord.unpack(data))
            except CorruptFile:
                self.unreadable += 1

    def _add(self, record: UrlRecord) -> None:
        self.states[record.state] += 1
        self.by_host[record.host].add(record)
        self.by_section[record.host + record.section].add(record)
        self.history += record.history
        if record.depth == 0:
            self.seeds[record.host] += 1
        self._purses += record.credit
        if record.state == UrlState.QUEUED:
            self.requests += bool(record.flags & Flag.REQUEST)
            self._purses += owed(self.dividend_of(record), record.mark)
            if not goes_last(record.rank):
                self.levels[level_of(record.rank)] += 1

    def dividend_of(self, record: UrlRecord) -> int:
        """Up to where the host of `record` has passed on what it was paid."""
        if self._ledger.policy.name == "pages":
            return self._ledger.policy.dividend
        host = self.hosts.get(record.host)
        return record.mark if host is None else host.dividend

    @property
    def known(self) -> int:
        return sum(self.states.values())

    @property
    def ended(self) -> int:
        return self.known - self.states[UrlState.QUEUED]

    @property
    def waiting_hosts(self) -> int:
        return sum(tally.queued > 0 for tally in self.by_host.values())

    @property
    def held(self) -> int:
        """All the credit that there is, the lambda page's included."""
        unsettled = 0
        for key, host in self.hosts.items():
            unsettled += host.rest
            if self._ledger.policy.name == "hosts" and key in self.by_host and self.by_host[key].queued:
                unsettled += owed(self._ledger.policy.dividend, host.mark)
        return self._purses + unsettled + self._ledger.reserve

    def missing_hosts(self) -> set[bytes]:
        return self.by_host.keys() - self.hosts.keys()


def is_absurd(amount: int, ledger: Ledger) -> bool:
    """Whether a balance is no balance: the difference of two dividends that do not belong together."""
    return amount > max(ledger.total, WRAP >> 2)


def records(database: Database) -> Iterator[tuple[bytes, UrlRecord]]:
    """The records that can be read."""
    for key, data in database.scan("urls"):
        try:
            yield key, UrlRecord.unpack(data)
        except CorruptFile:
            continue


def _hosts(database: Database) -> tuple[dict[bytes, Host], int]:
    hosts, unreadable = {}, 0
    for key, data in database.scan("hosts"):
        try:
            hosts[key] = Host.unpack(key, data)
        except CorruptFile:
            unreadable += 1
    return hosts, unreadable
