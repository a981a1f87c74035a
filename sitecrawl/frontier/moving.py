"""Partitions of the web (`frontier.urls.territory`) that come to a crawl's database, or leave it.

All that is known of a site lies in rows that name its region, so a partition is its rows, and a few numbers (`Facts`)
that stand for all of a crawl. What depends on the number of rows (counts, credit, what the judge adds up) is counted
from them as they come and go, so that the database agrees with itself whoever has written them.

What comes is written first, piece by piece (`write_rows`): nobody sees it before another frontier is opened. Then a
move is one batch: it happens or does not. No frontier may be open meanwhile that is used afterwards: one that is
opened then knows of it (`frontier.succession`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.meta import JUDGE, LEDGER, SEEN_SERIAL
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import WRAP, owed
from sitecrawl.frontier.judge.trap_judge import JUDGE_STATE
from sitecrawl.frontier.urls.counts import NONE_OF_EACH, Counts, PartCounts
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import goes_last, level_of
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.urls.fingerprint import REGION_SIZE

Row = tuple[str, bytes, bytes]
"""Family, key, value."""
Change = Row | tuple[str, bytes, None]
"""The same; None for the value of a row that goes."""
_BY_REGION: Final = (
    "hosts",
    "sections",
    "urls",
    "queue",
    "levels",
    "children",
    "requests",
    "given_up",
    "sites",
    "edges",
    "classes",
    "rules",
    "sitemaps",
)
"""Families whose keys begin with a region."""
_REGION_AT: Final = {
    ("content", b"T"): 1,
    ("content", b"N"): 1,
    ("revisits", b"P"): 1,
    ("revisits", b"D"): 9,
}
"""Where it stands in the others' keys, by what these begin with."""
_BY_OTHERS: Final = (("content", b"D"), ("revisits", b"D"))
"""Rows that do not lie in the order of their regions."""
_RUN: Final = 4_096


class Facts(NamedTuple):
    """What of the totals of a crawl goes with one partition. They are those of the moment of its rows."""

    dividend: int
    """What the lambda page has paid to each host so far: to which what hosts are owed is compared."""
    reserve: int
    """What the lambda page holds, or nothing: it goes with one of a worker's partitions."""
    serial: int
    """The newest URL's number."""
    forgotten: list[int]
    """URLs that have come to their end and left no record, by state."""
    allowance: tuple[int, int, int, int] = (0, 0, 0, 0)
    """What the partition has of a limit of pages: see `counts.Allowance`."""

    @classmethod
    def of(cls, fields: Sequence[Any]) -> Facts:
        """The facts whose fields these are, lists or tuples. Raises `ValueError` or `TypeError` for others."""
        dividend, reserve, serial, forgotten, allowance = fields
        return cls(dividend, reserve, serial, forgotten, tuple(allowance))


NO_FACTS: Final = Facts(0, 0, 0, list(NONE_OF_EACH))
"""Of a partition of which nothing is known yet."""


def _place_of_row(family: str, key: bytes, value: bytes) -> bytes | None:
    """Where a row belongs: the region of what it is about, and what orders it there; None where it is about the
    whole crawl.
    """
    if family in _BY_REGION:
        return key
    if family == "content" and key[:1] == b"D":  # a body may be that of pages of many sites: it goes with the first
        return value
    at = _REGION_AT.get((family, key[:1]))
    return None if at is None else key[at:]


def region_of_row(family: str, key: bytes, value: bytes) -> bytes | None:
    """The region of what the row is about; None where it is about the whole crawl."""
    place = _place_of_row(family, key, value)
    return None if place is None else place[:REGION_SIZE]


def rows_of(database: Database, regions: range) -> Iterator[Row]:
    """All rows of `regions`. Costs a scan of pages' digests and of visits that are due, besides."""
    return chain.from_iterable(_scans(database, regions).values())


def keys_of(database: Database, regions: range) -> Iterator[bytes]:
    """Fingerprints of the URLs of `regions`."""
    return (key for _, key, _ in _scan(database, "urls", *_bounds(regions)))


def write_rows(database: Database, rows: Iterable[Change]) -> None:
    """Write rows, and delete those without a value, some at a time and unsynced. What is written last stands."""
    left = iter(rows)
    while some := list(islice(left, _RUN)):
        batch = database.batch()
        for family, key, value in some:
            if value is None:
                batch.delete(family, key)
            else:
                batch.put(family, key, value)
        database.write(batch, sync=False)


def forget(batch: Batch, database: Database, regions: range) -> None:
    """Delete all rows of `regions`, at the cost of a scan as in `rows_of`."""
    for (family, _), bounds in _ranges(regions).items():
        batch.delete_between(family, *bounds)
    scans = _scans(database, regions)
    for family, key, _ in chain.from_iterable(scans[one] for one in _BY_OTHERS):
        batch.delete(family, key)


