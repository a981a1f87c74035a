"""How many URLs are in which state, how many of each level wait, and whether they are as many as are wanted."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.meta import COUNTS, LEVELS
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.order import goes_last, level_of
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState

if TYPE_CHECKING:
    from sitecrawl.frontier.urls.host import Host
    from sitecrawl.frontier.urls.host_terms import TermsByHost
    from sitecrawl.frontier.urls.visit import Visit

_TOTALS = struct.Struct(">QQQQQQQ")
_LEVEL = struct.Struct(">HQ")
NONE_OF_EACH: Final = (0,) * len(UrlState)
"""No URL in any state."""


class PageLimit:
    """The crawl's limit of URLs to fetch, which parts of pages do not count towards. `in_flight`: visits by key."""

    def __init__(self, terms: TermsByHost, counts: Counts, in_flight: Mapping[bytes, Visit]) -> None:
        self._terms = terms
        self._counts = counts
        self._in_flight = in_flight
        self.others_want_more = True
        """Whether URLs may be handed out that are no requisites, as far as those know who have parts of the crawl."""
        self.repeats = 0
        """Fetches of this run whose pages wait again."""

    @property
    def is_full(self) -> bool:
        """Whether as many URLs have been fetched as are wanted."""
        return 0 < self._terms.max_pages <= self._fetched

    @property
    def wants_more(self) -> bool:
        """Whether more pages are wanted, here and by those who have parts of the crawl."""
        return self.others_want_more and not self.is_full

    @property
    def _fetched(self) -> int:
        return self._counts.fetched + self.repeats

    def is_filling(self) -> bool:
        """Whether as many URLs as are wanted have been fetched, or are in flight."""
        if not self.wants_more:
            return True
        limit = self._terms.max_pages
        if not 0 < limit <= self._fetched + len(self._in_flight):
            return False
        return limit <= self._fetched + sum([not visit.is_requisite for visit in self._in_flight.values()])


class Allowance:
    """A partition's part of a crawl's limit of pages. It may go to another one; no part of it is made or lost."""

    __slots__ = ("account", "granted", "owed", "pages")

    def __init__(self, account: int = 0, pages: int = 0, granted: int = 0, owed: int = 0) -> None:
        self.account = account
        """Which limit it is a part of; 0 while there is none."""
        self.pages = pages
        """So many may be fetched in all, those that have been among them."""
        self.granted = granted
        """The last account of which the partition was given the whole limit, to share it out."""
        self.owed = owed
        """So many pages all partitions have beyond a limit that began with more fetched, and in flight: they come
        here, and go.
        """

    def fields(self) -> tuple[int, int, int, int]:
        """What `Allowance` is made of."""
        return self.account, self.pages, self.granted, self.owed


class PartCounts:
    """The same of one partition of the web (`frontier.urls.territory`): by state, and those that are forgotten."""

    __slots__ = ("allowance", "forgotten", "states")

    def __init__(
        self,
        states: Iterable[int] = NONE_OF_EACH,
        forgotten: Iterable[int] = NONE_OF_EACH,
        allowance: Iterable[int] = (0, 0, 0, 0),
    ) -> None:
        self.states = list(states)
        self.forgotten = list(forgotten)
        self.allowance = Allowance(*allowance)

    @property
    def room(self) -> int:
        """So many more pages may be fetched of it, those in flight among them."""
        return self.allowance.pages - self.states[UrlState.FETCHED]

    def turn(self, account: int, in_flight: int = 0) -> None:
        """Another limit holds: nothing but what is in flight may be fetched before a part of it comes."""
        own = self.allowance
        if own.account < account:
            own.account, own.pages, own.owed = account, self.states[UrlState.FETCHED] + in_flight, 0


