"""The tables of the page: hosts, sections, errors. One page of rows at a time, searched and sorted.

Hosts and sections are those in memory, which have URLs waiting; any other host is found by its exact name. Many are
looked over without holding up the crawl: in slices, with pauses in which the event loop goes on.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.refusals import summed_up
from sitecrawl.crawldir.refusals import RefusalTotals
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import Host, PolitenessOptions
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.hosts.trap_state import Reason
from sitecrawl.frontier.judge.explain import explain
from sitecrawl.frontier.judge.held import HeldSets, unit_of
from sitecrawl.plugins.dashboard.meter import Meter

MAX_ROWS: Final = 100
"""Rows of one answer."""
_ROWS: Final = 25
MAX_OFFSET: Final = 10_000
MAX_SEARCH: Final = 200
_SLICE: Final = 0.002
"""Seconds of work at a time."""
_REST: Final = 0.03
"""Seconds between two slices."""
_STEP: Final = 16
"""Items between two looks at the clock."""

Row = dict[str, Any]

Fields = Mapping[str, str]
"""Of the URL that asks for a table."""
Table = Callable[[Fields], Coroutine[Any, Any, Row]]
"""Gives the rows that are asked for. Raises `OptionError` for what is not there."""
LiveUnit = tuple[Host, Section | None]
"""A host in memory, or one of its sections."""
Item = TypeVar("Item")
Shown = TypeVar("Shown")

_HOST_SORTS: Final[dict[str, Callable[[Host], Any]]] = {
    "waiting": lambda host: host.queued,
    "known": lambda host: host.known,
    "fetched": lambda host: host.fetched,
    "good": lambda host: host.good,
    "failures": lambda host: host.failures,
    "next": lambda host: -host.free_at,
}
_SECTION_SORTS: Final[dict[str, Callable[[LiveUnit], Any]]] = {
    "waiting": lambda unit: (unit[1] or unit[0]).queued,
    "known": lambda unit: (unit[1] or unit[0]).known,
    "fetched": lambda unit: (unit[1] or unit[0]).fetched,
    "good": lambda unit: (unit[1] or unit[0]).good,
    "novelty": lambda unit: (unit[1] or unit[0]).trap.novelty,
}


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows are wanted."""

    search: str = ""
    """A part of the host's name, or of the section's."""
    sort: str = "waiting"
    offset: int = 0
    limit: int = _ROWS
    demoted: bool = False
    """Only what is held back."""

    @classmethod
    def read(cls, fields: Fields, *, max_offset: int = MAX_OFFSET, max_rows: int = MAX_ROWS) -> Query:
        """The query in the fields of a URL. Raises `OptionError`."""
        try:
            offset, limit = int(fields.get("offset", 0)), int(fields.get("limit", _ROWS))
        except ValueError:
            raise OptionError("offset and limit are whole numbers") from None
        if not (0 <= offset <= max_offset and 1 <= limit <= max_rows):
            raise OptionError(f"offset goes up to {max_offset:,}, limit from 1 to {max_rows}: search for the rest")
        search = fields.get("q", "").strip().lower()
        if len(search) > MAX_SEARCH:
            raise OptionError(f"A search may have {MAX_SEARCH} characters")
        return cls(search, fields.get("sort", "waiting"), offset, limit, fields.get("demoted", "") == "1")