def _bounds(regions: range, kind: bytes = b"") -> tuple[bytes, bytes | None]:
    """The first key of `regions`, and that behind the last, of those that begin with `kind`; None for no end."""
    first = kind + regions.start.to_bytes(REGION_SIZE, "big")
    end = regions.stop.to_bytes(REGION_SIZE + 1, "big")[1:]  # zeros behind the last region
    return first, kind + end if any(end) else next_prefix(kind)


def _ranges(regions: range) -> dict[tuple[str, bytes], tuple[bytes, bytes | None]]:
    """Bounds of the rows that lie in the order of their regions, by family and how keys begin."""
    ranges = {(family, b""): _bounds(regions) for family in _BY_REGION}
    return ranges | {one: _bounds(regions, one[1]) for one, at in _REGION_AT.items() if at == len(one[1])}


def _scans(database: Database, regions: range) -> dict[tuple[str, bytes], Iterator[Row]]:
    """All rows of `regions` by family and how keys begin where there is more than one way."""
    scans = {one: _scan(database, one[0], *bounds) for one, bounds in _ranges(regions).items()}
    for family, kind in _BY_OTHERS:
        rows = _scan(database, family, kind, next_prefix(kind))
        scans[family, kind] = (row for row in rows if int.from_bytes(region_of_row(*row) or b"", "big") in regions)
    return scans


def _scan(database: Database, family: str, first: bytes, end: bytes | None) -> Iterator[Row]:
    """Of the database as it is now, whenever it is read: a scan begins with its first row."""
    rows = ((family, key, value) for key, value in database.scan(family, first, end))
    return chain(list(islice(rows, 1)), rows)


def parts_of(database: Database, regions: range, urls: int) -> Generator[list[Row]]:
    """All rows of `regions` as they are now, whenever and in whatever thread they are read, but for those of the
    queue, which are those of the records. Hosts come first, and then in each part what belongs to about so many URLs:
    those of a site stand together, unless they are more. There is at least one part. Takes 250 bytes of memory for
    each page's digest besides.
    """
    return _parts(_scans(database, regions), urls)


def _parts(scans: dict[tuple[str, bytes], Iterator[Row]], most: int) -> Generator[list[Row]]:
    del scans["queue", b""]
    hosts, urls = scans.pop(("hosts", b"")), _Ahead(scans.pop(("urls", b"")))
    while some := list(islice(hosts, most)):
        yield some
    others = [_Ahead(_sorted(of[0], rows) if of in _BY_OTHERS else rows) for of, rows in scans.items()]
    while True:
        rows = urls.some(most)
        for other in others:
            rows += other.until(urls.place)
        yield rows
        if urls.place is None:
            return


class _Ahead:
    """Rows in the order of their places; `place` is that of the next one, None behind the last."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._kept: list[Row] = []
        """Rows of a site that is to begin what comes next."""
        self._look()

    def _look(self) -> None:
        self._next = next(self._rows, None)
        self.place = None if self._next is None else _place_of_row(*self._next)

    def until(self, end: bytes | None) -> list[Row]:
        """Those before `end`."""
        found = []
        while self._next is not None and (end is None or (self.place or b"") < end):
            found.append(self._next)
            self._look()
        return found

    def some(self, most: int) -> list[Row]:
        """So many; then on to the end of a site, but not to twice as many. A site that would be cut there begins the
        next ones, unless it is alone.
        """
        found, self._kept, begun = self._kept, [], 0
        while self._next is not None and len(found) < 2 * most:
            if not self._goes_on(found):
                if len(found) >= most:
                    return found
                begun = len(found)
            found.append(self._next)
            self._look()
        if begun and self._goes_on(found):
            self._kept = found[begun:]
            self.place = _place_of_row(*self._kept[0])
            del found[begun:]
        return found

    def _goes_on(self, found: list[Row]) -> bool:
        """Whether the next row is of the site of the last one."""
        return bool(found) and self._next is not None and found[-1][1][:REGION_SIZE] == self._next[1][:REGION_SIZE]


def _sorted(family: str, rows: Iterator[Row]) -> Iterator[Row]:
    """In the order of their places, and sorted piece by piece: a long sort would let no other thread run."""
    runs = []
    while run := [((_place_of_row(*row) or b"") + row[1], len(row[1]), row[2]) for row in islice(rows, _RUN)]:
        runs.append(sorted(run))
    for place, length, value in merge(*runs):
        yield family, place[-length:], value


@dataclass
class Sums:
    """What the rows of a partition add up to."""

    dividend: int
    states: Counter[UrlState] = field(default_factory=Counter)
    levels: Counter[int] = field(default_factory=Counter)
    payees: int = 0
    credit: int = 0
    """What waiting pages hold, and what stands on their hosts' accounts."""
    spent: float = 0.0
    good: int = 0
    _dividends: defaultdict[bytes, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, database: Database, regions: range, dividend: int) -> Sums:
        """Sums of what stands in the database, by the dividend of its facts. Raises `CorruptFile`."""
        sums, bounds = cls(dividend), _bounds(regions)
        for key, value in database.scan("hosts", *bounds):
            sums._host(Host.unpack(key, value))
        for _, value in database.scan("urls", *bounds):
            sums._url(UrlRecord.unpack(value))
        return sums

    def _host(self, host: Host) -> None:
        self.good += host.good
        if host.queued:
            self.payees += 1
            self.credit += _credible(owed(self.dividend, host.mark)) + host.rest
            self._dividends[host.key] = host.dividend

    def _url(self, record: UrlRecord) -> None:
        self.states[record.state] += 1
        self.spent += record.history
        self.credit += record.credit
        if record.state == UrlState.QUEUED:
            self.credit += _credible(owed(self._dividends[record.host], record.mark))
            if not goes_last(record.rank):
                self.levels[level_of(record.rank)] += 1


