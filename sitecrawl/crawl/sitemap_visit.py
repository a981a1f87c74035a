"""One visit of a sitemap: its links go to the frontier, newest first, and sitemaps that it names to the store.

It is read in steps, and its links are queued in slices, with turns of the event loop in between. A checkpoint may
come after each slice: the sitemap's URL stays in the frontier until the end, so after a crash it is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from sitecrawl.base.batches import batches
from sitecrawl.base.limits import SITEMAP_ENTRIES, SITEMAP_SIZE
from sitecrawl.crawl.cooperator import Cooperator
from sitecrawl.crawl.sitemap_registry import Registry, SitemapResponse
from sitecrawl.crawl.sitemaps.entry import Entry, Form, Limits, ParseReport, Problem
from sitecrawl.crawl.sitemaps.locations import How, SitemapAnswer, is_sitemap, may_list
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_in_steps
from sitecrawl.crawl.sitemaps.record import BELIEVED, DAY, SitemapKind, SitemapRecord
from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.items import Link
from sitecrawl.urls.url import Url, site_of

_T = TypeVar("_T")

_RECENT: Final = 30 * DAY
"""Seconds before now in which new entries tell how often they come."""
_PERIODS: Final = {
    "always": 3600.0,
    "hourly": 3600.0,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
"""Seconds by `changefreq`."""
_BATCH: Final = 50_000
"""Entries that are sorted together: as many as the protocol allows."""
_SLICE: Final = 500
"""Links that go to the frontier at a time: some milliseconds."""
_MAX_REFETCHED: Final = 100_000
"""Most pages under way because a sitemap says that they have changed."""
_REMEMBERED: Final = 1_000
"""Most links of a visit that are compared with the last visit's, where another worker owns their sites."""
_DIGEST: Final = 4
"""Bytes kept of each such link."""
_UNPROVEN: Final = 20
"""Most pages fetched again at a time because of a sitemap whose dates have not yet proved right."""
_PROOF: Final = 4
"""Factor by which that number grows with each date that proved right."""


