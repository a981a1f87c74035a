"""The sitemaps that a crawl knows, and their way into its frontier."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from scrapy.http import Response

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_reading import PageReading
from sitecrawl.crawl.requests import GUESS, SITEMAP, pack_conditional
from sitecrawl.crawl.sitemaps.locations import How, SitemapAnswer
from sitecrawl.crawl.sitemaps.record import ScheduleOptions, SitemapKind, SitemapRecord
from sitecrawl.crawl.sitemaps.store import SitemapStore
from sitecrawl.frontier.contract import Asked, Capability
from sitecrawl.page.items import Link, PageItem, pairs
from sitecrawl.page.media_type import HTML
from sitecrawl.urls.url import Url, parse, parse_or_none, site_of

_HEAD: Final = 64 << 10
"""Bytes read to tell what an answer is: 10 MB of pretended HTML would take a second."""
_TEXT: Final = 512 << 10
"""Bytes of a page whose text is compared."""


@dataclass(slots=True)
class SitemapResponse:
    """One answer to the request for a sitemap, robots.txt or front page."""

    key: bytes
    record: SitemapRecord
    fetch: Fetch
    response: Response
    head: PageItem
    """What the first bytes of it say."""
    now: float = field(default_factory=time.time)

    @classmethod
    def of(cls, record: SitemapRecord, fetch: Fetch, response: Response, reading: PageReading) -> SitemapResponse:
        head = reading.read_page(response.url, response.body[:_HEAD], pairs(response.headers))
        return cls(fetch.visit.key, record, fetch, response, head)

    @property
    def seconds(self) -> float:
        return self.fetch.exchange.seconds if self.fetch.exchange is not None else 0.0

    @property
    def is_success(self) -> bool:
        return 200 <= self.response.status < 300

    @property
    def is_page(self) -> bool:
        """Whether it is a page of the crawl, too."""
        return self.is_success and self.head.content_type in HTML and not self.record.is_guess

    @property
    def answer(self) -> SitemapAnswer:
        return SitemapAnswer.of(self.response.url, self.response.status, self.response.body[:_TEXT], self.head)

    def header(self, name: str) -> str:
        return (self.response.headers.get(name) or b"").decode("latin-1")


MAX_PER_HOST: Final = 50_000
"""Most sitemaps remembered for one host."""
_MAX_NESTING: Final = 3
"""An index with so many above it, itself included, names nothing more. The protocol allows one; some have two."""
MAX_NESTED: Final = 1_000
"""Most sitemaps of one host that nested indexes may name: 1,000 could name 1,000 each."""
_PRIORITY: Final = 1000
"""Sitemaps go before pages: what they list may be newer than anything that waits."""
_LAST: Final = -1000
"""After all pages."""
_LEFT_OUT: Final = "sitemaps/left_out"
"""Statistic: named sitemaps left out because their site's budget had no room."""
_DEPTH: Final = 1
"""Depth of sitemaps that no sitemap names. Not 0, as the target of a redirect at depth 0 is always in scope."""


