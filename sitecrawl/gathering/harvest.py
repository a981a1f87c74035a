"""What one visit of a sitemap brings: its links to the frontier, newest first, and its own sitemaps to the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from sitecrawl.frontier.record import State as UrlState
from sitecrawl.gathering.answer import Arrival
from sitecrawl.gathering.registry import Registry
from sitecrawl.limits import SITEMAP_ENTRIES, SITEMAP_SIZE
from sitecrawl.links import Link
from sitecrawl.runtime import Runtime
from sitecrawl.sitemap import schedule
from sitecrawl.sitemap.discover import Answer, How, is_sitemap, may_list
from sitecrawl.sitemap.entry import Entry, Form, Limits, Problem, Report
from sitecrawl.sitemap.parse import chunks_of, read_sitemap
from sitecrawl.sitemap.record import Kind, SitemapRecord
from sitecrawl.url import Url

_BATCH: Final = 50_000
"""Entries whose links go to the frontier in one batch, sorted: as many as the protocol allows."""
_MAX_CLAIMS: Final = 100_000
"""Pages under way that are fetched again because a sitemap says that they have changed."""


class Harvester:
    """See the module. `admits` says which links belong to the crawl."""

    def __init__(self, runtime: Runtime, registry: Registry, admits: Callable[[Link], bool], limits: Limits) -> None:
        self._runtime = runtime
        self._registry = registry
        self._admits = admits
        self._limits = limits
        self.claims: dict[bytes, bytes] = {}
        """Pages that are fetched again → the sitemap that says they have changed."""

    def harvest(self, arrival: Arrival) -> int | None:
        """Take what the sitemap lists; gives how many links to pages were new, or None if it is no sitemap."""
        harvest = _Harvest(
            self._runtime, self._registry, self._admits, limits=self._limits, claims=self.claims, arrival=arrival
        )
        return harvest.run()


class _Harvest:
    """One visit's."""

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        admits: Callable[[Link], bool],
        *,
        limits: Limits,
        claims: dict[bytes, bytes],
        arrival: Arrival,
    ) -> None:
        self._runtime = runtime
        self._registry = registry
        self._admits = admits
        self._limits = limits
        self._claims = claims
        self._arrival = arrival
        self._record = arrival.record
        self._vouchers = frozenset(arrival.record.vouchers)
        self._report = Report()
        self._new = self._entries = self._alien = 0
        self._dates: list[float] = []
        self._frequencies: Counter[str] = Counter()

    def run(self) -> int | None:
        record, arrival = self._record, self._arrival
        entries = read_sitemap(
            chunks_of(arrival.response.body),
            arrival.response.url,
            self._report,
            label=arrival.facts.charset,
            limits=self._limits,
        )
        batch = list(islice(entries, _BATCH))
        doubtful = record.how in {How.USUAL, How.LINK}
        if doubtful and not is_sitemap(arrival.answer, self._report, missing=self._missing()):
            return None
        while batch:
            self._take(batch)
            batch = list(islice(entries, _BATCH))
        if self._report.form == Form.UNKNOWN:
            return None
        self._note()
        return self._new

    def _missing(self) -> Answer | None:
        """What the host says of an address that cannot exist, if that is known."""
        for record in self._registry.store.of_host(self._record.host):
            if record.kind == Kind.MISSING and record.visits:
                return Answer(record.final, record.status, text_hash=record.text_hash)
        return None

    def _note(self) -> None:
        record, report = self._record, self._report
        record.form, record.problems, record.skipped = report.form, report.problems, report.skipped
        record.entries, record.alien = self._entries, self._alien
        record.newest = max(self._dates, default=0.0)
        record.claimed = schedule.claim(self._dates, self._frequencies, self._arrival.now)
        stats = self._runtime.stats
        stats.inc_value("sitemaps/entries", self._entries)
        stats.inc_value("sitemaps/spam", self._alien)
        stats.inc_value("sitemaps/new_links", self._new)
        if Problem.CUT in report.problems:
            by_size = report.size > self._limits.max_bytes
            stats.inc_value((SITEMAP_SIZE if by_size else SITEMAP_ENTRIES).stat)
        for problem in Problem:
            if problem in report.problems:
                stats.inc_value(f"sitemaps/{str(problem.name).lower()}")

    def _take(self, entries: Iterable[Entry]) -> None:
        """One batch of entries."""
        pages: list[tuple[float, Link]] = []
        sitemaps: list[Entry] = []
        for entry in entries:
            if not self._speaks_for(entry.url):
                self._alien += 1
                continue
            self._entries += 1
            if entry.lastmod is not None:
                self._dates.append(entry.lastmod)
            if entry.changefreq is not None:
                self._frequencies[entry.changefreq] += 1
            if entry.is_sitemap:
                sitemaps.append(entry)
            else:
                urls = (entry.url, *(url for url in entry.alternates if self._speaks_for(url)))
                pages += [(entry.lastmod or 0.0, Link(url.href, url.host)) for url in urls]
        self._take_sitemaps(sitemaps)
        self._take_pages([page for page in pages if self._admits(page[1])])

    def _speaks_for(self, url: Url) -> bool:
        """A page links where it likes, and what a person names, they vouch for."""
        if self._record.how == How.HAND or self._report.form == Form.HTML:
            return True
        return may_list(self._record.host, self._vouchers, url.host)

    def _take_sitemaps(self, entries: list[Entry]) -> None:
        """What an index names: new ones share its credit; of those it knows it says whether they have changed."""
        record, registry = self._record, self._registry
        new: list[tuple[bytes, SitemapRecord]] = []
        for entry in entries:
            key = registry.key(entry.url)
            child = registry.remember(entry.url, Kind.SITEMAP, How.INDEX, parent=record.url, vouchers=record.vouchers)
            if child is not None:
                child.lastmod = entry.lastmod or 0.0
                new.append((key, child))
            elif entry.lastmod is not None and (child := registry.store.get(key)) is not None:
                schedule.told(child, entry.lastmod, record, self._arrival.now, registry.options)
                registry.store.put(key, child)
        if new and self._runtime.frontier.has_records:
            self._runtime.expand(self._arrival.fetch, [Link(child.url, child.host) for _, child in new])
        for key, child in new:
            known = self._runtime.frontier.urls.get(key)
            if known is None or known.state != UrlState.QUEUED:  # too deep, or fetched before as a page
                registry.queue(key, child)

    def _take_pages(self, pages: list[tuple[float, Link]]) -> None:
        pages.sort(key=lambda page: -page[0])
        self._new += self._runtime.expand(self._arrival.fetch, [link for _, link in pages])
        if self._record.successes and schedule.trust(self._record) >= schedule.BELIEVED:
            self._refetch(pages)

    def _refetch(self, pages: list[tuple[float, Link]]) -> None:
        """Fetch again what has changed since it was fetched, as the sitemap says."""
        frontier, now = self._runtime.frontier, self._arrival.now
        dated = {self._registry.key(Url(link.url, link.host)): date for date, link in pages if 0 < date <= now}
        for key, known in frontier.urls.get_many(list(dated)).items():
            is_old = known is not None and known.state == UrlState.FETCHED and known.fetched < dated[key]
            if is_old and len(self._claims) < _MAX_CLAIMS and frontier.again(key):
                self._claims[key] = self._arrival.key
                self._runtime.stats.inc_value("sitemaps/refetched")
