"""Reading a crawl's frontier from outside: what is known, what waits, what is held back as traps.

A reader sees the crawl as of its last checkpoint before the opening, whole and unchanging, also while the crawl goes
on; it writes nothing. Memory holds the hosts' keys and, while URLs are listed, the first few of each section; never
a whole table.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, Self

from sitecrawl.base.errors import CorruptFile, InvalidUrl, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database, next_prefix
from sitecrawl.crawldir.directory import manifest_of, workers_below
from sitecrawl.crawldir.history import History
from sitecrawl.crawldir.meta import CONTENT_TOTALS, HISTORY, LEDGER, OUTCOMES, REFUSALS, SEEN_TOTALS, WORKER
from sitecrawl.crawldir.outcomes import Outcomes, RefusalTotals
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.crawldir.terms import RobotsLeave, terms_of
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.forms.duplicates import ContentFigures
from sitecrawl.frontier.forms.learner import Learner
from sitecrawl.frontier.judge.held import HeldSet, HeldSets, Unit, unit_of
from sitecrawl.frontier.seen.figures import SeenFigures
from sitecrawl.frontier.turns import HostTurns, next_of, take_turn
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.link_credit import load_graph
from sitecrawl.frontier.urls.order import Order, class_of, credit_class, order_named
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.sites import pool_of
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import CRAWLED, parse, shortened, site_of

_GREATEST_CLASS: Final = credit_class((1 << 63) - 1)


class KnownUrl(NamedTuple):
    """A URL, fetched or not."""

    importance: float
    """Its share of all credit that ever came along links, from 0 to 1."""
    depth: int
    status: int
    """The last response's; 0 before any."""
    state: str
    """`queued`, `fetched`, `failed` or `excluded`."""
    url: str


class Site(NamedTuple):
    """A registrable domain, or a host without one."""

    importance: float
    """The sum over its URLs."""
    pages: int
    """URLs that were fetched."""
    known: int
    site: str


class KnownRule(NamedTuple):
    """What was learnt of a host's URLs, and what speaks for it."""

    id: str
    """Its number on its host, `@`, the host."""
    rule: str
    state: str
    """`candidate`, `testing`, `trusted`, `dropped`, `refused` or `ordered`."""
    waiting: int
    """URLs that wait as other forms of pages because of it."""
    agreed: int
    """Pairs of URLs of one class that had the same content, and tests that did, where it holds."""
    differed: int
    """The same that had not, wherever."""
    tests: int
    """Of those that agreed, tests since it was last dropped."""
    failed: int
    """Tests that failed, ever."""


_SHARED: Final = (
    "{} is shared with other workers, and what waits is in Redis: -s SITECRAWL_CLUSTER=URL has it read there"
)


