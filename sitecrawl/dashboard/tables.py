"""The tables of the page: hosts, sections, pages, sitemaps, errors. One page of rows at a time, searched and sorted.

Hosts and sections are those in memory, which have URLs waiting; any other host is found by its exact name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, Protocol

from sitecrawl.base.errors import OptionError
from sitecrawl.dashboard.meter import Meter
from sitecrawl.dashboard.popular import Popular
from sitecrawl.dashboard.survey import Pace, look_over
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.reader import unit_of
from sitecrawl.frontier.record import UrlRecord
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_judge import Reason, explain
from sitecrawl.sitemap.printing import facts
from sitecrawl.sitemap.record import Kind, SitemapRecord, SitemapState
from sitecrawl.sitemap.store import SitemapStore

MAX_ROWS: Final = 100
"""Rows of one answer."""
_ROWS: Final = 25
MAX_OFFSET: Final = 10_000
MAX_SEARCH: Final = 200

Row = dict[str, Any]

_HOST_SORTS: Final = ("waiting", "known", "fetched", "good", "failures", "next")
_SECTION_SORTS: Final = ("waiting", "known", "fetched", "good", "novelty")
_SITEMAP_SORTS: Final = ("new", "entries")
_SITEMAPS_SHOWN: Final = frozenset({SitemapState.VALID, SitemapState.OPEN})
_SITEMAP_FIELDS: Final = (
    "url", "state", "form", "how", "entries", "new", "judged", "good", "spam_share", "trust", "visits",
    "next_visit",
)  # fmt: skip


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
    def read(cls, fields: dict[str, str]) -> Query:
        """The query in the fields of a URL. Raises `OptionError`."""
        try:
            offset, limit = int(fields.get("offset", 0)), int(fields.get("limit", _ROWS))
        except ValueError:
            raise OptionError("offset and limit are whole numbers") from None
        if not (0 <= offset <= MAX_OFFSET and 1 <= limit <= MAX_ROWS):
            raise OptionError(f"offset goes up to {MAX_OFFSET:,}, limit from 1 to {MAX_ROWS}: search for the rest")
        search = fields.get("q", "").strip().lower()
        if len(search) > MAX_SEARCH:
            raise OptionError(f"A search may have {MAX_SEARCH} characters")
        return cls(search, fields.get("sort", "waiting"), offset, limit, fields.get("demoted", "") == "1")


class Tables:
    """See the module. `pause` lets the event loop go on for so many seconds; `clock` is the frontier's."""

    def __init__(
        self,
        frontier: DiskFrontier,
        politeness: PolitenessOptions,
        meter: Meter,
        popular: Popular,
        sitemaps: Callable[[], SitemapStore | None],
        *,
        pause: Callable[[float], Awaitable[object]],
        clock: Callable[[], float],
    ) -> None:
        self._frontier = frontier
        self._politeness = politeness
        self._meter = meter
        self._popular = popular
        self._sitemaps = sitemaps
        self._pause = pause
        self._clock = clock
        self.pace = Pace()

    # Hosts

    async def hosts(self, query: Query) -> Row:
        """Hosts that match, those that are held back among them."""
        _check_sort(query.sort, _HOST_SORTS)

        def rows_of(host: Host) -> Iterator[Row]:
            if (
                (host.queued or host.active)
                and query.search in host.name
                and (host.trap.demoted or not query.demoted)
            ):
                yield self._host_key(host)

        found = await self._survey(list(self._frontier.hosts.live()), rows_of, query)
        rows = [self.host_row(row["_host"]) for row in found["rows"]]
        if query.search and not found["total"] and (host := self._frontier.hosts.find(query.search)) is not None:
            rows, found["total"] = [self.host_row(host)], 1
        return {**found, "rows": rows}

    def _host_key(self, host: Host) -> Row:
        """What is sorted by, cheap: most of the rows are never shown."""
        return {
            "_host": host,
            "waiting": host.queued,
            "known": host.known,
            "fetched": host.fetched,
            "good": host.good,
            "failures": host.failures,
            "next": -host.free_at,
        }

    def host_row(self, host: Host) -> Row:
        wait = max(0.0, host.free_at - self._clock())
        return {
            "host": host.name,
            "waiting": host.queued,
            "known": host.known,
            "fetched": host.fetched,
            "good": host.good,
            "sections": len(host.sections),
            "active": host.active,
            "state": self._state(host, wait),
            "next": round(wait, 3) if host.queued else None,
            "failures": host.failures,
            "crawl_delay": host.crawl_delay,
            "ip": host.ip,
            "trust": self._frontier.link_credit.graph.trust(host.key),
            "demoted": host.trap.demoted,
            **_hold(host),
            "reason": explain(host, self._fetches),
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

    def host(self, name: str) -> Row:
        """One host and its sections. Raises `OptionError` for one that is not known."""
        host = self._frontier.hosts.find(name)
        if host is None:
            raise OptionError(f"The crawl knows no host {name!r}")
        sections = sorted(host.sections.values(), key=lambda section: section.queued, reverse=True)
        return {"host": self.host_row(host), "sections": [self.section_row(host, one) for one in sections]}

    # Sections

    async def sections(self, query: Query) -> Row:
        """Sections that match; with `demoted` whole hosts that are held back, too."""
        _check_sort(query.sort, _SECTION_SORTS)

        def rows_of(host: Host) -> Iterator[Row]:
            for section in host.sections.values():
                if section.queued and query.search in host.name + section.shape.lower():
                    yield self._section_key(host, section)

        def held(unit: tuple[Host, Section | None]) -> Iterator[Row]:
            host, section = unit
            if query.search in host.name + (section.shape.lower() if section else ""):
                yield self._section_key(host, section)

        if query.demoted:
            found = await self._survey(list(self._frontier.judge.demoted.values()), held, query)
        else:
            found = await self._survey(list(self._frontier.hosts.live()), rows_of, query)
        return {**found, "rows": [self.section_row(*row["_unit"]) for row in found["rows"]]}

    @staticmethod
    def _section_key(host: Host, section: Section | None) -> Row:
        unit = section or host
        return {
            "_unit": (host, section),
            "waiting": unit.queued,
            "known": unit.known,
            "fetched": unit.fetched,
            "good": unit.good,
            "novelty": unit.trap.novelty,
        }

    def section_row(self, host: Host, section: Section | None) -> Row:
        unit = section or host
        return {
            **unit_of(host, unit, self._fetches)._asdict(),
            **_hold(unit),
            "worth": section.worth if section else None,
        }

    @property
    def _fetches(self) -> int:
        return self._frontier.judge.fetches

    async def _survey(self, items: list[Any], rows_of: Callable[[Any], Iterable[Row]], query: Query) -> Row:
        found = await look_over(
            items,
            rows_of,
            key=itemgetter(query.sort),
            keep=query.offset + query.limit,
            pause=self._pause,
            pace=self.pace,
        )
        return {
            "rows": found.rows[query.offset :],
            "total": found.total,
            "offset": query.offset,
            "cost": found.seconds,
        }

    # The others

    def pages(self) -> Row:
        rows = [page._asdict() for page in self._popular.top(MAX_ROWS)]
        return {"rows": rows, "total": len(rows), "rounds": self._popular.rounds}

    async def sitemaps(self, query: Query) -> Row:
        """Sitemaps that match, but for addresses where there is none; nothing where the crawl looks for none."""
        store = self._sitemaps()

        def rows_of(record: SitemapRecord) -> Iterator[Row]:
            is_one = record.kind == Kind.SITEMAP and record.state in _SITEMAPS_SHOWN
            if is_one and query.search in record.url.lower():
                valid = record.state == SitemapState.VALID
                yield {"_record": record, "new": (valid, record.new), "entries": (valid, record.entries)}

        _check_sort(query.sort, _SITEMAP_SORTS)
        items = [] if store is None else [record for _, record in store.items()]
        found = await self._survey(items, rows_of, query)
        rows = [_sitemap_row(row["_record"]) for row in found["rows"]]
        return {**found, "rows": rows, "gathers": store is not None}

    def errors(self) -> Row:
        """Kinds of error with their last examples, the most frequent first."""
        return error_rows(self._meter, self._frontier.urls)


class Urls(Protocol):
    """What is known of URLs, by their fingerprints."""

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, UrlRecord | None]: ...


def error_rows(meter: Meter, urls: Urls) -> Row:
    """Kinds of error with their last examples, the most frequent first."""
    ordered = sorted(meter.mishaps.items(), key=lambda pair: -pair[1].count)
    keys = {example.referrer for _, mishap in ordered for example in mishap.examples}
    records = urls.get_many(list(keys))
    rows = []
    for kind, mishap in ordered:
        examples = [
            {"url": e.url, "at": e.at, "referrer": record.url if (record := records[e.referrer]) else None}
            for e in reversed(mishap.examples)
        ]
        rows.append({"kind": kind, "count": mishap.count, "examples": examples})
    return {"rows": rows, "total": len(rows)}


def _hold(unit: Host | Section) -> Row:
    return {
        "blocked": unit.trap.demoted and unit.trap.reason == Reason.BLOCKED,
        "vouched": unit.trap.reason == Reason.VOUCHED,
        "since": unit.trap.since if unit.trap.demoted else None,
    }


def _sitemap_row(record: SitemapRecord) -> Row:
    found = facts(record)
    return {name: found[name] for name in _SITEMAP_FIELDS}


def _check_sort(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise OptionError(f"There is no order {name!r}: choose one of {', '.join(known)}")