def _credible(amount: int) -> int:
    """Nothing for what is no balance, but the difference of two dividends that do not belong together: a check finds
    it (`checking.survey.is_absurd`), and it must not hide what else there is.
    """
    return amount if amount <= WRAP >> 2 else 0


class Move:
    """See the module. Nothing is written before `commit`. `lambda_ledger`: that of a crawl that has none yet."""

    def __init__(self, database: Database, territory: Territory, lambda_ledger: Ledger) -> None:
        self._database = database
        self._territory = territory
        self._batch = database.batch()
        self._meta = Overlay(database, "meta")
        self._counts = Counts(self._meta)
        ledger = self._meta.get(LEDGER)
        self._ledger = lambda_ledger if ledger is None else Ledger.unpack(ledger)
        judge = self._meta.get(JUDGE)
        self._good: int = 0 if judge is None else JUDGE_STATE.unpack(judge)[0]

    def settle(self, partition: int, facts: Facts, sums: Sums) -> tuple[Facts, PartCounts, list[Row]]:
        """A partition comes, whose rows stand in the database already, as another one had them when its facts were
        `facts`; they add up to `sums`. Returns the facts that are right here, the partition's counts, and the rows
        that have changed for it: those of hosts.
        """
        changed: list[Row] = []
        for key, value in self._database.scan("hosts", *_bounds(self._territory.regions(partition))):
            changed.append(("hosts", key, self._settled(Host.unpack(key, value), facts.dividend)))
            self._batch.put(*changed[-1])
        counts = self._add(sums, facts, 1)
        self._counts.serial = max(self._counts.serial, facts.serial)
        return facts._replace(dividend=self._ledger.policy.dividend), counts, changed

    def _settled(self, host: Host, dividend: int) -> bytes:
        """The host's record, with what it is owed as before, by the dividend that is paid here. Its turn, on a clock
        that is not ours, is over.
        """
        host.mark = (self._ledger.policy.dividend - owed(dividend, host.mark)) % WRAP
        host.turn = -1.0
        return host.pack()

    def drop(self, partition: int, facts: Facts) -> None:
        """A partition goes, with what `facts` say."""
        regions = self._territory.regions(partition)
        self._add(Sums.of(self._database, regions, self._ledger.policy.dividend), facts, -1)
        forget(self._batch, self._database, regions)

    def _add(self, sums: Sums, facts: Facts, sign: int) -> PartCounts:
        counts, ledger = self._counts, self._ledger
        states = [sums.states[state] + facts.forgotten[state] for state in UrlState]
        counts.queued += sign * states[UrlState.QUEUED]
        counts.fetched += sign * states[UrlState.FETCHED]
        counts.failed += sign * states[UrlState.FAILED]
        counts.excluded += sign * states[UrlState.EXCLUDED]
        counts.requisites += sign * states[UrlState.REQUISITE]
        counts.forgotten += sign * sum(facts.forgotten)
        for level, number in sums.levels.items():
            counts.levels[level] += sign * number
        ledger.total += sign * (sums.credit + facts.reserve)
        ledger.reserve += sign * facts.reserve
        ledger.spent += sign * sums.spent
        ledger.policy.payees += sign * sums.payees
        self._good += sign * sums.good
        return PartCounts(states, facts.forgotten, facts.allowance)

    def note(self, name: bytes, value: bytes) -> None:
        """Write that, too, of the crawl as a whole (`crawldir.meta`)."""
        self._meta.put(name, value)

    def commit(self) -> None:
        """Write all of it."""
        self._counts.levels = +self._counts.levels
        self._counts.store(self._meta)
        self._meta.put(LEDGER, self._ledger.pack())
        self._meta.put(JUDGE, JUDGE_STATE.pack(self._good))
        self._meta.delete(SEEN_SERIAL)  # the saved filter lacks what has come
        self._meta.flush(self._batch)
        self._database.write(self._batch)


def facts_of(territory: Territory, ledger: Ledger, serial: int) -> dict[int, Facts]:
    """Those of each partition that is held, of the crawl's: what the lambda page holds goes with the first one."""
    facts = {}
    for place, (one, counts) in enumerate(sorted(territory.held.items())):
        facts[one] = Facts(
            ledger.policy.dividend,
            0 if place else ledger.reserve,
            serial,
            list(counts.forgotten),
            counts.allowance.fields(),
        )
    return facts