class FrontierReader:
    """Opens the crawl in `directory` read-only.

    Raises `StorageError` if there is none, `FormatMismatch` if it is another version's, `CorruptFile` if it is
    damaged.
    """

    def __init__(self, directory: Path) -> None:
        if workers_below(directory):
            raise StorageError(_SHARED.format(directory))
        self.directory = directory
        self.manifest = manifest_of(directory)
        self._fingerprints = Fingerprinter(self.manifest.fingerprint_key)
        self._database = Database(directory / "db", hash_name=HASH_NAME, read_only=True)
        if self._database.get("meta", WORKER) is not None:
            self._database.close()
            raise StorageError(_SHARED.format(directory))
        try:
            meta = Overlay(self._database, "meta")
            counts, ledger = Counts(meta), meta.get(LEDGER)
            self.counts = counts
            self._fetches = counts.fetched + counts.failed
            self._ledger = Ledger(policy_named("hosts")) if ledger is None else Ledger.unpack(ledger)
        except BaseException:
            self._database.close()
            raise

    @property
    def database(self) -> Database:
        """For whoever looks for single rows."""
        return self._database

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Importance

    def top_urls(self, limit: int) -> list[KnownUrl]:
        """The `limit` most important URLs, the greatest first; of equals, those nearest to a seed."""
        records = (record for _, record in self.records())
        top = heapq.nlargest(limit, records, key=lambda record: (record.history, -record.depth))
        return [self._known(record) for record in top]

    def top_sites(self, limit: int) -> list[Site]:
        """The `limit` sites whose URLs are the most important together, the greatest first."""
        history, known, pages = self._by_host()
        sums: dict[str, list[float]] = {}
        for key, urls in known.items():
            site = sums.setdefault(site_of(self._host(key).name), [0.0, 0, 0])
            site[0] += history[key]
            site[1] += pages[key]
            site[2] += urls
        top = heapq.nlargest(limit, sums.items(), key=lambda item: item[1])
        spent = self._ledger.spent or 1.0
        return [Site(credit / spent, int(fetched), int(urls), name) for name, (credit, fetched, urls) in top]

    def _by_host(self) -> tuple[dict[bytes, float], Counter[bytes], Counter[bytes]]:
        """The histories, the URLs and the fetched ones of every host, by its key."""
        history: dict[bytes, float] = {}
        known: Counter[bytes] = Counter()
        pages: Counter[bytes] = Counter()
        for _, record in self.records():
            history[record.host] = history.get(record.host, 0.0) + record.history
            known[record.host] += 1
            pages[record.host] += record.state == UrlState.FETCHED
        return history, known, pages

    def records(self) -> Iterator[tuple[bytes, UrlRecord]]:
        """Every URL by its fingerprint: a pass over the whole table."""
        return ((key, UrlRecord.unpack(data)) for key, data in self._database.scan("urls"))

    def record(self, key: bytes) -> UrlRecord | None:
        """What is known of the URL with that fingerprint."""
        data = self._database.get("urls", key)
        return None if data is None else UrlRecord.unpack(data)

    def importance(self, record: UrlRecord) -> float:
        """The URL's share of all credit that ever came along links, from 0 to 1."""
        return self._ledger.importance(record)

    def _known(self, record: UrlRecord) -> KnownUrl:
        importance = self.importance(record)
        return KnownUrl(importance, record.depth, record.status, record.state.name.lower(), record.url)

    # Hosts

    def hosts(self) -> Iterator[Host]:
        """All hosts, without their sections."""
        return (Host.unpack(key, data) for key, data in self._database.scan("hosts"))

    # Over time

    def history(self) -> History | None:
        """The crawl's figures over time; None for a crawl that kept none."""
        stored = self._database.get("meta", HISTORY)
        return None if stored is None else History.unpack(stored)

    def seen(self) -> SeenFigures:
        """What the URL-seen test did, in all runs."""
        return SeenFigures.unpack(self._database.get("meta", SEEN_TOTALS))

    def content(self) -> ContentFigures:
        """What the content-seen test found, in all runs."""
        return ContentFigures.unpack(self._database.get("meta", CONTENT_TOTALS))

    def refusals(self) -> RefusalTotals:
        """Which hosts said no, in all runs."""
        return RefusalTotals.unpack(self._database.get("meta", REFUSALS))

    def exceptions(self) -> tuple[RobotsLeave, ...]:
        """Where the last run did not obey robots.txt, and by whose leave."""
        terms = terms_of(self._database)
        return terms.exceptions if terms is not None else ()

    def outcomes(self) -> Outcomes:
        """How many pages came, and why hosts gave none."""
        return Outcomes.unpack(self._database.get("meta", OUTCOMES))

    # What waits

    def units(self, host: str | None = None, *, demoted: bool = False) -> Iterator[Unit]:
        """Hosts with URLs waiting, the most first, each followed by those of its sections that have some.

        With `host` all of that host, waiting or not. With `demoted` only what is held back: of a host that is
        demoted as a whole, the host alone. Raises `StorageError` for a host that the crawl does not know.
        """
        for found, section in self._units(host, demoted=demoted):
            yield unit_of(found, section or found, self._fetches)

    def held(self, host: str | None = None) -> Iterator[HeldSet]:
        """What is held back, as `units` with `demoted` lists it, with what speaks for that and with samples."""
        held = HeldSets(self._database)
        for found, section in self._units(host, demoted=True):
            yield held.read(found, section, self._fetches)

    def _units(self, host: str | None, *, demoted: bool) -> Iterator[tuple[Host, Section | None]]:
        for found in self._hosts(host):
            if found.trap.demoted or not demoted:
                yield found, None
            if found.trap.demoted and demoted:
                continue
            sections = sorted(found.sections.values(), key=lambda s: s.queued, reverse=True)
            for section in sections:
                if (section.queued or host is not None) and (section.trap.demoted or not demoted):
                    yield found, section

    def rules(self, host: str | None = None) -> Iterator[KnownRule]:
        """What was learnt of the URLs of all hosts, or of one; of each host the rules that hold first.

        Raises `StorageError` for a host that the crawl does not know.
        """
        wanted = None if host is None else self._named(host).key
        for key, data in self._database.scan("rules", wanted or b"", next_prefix(wanted) if wanted else None):
            found = self._host(key)
            waiting = {section.shape: section.queued for section in found.sections.values()}
            learnt = Learner.unpack(data).learnt.values()
            for one in sorted(learnt, key=lambda one: (not one.evidence.is_active, one.number)):
                evidence = one.evidence
                agreed = sum(agreed for agreed, _ in evidence.strata.values())
                yield KnownRule(
                    f"{one.number}@{found.name}",
                    str(one.rule),
                    evidence.state.name.lower(),
                    waiting.get(str(one), 0),
                    agreed,
                    evidence.differed,
                    evidence.tests,
                    evidence.failed,
                )

    def waiting(self, host: str | None = None, *, demoted: bool = False) -> Iterator[KnownUrl]:
        """The URLs that wait, in the order in which they would be fetched if all hosts were free.

        What is held back comes last, section by section; with `demoted` it is all there is.
        """
        hosts = list(self._hosts(host))
        free = iter(()) if demoted else _in_turns(hosts, self._graph(), _order_of(hosts))
        for entry in chain(free, _held_back(hosts)):
            data = self._database.get("urls", entry[RANK_BYTES:])
            if data is None:
                raise CorruptFile(
                    f"The record of URL {entry[RANK_BYTES:].hex()}, which is queued, is missing from "
                    f"{self._database.path}: restore it from a copy"
                )
            yield self._known(UrlRecord.unpack(data))

    def _graph(self) -> HostGraph:
        """The graph of hosts, with the trust that flows when the crawl begins again."""
        graph = load_graph(self._database)
        traps = ((key, Host.unpack(key, data).trap) for key, data in self._database.scan("hosts"))
        held = {key for key, trap in traps if trap.demoted and not trap.is_full}
        graph.recompute(held.__contains__)
        return graph

    def _hosts(self, name: str | None) -> Iterator[Host]:
        """The host called `name`, or else all that have URLs waiting, those with the most first."""
        if name is not None:
            yield self._named(name)
            return
        hosts = ((Host.unpack(key, data).queued, key) for key, data in self._database.scan("hosts"))
        for _, key in sorted((host for host in hosts if host[0]), reverse=True):
            yield self._host(key)

    def _named(self, name: str) -> Host:
        """The host that a person means by `name`: as it is written, or as a browser would write it; or else the pool
        where its URLs are.
        """
        spellings = list(_spellings(name))
        for spelling in (*spellings, *filter(None, map(pool_of, spellings[-1:]))):
            key = self._fingerprints.host(spelling)
            if self._database.get("hosts", key) is not None:
                return self._host(key)
        raise StorageError(f"The crawl in {self.directory} knows no host {shortened(name)!r}")

    def _host(self, key: bytes) -> Host:
        host = HostTable(self._database, lambda name: key).get(key)  # a table of its own: one would keep every host
        if host is None:
            raise CorruptFile(f"The host of some URLs is missing from {self._database.path}: restore it from a copy")
        return host