class Counts:
    """The crawl's totals. `queued` includes the URLs in flight. `part` gives the counts of the partition of a host's
    key, where there are any. Raises `CorruptFile`.

    Invariant: fetched, failed, excluded and requisites are the records in these states and `forgotten` together.
    """

    def __init__(self, meta: Overlay, part: Callable[[bytes], PartCounts] | None = None) -> None:
        self._part = part
        totals, levels = meta.get(COUNTS), meta.get(LEVELS)
        try:
            numbers: tuple[int, ...] = _TOTALS.unpack(totals) if totals is not None else (0,) * 7
            self.levels: Counter[int] = Counter(dict(_LEVEL.iter_unpack(levels or b"")))
            """Queued URLs of each level, but for those that go last: nothing waits for them."""
        except struct.error as error:
            raise CorruptFile(f"The frontier's counts cannot be read: {error}") from error
        self.queued, self.fetched, self.failed, self.excluded, self.requisites, self.serial, self.forgotten = numbers
        self.deepest = inf
        """The level to which a crawl has come of which this is a part: none below it is begun."""
        self.volatile = 0
        """Of the queued, how many are in memory only: not part of what is stored."""
        self._volatile_levels: Counter[int] = Counter()
        self._put_off: Counter[int] = Counter()
        """Of `levels`, what waits for hosts that do not answer: no level waits for it."""

    def store(self, meta: Overlay) -> None:
        queued = self.queued - self.volatile
        levels = self.levels - self._volatile_levels
        ended = (self.fetched, self.failed, self.excluded, self.requisites)
        meta.put(COUNTS, _TOTALS.pack(queued, *ended, self.serial, self.forgotten))
        meta.put(LEVELS, b"".join(_LEVEL.pack(*pair) for pair in sorted(levels.items())))

    @property
    def known(self) -> int:
        return self.queued + self.fetched + self.failed + self.excluded + self.requisites

    def next_serial(self) -> int:
        self.serial += 1
        return self.serial

    def wait(self, record: UrlRecord, change: int, host: Host) -> None:
        """A URL of `host` has begun (1) or ceased (-1) to wait."""
        volatile = bool(record.flags & Flag.VOLATILE)
        self.queued += change
        self.volatile += change * volatile
        if not goes_last(record.rank):
            level = level_of(record.rank)
            self.levels[level] += change
            self._volatile_levels[level] += change * volatile
            if host.put_off is not None:
                host.put_off[level] += change
                self._put_off[level] += change
        if self._part is not None:
            self._part(record.host).states[UrlState.QUEUED] += change

    def put_off(self, host: Host, levels: Counter[int]) -> None:
        """`host` does not answer: no level waits for its URLs, so many of each of `levels`, until `take_up`."""
        host.put_off = levels
        self._put_off.update(levels)

    def take_up(self, host: Host) -> None:
        """It is asked again."""
        self._put_off.subtract(host.put_off or ())
        host.put_off = None

    def reach(self, record: UrlRecord, state: UrlState, change: int = 1) -> None:
        """A URL has come to its end, or (-1) is to be fetched again."""
        if self._part is not None:
            self._part(record.host).states[state] += change
        if state == UrlState.FETCHED:
            self.fetched += change
        elif state == UrlState.FAILED:
            self.failed += change
        elif state == UrlState.REQUISITE:
            self.requisites += change
        else:
            self.excluded += change

    def forget(self, record: UrlRecord) -> None:
        """A URL that has come to its end leaves no record."""
        self.forgotten += 1
        if self._part is not None:
            self._part(record.host).forgotten[record.state] += 1

    @property
    def own_level(self) -> float:
        """The lowest level of which something is not done, but for what is put off; infinite without any."""
        return min((level for level, urls in self.levels.items() if urls > self._put_off[level]), default=inf)

    @property
    def open_level(self) -> float:
        """The lowest level of which something is not done, here or in another part of the crawl."""
        return min(self.deepest, self.own_level)

    def has_above(self, level: int) -> bool:
        """Whether a URL of a level above `level` is queued or in flight, here or in another part of the crawl."""
        return level > self.open_level
