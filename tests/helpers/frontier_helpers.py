"""A frontier on a real database, a clock that only a test moves, and names for URLs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from database_files import database_at
from frontiers import Heard, PlainSeen

from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.credit.ledger import Ledger, Purse
from sitecrawl.frontier.credit.policies import Account, owed
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.http.sheets import Sheet, Sheets
from sitecrawl.page.items import Link

RUDE = PolitenessOptions(delay_factor=0.0, failure_delay=0.0, per_ip=0, max_failures=0)
"""No pause and no limit but one request a host."""


def digest(text: str, size: int = 16) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


def url(name: str, host: str = "a.example", *, nofollow: bool = False, score: float = 0.0) -> Link:
    return Link(f"http://{host}/{name}", host, nofollow=nofollow, score=score, key=digest(f"{host}/{name}"))


def stored_records(frontier: DiskFrontier) -> Iterator[tuple[bytes, UrlRecord]]:
    """The records on disk: call it after a commit."""
    for key, data in frontier._database.scan("urls"):
        yield key, UrlRecord.unpack(data)


def balance(ledger: Ledger, page: Purse, host: Account) -> int:
    """What a waiting page holds, dividends included."""
    return page.credit + owed(ledger.policy.dividend_of(host), page.mark)


def all_credit(frontier: DiskFrontier) -> int:
    """What all pages hold, what stands on the hosts' accounts, what the lambda page holds: call it after a commit."""
    ledger = frontier.link_credit.ledger
    held, live = 0, {host.key: host for host in frontier.hosts.live()}
    for _, record in stored_records(frontier):
        host = live.get(record.host)
        waits = record.state == UrlState.QUEUED
        assert host is not None or not waits
        held += balance(ledger, record, host) if host is not None and waits else record.credit
    return held + sum(host.rest for host in frontier.hosts.live()) + ledger.reserve + ledger.pending


def check_sections(frontier: DiskFrontier) -> None:
    """What sections and hosts count of URLs that wait is what the records say. Call it after a commit."""
    waiting = Counter(r.host + r.section for _, r in stored_records(frontier) if r.state == UrlState.QUEUED)
    hosts = {host.key: host for host in frontier.hosts.live()}
    sections = {s.key: s for host in hosts.values() for s in host.sections.values()}
    assert waiting == {key: s.queued - s.volatile for key, s in sections.items() if s.queued > s.volatile}
    for host in hosts.values():
        own = host.sections.values()
        assert host.queued == sum(s.queued for s in own)
        assert host.volatile == sum(s.volatile for s in own)
        assert host.known == sum(s.known for s in own)


class Bench:
    """One crawl's frontier, which can be committed, crashed and restarted."""

    def __init__(
        self,
        path: Path,
        order: str = "bfs",
        politeness: PolitenessOptions = RUDE,
        options: FrontierOptions | None = None,
        *,
        host_key: Callable[[str], bytes] = lambda name: digest(name, 8),
        sheets: Sequence[Sheet] = (),
    ) -> None:
        self.sheets = sheets
        self.host_key = host_key
        self.path = path
        self.order = order
        self.politeness = politeness
        self.options = options or FrontierOptions()
        self.now = 1000.0
        self.wall = 1_800_000_000.0
        self.heard = Heard()
        self.database = database_at(self.path, "test")
        self.open()

    def open(self) -> None:
        self.frontier = DiskFrontier(
            self.database,
            order_named(self.order, by_level=self.options.max_depth > 0),
            seen=PlainSeen(),
            host_key=self.host_key,
            fingerprint=lambda url: digest(url.removeprefix("http://")),
            listener=self.heard,
            clock=lambda: self.now,
            wall=lambda: self.wall,
            politeness=self.politeness,
            options=self.options,
            terms=TermsByHost(
                self.politeness,
                max_pages=self.options.max_pages,
                max_depth=self.options.max_depth,
                sheets=Sheets(self.sheets),
            ),
        )

    def commit(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.frontier.committed()

    def crash(self) -> None:
        """What came after the last commit was in the frontier's memory, and is gone. The database stays open: to open
        it takes half a second, and loses nothing (tests/crawldir/test_database.py).
        """
        self.open()

    def restart(self) -> None:
        self.commit()
        self.crash()

    def reopen(self) -> None:
        """As `restart`, with the database closed and opened: its files may be others then."""
        self.commit()
        self.database.close()
        self.database = database_at(self.path, "test")
        self.open()

    def add(self, *names: str, host: str = "a.example", depth: int = 0) -> int:
        return self.frontier.add([url(name, host) for name in names], depth=depth)

    def link(self, visit: Visit, *found: Link, rest: int = 0) -> int:
        """The page of `visit` links to `found`."""
        return self.frontier.expand(visit, found, rest=rest)

    def record(self, name: str, host: str = "a.example") -> UrlRecord:
        record = self.frontier.urls.get(url(name, host).key)
        assert record is not None
        return record

    def section_of(self, name: str, host: str = "a.example") -> Section:
        record = self.record(name, host)
        found = self.frontier.hosts.get(record.host)
        assert found is not None
        return found.sections[record.section]

    def ask(self, name: str, host: str = "a.example", *, depth=0, priority=0, flags=Flag.NONE, request=None) -> bool:
        link = replace(url(name, host), priority=priority)
        return bool(self.frontier.add([link], depth=depth, asked=Asked(flags, request)))

    def take(self, name: str):
        """The next visit, which must be of the URL that ends in `name`."""
        visit = self.frontier.next()
        assert visit is not None
        assert visit.url.rpartition("/")[2] == name
        return visit

    def finish(
        self, visit, state: UrlState = UrlState.FETCHED, seconds: float = 0.0, *, good: bool = True, **how
    ) -> None:
        self.frontier.downloaded(visit, seconds, **how)
        self.frontier.done(visit, state, status=200, good=good)

    def surf(
        self,
        links_of: Callable[[str], Iterable[Link]],
        *,
        budget: int = 20_000,
        is_good: Callable[[str], bool] = lambda _: True,
    ) -> list[str]:
        """Fetch pages whose links `links_of` gives until the crawl ends or the budget is spent; returns the URLs.

        A page that is fetched a second time, to compare its links, is in it once.
        """
        fetched: list[str] = []
        while len(fetched) < budget and (visit := self.frontier.next()) is not None:
            if not visit.again:
                fetched.append(visit.url)
            self.link(visit, *links_of(visit.url))
            self.finish(visit, good=is_good(visit.url))
            if len(fetched) % 100 == 0:
                self.commit()
        self.commit()
        return fetched

    def drain(self) -> list[str]:
        """Fetch all that is left, waiting where the hosts must rest; returns the names."""
        names = []
        while not self.frontier.is_finished():
            visit = self.frontier.next()
            if visit is not None:
                names.append(visit.url.rpartition("/")[2])
                self.finish(visit)
            else:
                rest = self.frontier.next_time()
                assert rest is not None or self.frontier.is_finished(), "stuck: URLs wait and no host rests"
                self.now += rest or 0.0
        return names