class SitemapVisit:
    """See the module. `refetched`: pages under way because a sitemap says that they have changed, with its key."""

    def __init__(
        self,
        registry: Registry,
        answer: SitemapResponse,
        limits: Limits,
        cooperator: Cooperator,
        refetched: dict[bytes, bytes],
    ) -> None:
        self._registry = registry
        self._crawl = registry.crawl
        self._answer = answer
        self._record = answer.record
        self._limits = limits
        self._pause = cooperator.pause
        self._refetched = refetched
        self._vouchers = frozenset(answer.record.vouchers)
        self._report = ParseReport()
        self._entries = self._alien = self._recent = 0
        self._newest = 0.0
        self._frequencies: Counter[str] = Counter()
        self._pages: list[tuple[float, Link]] = []
        self._listed: dict[bytes, bool] = {}
        """First links of this visit, by their kept bytes; the value says whether another worker owns their site."""
        self._sitemaps: list[Entry] = []
        under_way = sum(sitemap == answer.key for sitemap in refetched.values())
        self._refetches = max(0, int(_UNPROVEN * _PROOF ** int(answer.record.right)) - under_way)
        """How many more pages may be fetched again, beside those that earlier visits still wait for."""

    async def run(self) -> int | None:
        """Queue what the sitemap lists. Returns the number of new links to pages; None if it is no sitemap.

        Raises `Stopping`.
        """
        response, report, label = self._answer.response, self._report, self._answer.head.charset
        self._record.left = 0
        steps = read_in_steps(
            chunks_of(response.body),
            response.url,
            report,
            label=label,
            limits=self._limits,
            page_reader=self._crawl.reading.read_page,
        )
        for entries in steps:
            self._sort(entries)
            await self._pause()
            if len(self._pages) + len(self._sitemaps) >= _BATCH and report.form != Form.HTML:
                await self._queue()
        if report.form == Form.UNKNOWN or not self._is_sitemap():
            return None
        await self._queue()
        self._record.unfinished += self._new_elsewhere()
        self._note()
        new, self._record.unfinished = self._record.unfinished, 0
        return new

    def _is_sitemap(self) -> bool:
        how, response = self._record.how, self._answer.response
        if how == How.HAND or (self._report.form != Form.HTML and how in {How.ROBOTS, How.INDEX}):
            return True
        is_page = self._report.form == Form.HTML
        answer = self._answer.answer if is_page else SitemapAnswer(response.url, response.status)
        return is_sitemap(answer, self._report, missing=self._missing())

    def _missing(self) -> SitemapAnswer | None:
        """The host's answer for an address that cannot exist, if known."""
        for record in self._registry.store.of_host(self._record.host):
            if record.kind == SitemapKind.MISSING and record.visits:
                return SitemapAnswer(record.final, record.status, text_hash=record.text_hash)
        return None

    def _note(self) -> None:
        record, report = self._record, self._report
        record.form, record.problems, record.skipped = report.form, report.problems, report.skipped
        record.entries, record.alien = self._entries, self._alien
        record.newest = self._newest
        record.claimed = _claim(self._recent, self._frequencies)
        stats = self._crawl.stats
        stats.inc_value("sitemaps/entries", self._entries)
        stats.inc_value("sitemaps/spam", self._alien)
        stats.inc_value("sitemaps/new_links", record.unfinished)
        if Problem.CUT in report.problems:
            by_size = report.size > self._limits.max_bytes
            stats.inc_value((SITEMAP_SIZE if by_size else SITEMAP_ENTRIES).stat)
        for problem in Problem:
            if problem in report.problems:
                stats.inc_value(f"sitemaps/{str(problem.name).lower()}")

    def _sort(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if not self._speaks_for(entry.url):
                self._alien += 1
                continue
            self._entries += 1
            if entry.lastmod is not None:
                self._newest = max(self._newest, entry.lastmod)
                self._recent += _is_recent(entry.lastmod, self._answer.now)
            if entry.changefreq is not None:
                self._frequencies[entry.changefreq] += 1
            if entry.is_sitemap:
                self._sitemaps.append(entry)
            else:
                urls = (entry.url, *(url for url in entry.alternates if self._speaks_for(url)))
                date = entry.lastmod or 0.0
                links = [Link(url.href, url.host) for url in urls]
                self._pages += [(date, link) for link in links if self._registry.admits(link)]

    def _speaks_for(self, url: Url) -> bool:
        """Whether the sitemap may list `url`. One named by hand may list all; an HTML page also its site's hosts."""
        if self._record.how == How.HAND or may_list(self._record.host, self._vouchers, url.host):
            return True
        return self._report.form == Form.HTML and site_of(url.host) == site_of(self._record.host)

    async def _queue(self) -> None:
        """Queue one batch, sitemaps first, as they may list newer pages."""
        sitemaps, self._sitemaps = self._sitemaps, []
        pages, self._pages = self._pages, []
        keyed = {self._registry.key(entry.url): entry for entry in reversed(sitemaps)}
        rest = min(self._registry.room(self._record), sum(key not in self._registry.store for key in keyed))
        for part in _slices(list(reversed(keyed.items()))):
            rest -= self._queue_sitemaps(part, rest)
            await self._pause()
        pages.sort(key=lambda page: -page[0])
        left = len(pages)
        for some in _slices(pages):
            left -= len(some)
            self._queue_pages(some, left)
            await self._pause()

    def _queue_sitemaps(self, entries: Iterable[tuple[bytes, Entry]], rest: int) -> int:
        """Queue new sitemaps that an index names, which share its credit; note the index's dates of known ones.

        `rest`: number of new ones in this and later slices. Returns how many of `entries` are new.
        """
        record, registry = self._record, self._registry
        new: list[tuple[bytes, SitemapRecord]] = []
        for key, entry in entries:
            if key not in registry.store and not registry.may_name(record, entry.url.host):
                continue
            child = registry.remember(
                entry.url, SitemapKind.SITEMAP, How.INDEX, parent=record.url, vouchers=record.vouchers
            )
            if child is not None:
                child.lastmod = entry.lastmod or 0.0
                new.append((key, child))
            elif entry.lastmod is not None and (child := registry.store.get(key)) is not None:
                child.dated(entry.lastmod, record, self._answer.now)
                registry.store.put(key, child)
        if new and Capability.RECORDS in self._crawl.frontier.can:
            priority = min(0, registry.priority(record))
            links = [Link(child.url, child.host, priority=priority) for _, child in new]
            self._crawl.found.expand(self._answer.fetch, links, rest=max(0, rest - len(new)))
        for key, child in new:
            known = self._crawl.frontier.urls.get(key)
            if known is None or known.state != UrlState.QUEUED:  # too deep, or fetched before as a page
                registry.queue(key, child)
        return len(new)

    def _queue_pages(self, pages: Sequence[tuple[float, Link]], rest: int) -> None:
        record, links = self._record, [link for _, link in pages]
        record.unfinished += self._crawl.found.expand(self._answer.fetch, links, rest=rest)
        for link in links[: _REMEMBERED - len(self._listed)]:
            self._listed[link.key[-_DIGEST:]] = not self._crawl.peers.has(link.host)
        self._registry.store.put(self._answer.key, record)
        if self._refetches and record.trust >= BELIEVED:
            now = self._answer.now
            self._refetch({link.key: date for date, link in pages if 0 < date <= now})

    def _new_elsewhere(self) -> int:
        """Number of links to sites of other workers that the last visit did not list. Only those workers know which
        are new in the crawl, and without this count a sitemap of such links would seem to have no news.
        """
        if Capability.RECORDS in self._crawl.frontier.can:
            return 0
        before = {bytes(digest) for digest in batches(self._record.listed, _DIGEST)}
        self._record.listed = b"".join(self._listed)
        return sum(is_elsewhere and digest not in before for digest, is_elsewhere in self._listed.items())

    def _refetch(self, dated: dict[bytes, float]) -> None:
        """Fetch pages again that the sitemap says have changed; many only if its dates have proved right."""
        frontier = self._crawl.frontier
        for key, known in frontier.urls.get_many(list(dated)).items():
            is_old = known is not None and known.state == UrlState.FETCHED and known.fetched < dated[key]
            if is_old and self._refetches and len(self._refetched) < _MAX_REFETCHED and frontier.again(key):
                self._refetches -= 1
                self._refetched[key] = self._answer.key
                self._crawl.stats.inc_value("sitemaps/refetched")


def _slices(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (items[start : start + _SLICE] for start in range(0, len(items), _SLICE))


def _is_recent(date: float, now: float) -> bool:
    """Whether an entry of `date` is recent enough to tell the rate of new ones."""
    return now - _RECENT < date <= now


def _claim(recent: int, frequencies: Counter[str]) -> float:
    """Claimed new links a second: by the number of recent entries, or else their usual `changefreq`."""
    if recent:
        return recent / _RECENT
    named = [frequency for frequency, _ in frequencies.most_common(1)]
    period = _PERIODS.get(named[0]) if named else None
    return 1 / period if period else 0.0