class Registry:
    """See the module. `admits` says which links belong to the crawl."""

    def __init__(self, crawl: Crawl, options: ScheduleOptions, admits: Callable[[Link], bool]) -> None:
        self.crawl = crawl
        self.options = options
        self.admits = admits
        self.store = SitemapStore(crawl.database, options)
        self._nested = _nested(self.store)
        """By host, the sitemaps that indexes within indexes have named."""
        self.count_left()
        crawl.checkpoints.add(self.store)
        crawl.news.on_moved.append(self.store.reload)

    def key(self, url: Url) -> bytes:
        return self.crawl.keys.fingerprints.url(self.crawl.keys.canonicalizer.canonical(url))

    def add(
        self, url: Url, kind: SitemapKind, how: How = How.HAND, *, parent: str = "", vouchers: Iterable[str] = ()
    ) -> bool:
        """Remember an address and queue it; False if it is known."""
        record = self.remember(url, kind, how, parent=parent, vouchers=vouchers)
        if record is None:
            return False
        self.queue(self.key(url), record)
        return True

    def remember(
        self, url: Url, kind: SitemapKind, how: How, *, parent: str = "", vouchers: Iterable[str] = ()
    ) -> SitemapRecord | None:
        """Add a record. Returns None if there is one already, to which the `vouchers` are added."""
        key = self.key(url)
        known = self.store.get(key)
        if known is not None:
            if fresh := sorted(set(vouchers).difference(known.vouchers)):
                known.vouchers += fresh
                self.store.put(key, known)
            return None
        if self.store.count(url.host) >= MAX_PER_HOST:
            self.crawl.stats.inc_value("sitemaps/too_many")
            return None
        record = SitemapRecord(url.href, url.host, kind, how, parent, sorted(set(vouchers)), time.time())
        self.store.put(key, record)
        if not self.crawl.peers.has(url.host):
            self.store.first_visits.passed_on(key)
        self.crawl.stats.inc_value(
            f"sitemaps/found/{how.value}" if kind == SitemapKind.SITEMAP else "sitemaps/sources"
        )
        return record

    def may_name(self, source: SitemapRecord, host: str) -> bool:
        """Whether `source` may add one more sitemap on `host`; if there is no room yet, count it in `left`."""
        is_nested = source.how == How.INDEX
        if is_nested and (self._nesting(source) >= _MAX_NESTING or self._nested[host] >= MAX_NESTED):
            self.crawl.stats.inc_value("sitemaps/nested")
            return False
        if not self.store.first_visits.room(_payer(source, host), time.time(), source):
            source.left += 1
            return False
        self._nested[host] += is_nested
        return True

    def room(self, source: SitemapRecord) -> int:
        """How many sitemaps may be remembered that `source` names."""
        return self.store.first_visits.room(source.site, time.time(), source)

    def priority(self, record: SitemapRecord) -> int:
        """Priority of a sitemap's request: last where the site's sitemaps bring nothing, unless a person names it."""
        return _LAST if record.how != How.HAND and self.store.first_visits.owes(record.site) else _PRIORITY

    def resume(self, record: SitemapRecord) -> None:
        """Ask again for what names more sitemaps of the site of `record`, if there is room for them now."""
        for key in self.store.first_visits.resumable(record.site, time.time()):
            source = self.store[key]
            if self.queue(key, source):
                source.left = 0
                self.store.put(key, source)
                self.store.first_visits.resumed(key, source)
                return

    def count_left(self) -> None:
        """Set the statistic of sitemaps left out."""
        left = self.store.first_visits.left
        if left or self.crawl.stats.get_value(_LEFT_OUT):
            self.crawl.stats.set_value(_LEFT_OUT, left)

    def _nesting(self, record: SitemapRecord) -> int:
        """How many indexes are above a sitemap's entries, its own included, up to `_MAX_NESTING`."""
        nesting, above = 1, record
        while above.how == How.INDEX and nesting < _MAX_NESTING:
            known = self.store.get(self.key(parse(above.parent))) if above.parent else None
            if known is None:
                break
            nesting, above = nesting + 1, known
        return nesting

    def take_over(self, response: Response) -> None:
        """Remember a sitemap that another worker found, if its request carries a record."""
        told = response.meta.get(SITEMAP)
        if told is None:
            return
        kind, how, parent, vouchers = told
        url = parse_or_none(response.request.url if response.request is not None else response.url)
        if url is not None:
            self.remember(url, SitemapKind(kind), How(how), parent=parent, vouchers=vouchers)

    def queue(self, key: bytes, record: SitemapRecord) -> bool:
        """Queue a conditional request for a sitemap; False if one is under way."""
        meta: dict[str, object] = {}
        if record.kind == SitemapKind.ROBOTS:  # no robots.txt forbids itself (RFC 9309, section 2.2.2)
            meta["dont_obey_robotstxt"] = True
        if record.is_guess:
            meta[GUESS] = True
        if Capability.RECORDS not in self.crawl.frontier.can:  # another worker may get the answer
            meta[SITEMAP] = [record.kind.value, record.how.value, record.parent, record.vouchers]
        request = pack_conditional(record.etag, record.modified, **({"meta": meta} if meta else {}))
        frontier, priority = self.crawl.frontier, self.priority(record)
        if frontier.again(key, priority=priority, request=request):
            return True
        link = Link(record.url, record.host, priority=priority, key=key)
        asked = Asked(request=request, brings_credit=record.kind == SitemapKind.SITEMAP)
        return bool(frontier.add([link], depth=_DEPTH, asked=asked))


def _payer(source: SitemapRecord, host: str) -> str:
    """The site whose budget pays for a sitemap on `host` that `source` names."""
    return site_of(host) if source.kind == SitemapKind.SITEMAP and not source.vouchers else source.site


def _nested(store: SitemapStore) -> Counter[str]:
    known = {record.url: record for _, record in store.items()}
    above = ((record, known.get(record.parent)) for record in known.values() if record.how == How.INDEX)
    return Counter(record.host for record, index in above if index is not None and index.how == How.INDEX)