class Tables:
    """See the module. `frontier` gives that of now: a worker's is another one when partitions have come or gone.

    `max_rows`: rows of one answer.
    """

    def __init__(
        self,
        frontier: Callable[[], DiskFrontier],
        politeness: PolitenessOptions,
        meter: Meter,
        *,
        held: HeldSets,
        refusals: RefusalTotals,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self._frontier_now = frontier
        self._max_rows = max_rows
        self._held = held
        self._refusals = refusals
        self._politeness = politeness
        self._meter = meter
        self.named: dict[str, Table] = {
            "hosts": self._hosts,
            "sections": self._sections,
            "errors": self._errors,
        }

    @property
    def _frontier(self) -> DiskFrontier:
        return self._frontier_now()

    def _query(self, fields: Fields) -> Query:
        return Query.read(fields, max_rows=self._max_rows)

    # Hosts

    async def _hosts(self, fields: Fields) -> Row:
        """Hosts that match, those that are held back among them."""
        query = self._query(fields)

        def rows_of(host: Host) -> Iterator[Host]:
            if (
                (host.queued or host.active)
                and query.search in host.name
                and (host.trap.demoted or not query.demoted)
            ):
                yield host

        found = await _shown(query, self._frontier.hosts.live(), rows_of, _HOST_SORTS, self._host_row)
        if query.search and not found["total"] and (host := self._frontier.hosts.find(query.search)) is not None:
            found |= {"rows": [self._host_row(host)], "total": 1}
        return found

    def _host_row(self, host: Host) -> Row:
        wait = max(0.0, host.free_at - time.monotonic())
        return {
            "host": host.name,
            "waiting": host.queued,
            "known": host.known,
            "fetched": host.fetched,
            "good": host.good,
            "state": self._state(host, wait),
            "next": round(wait, 3) if host.queued else None,
            "failures": host.failures,
            "crawl_delay": host.crawl_delay,
            "ip": host.ip,
            "demoted": host.trap.demoted,
            **_hold(host),
            "reason": explain(host, self._fetches),
            "said_no": summed_up(self._refusals.of(host.name)),
        }

    def _state(self, host: Host, wait: float) -> str:
        if host.trap.demoted:
            return "blocked" if host.trap.reason == Reason.BLOCKED else "held back"
        if host.active:
            return "asking"
        if not host.queued:
            return "done"
        if host.is_dead(self._politeness):
            return "silent" if host.fetched else "dead"
        if host.failures:
            return "failing"
        return "resting" if wait else "ready"

    # Sections

    async def _sections(self, fields: Fields) -> Row:
        """Sections that match; with `demoted` whole hosts that are held back, too."""
        query = self._query(fields)

        def matching(units: Iterable[LiveUnit]) -> Iterator[LiveUnit]:
            for host, section in units:
                if query.search in host.name + (section.shape.lower() if section else ""):
                    yield host, section

        def waiting(host: Host) -> Iterator[LiveUnit]:
            return matching((host, section) for section in host.sections.values() if section.queued)

        if query.demoted:
            held = self._frontier.judge.demoted.values()
            return await _shown(query, held, lambda unit: matching([unit]), _SECTION_SORTS, self._held_row)
        return await _shown(query, self._frontier.hosts.live(), waiting, _SECTION_SORTS, self._section_row)

    def _section_row(self, unit: LiveUnit) -> Row:
        host, section = unit
        return {**unit_of(host, section or host, self._fetches)._asdict(), **_hold(section or host)}

    def _held_row(self, unit: LiveUnit) -> Row:
        """With samples, as of the last checkpoint."""
        host, section = unit
        held = self._held.read(host, section, self._fetches)
        samples = [one._asdict() for one in held.fetched_urls]
        return {**held._asdict(), "fetched_urls": samples, **_hold(section or host)}

    @property
    def _fetches(self) -> int:
        return self._frontier.judge.fetches

    # The others

    async def _errors(self, _: Fields) -> Row:
        """Kinds of error with their last examples, the most frequent first."""
        ordered = sorted(self._meter.errors.items(), key=lambda pair: -pair[1].count)
        keys = {example.referrer for _, error in ordered for example in error.examples}
        records = self._frontier.urls.get_many(list(keys))
        rows = []
        for kind, error in ordered:
            examples = [
                {"url": e.url, "at": e.at, "referrer": record.url if (record := records[e.referrer]) else None}
                for e in reversed(error.examples)
            ]
            rows.append({"kind": kind, "count": error.count, "examples": examples})
        return {"rows": rows, "total": len(rows)}


class ScanResult(NamedTuple, Generic[Shown]):
    rows: list[Shown]
    """The greatest by the key, at most as many as were asked for."""
    total: int
    """How many there were."""
    seconds: float
    """What it cost."""


async def scan(
    items: Sequence[Item],
    rows_of: Callable[[Item], Iterable[Shown]],
    *,
    key: Callable[[Shown], Any],
    keep: int,
    work: float = _SLICE,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ScanResult[Shown]:
    """Look over all `items`; of what `rows_of` gives, keep the `keep` greatest by `key`, in their order.

    `items` may have changed meanwhile: `rows_of` sees each as it is when its turn comes.
    """
    best: list[Shown] = []
    total, cost, begun = 0, 0.0, time.perf_counter()
    for number, item in enumerate(items):
        for row in rows_of(item):
            total += 1
            best.append(row)
        if len(best) > 4 * keep + 64:
            best = heapq.nlargest(keep, best, key=key)
        if number % _STEP == 0 and time.perf_counter() - begun >= work:
            cost += time.perf_counter() - begun
            await pause(_REST)
            begun = time.perf_counter()
    best = heapq.nlargest(keep, best, key=key)
    return ScanResult(best, total, cost + time.perf_counter() - begun)


async def _shown(
    query: Query,
    items: Iterable[Item],
    rows_of: Callable[[Item], Iterable[Shown]],
    sorts: Mapping[str, Callable[[Shown], Any]],
    row_of: Callable[[Shown], Row],
) -> Row:
    """What `query` asks for of `items`: most are only sorted, and never shown."""
    if query.sort not in sorts:
        raise OptionError(f"There is no order {query.sort!r}: choose one of {', '.join(sorts)}")
    found = await scan(list(items), rows_of, key=sorts[query.sort], keep=query.offset + query.limit)
    rows = [row_of(one) for one in found.rows[query.offset :]]
    return {"rows": rows, "total": found.total, "offset": query.offset, "cost": found.seconds}


def _hold(unit: Host | Section) -> Row:
    return {
        "blocked": unit.trap.demoted and unit.trap.reason == Reason.BLOCKED,
        "vouched": unit.trap.reason == Reason.VOUCHED,
    }