def _in_turns(hosts: Sequence[Host], graph: HostGraph, order: Order) -> Iterator[bytes]:
    """The queue entries of what is not held back, as the frontier would take them by worth, or by their ranks alone:
    in between other orders pick (`portfolio`).
    """
    turns = HostTurns(graph, hosts)
    heap: list[tuple[bytes, int, bytes, Section]] = []

    def place(number: int) -> None:
        host = hosts[number]
        if waiting := host.waiting():
            entry, section = next_of(host, waiting, order)
            preference = turns.preference(host, entry) if order.takes_turns else entry
            heapq.heappush(heap, (preference, number, entry, section))

    for number in range(len(hosts)):
        place(number)
    while heap:
        _, number, entry, section = heapq.heappop(heap)
        section.queue.pop()
        turns.take(hosts[number], entry, hosts=len(hosts))
        take_turn(hosts[number], section, entry)
        yield entry
        place(number)


def _held_back(hosts: Iterable[Host]) -> Iterator[bytes]:
    """The queue entries of what is held back, section by section."""
    for host in hosts:
        for section in host.sections.values():
            while (host.trap.demoted or section.trap.demoted) and (entry := section.queue.pop()) is not None:
                yield entry


def _order_of(hosts: Iterable[Host]) -> Order:
    """What merges the sections: turns if the ranks name classes of credit, or else the ranks themselves."""
    heads = (section.queue.peek() for host in hosts for section in host.sections.values() if section.queued)
    by_credit = any(entry is not None and 0 < class_of(entry) <= _GREATEST_CLASS for entry in heads)
    return order_named("aopic" if by_credit else "bfs")


def _spellings(name: str) -> Iterator[str]:
    yield name
    for prefix in ("",) if "://" in name else (f"{scheme}://" for scheme in CRAWLED):
        try:
            yield parse(prefix + name, schemes=CRAWLED).host
        except InvalidUrl:
            return
