"""The sitemaps that a crawl knows, and their way into its frontier."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from scrapy.http import Response

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.crawl.requests import GUESS, SITEMAP, pack_conditional
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.record import Flag
from sitecrawl.page.items import Link
from sitecrawl.sitemap.locations import How
from sitecrawl.sitemap.record import Kind, SitemapRecord
from sitecrawl.sitemap.schedule import ScheduleOptions
from sitecrawl.sitemap.store import SitemapStore
from sitecrawl.urls.url import Url, parse

MAX_PER_HOST: Final = 50_000
"""Sitemaps of one host that are remembered."""
MAX_NESTING: Final = 3
"""An index with so many above it, itself included, names nothing more. The protocol allows one; some have two."""
MAX_NESTED: Final = 1_000
"""Sitemaps of one host that indexes within indexes name, in a run: else 1,000 may name 1,000 each, for ever."""
_PRIORITY: Final = 1000
"""Sitemaps go before pages: what they list may be newer than anything that waits."""
_DEPTH: Final = 1
"""Of sitemaps that no other one names. Not 0: where a seed redirects to is in scope."""


class Registry:
    """See the module. `admits` says which links belong to the crawl."""

    def __init__(self, runtime: Runtime, options: ScheduleOptions, admits: Callable[[Link], bool]) -> None:
        self.runtime = runtime
        self.options = options
        self.admits = admits
        self.store = SitemapStore(runtime.database, options)
        self._nested: Counter[str] = Counter()
        """By host, the sitemaps that indexes within indexes have named."""
        runtime.checkpoints.add(self.store)
        runtime.on_moved.append(self.store.reload)

    def key(self, url: Url) -> bytes:
        return self.runtime.fingerprints.url(self.runtime.canonicalizer.canonical(url))

    def add(
        self, url: Url, kind: Kind, how: How = How.HAND, *, parent: str = "", vouchers: Iterable[str] = ()
    ) -> bool:
        """Remember an address and queue it; False if it is known."""
        record = self.remember(url, kind, how, parent=parent, vouchers=vouchers)
        if record is None:
            return False
        self.queue(self.key(url), record)
        return True

    def remember(
        self, url: Url, kind: Kind, how: How, *, parent: str = "", vouchers: Iterable[str] = ()
    ) -> SitemapRecord | None:
        """A new record; None if there is one, which learns of the `vouchers`."""
        key = self.key(url)
        known = self.store.get(key)
        if known is not None:
            if fresh := sorted(set(vouchers).difference(known.vouchers)):
                known.vouchers += fresh
                self.store.put(key, known)
            return None
        if self.store.count(url.host) >= MAX_PER_HOST:
            self.runtime.stats.inc_value("sitemaps/too_many")
            return None
        record = SitemapRecord(url.href, url.host, kind, how, parent, sorted(set(vouchers)), time.time())
        self.store.put(key, record)
        self.runtime.stats.inc_value(f"sitemaps/found/{how.value}" if kind == Kind.SITEMAP else "sitemaps/sources")
        return record

    def may_name(self, index: SitemapRecord, host: str) -> bool:
        """Whether one more sitemap, on `host`, may be remembered that `index` names."""
        if index.how != How.INDEX:
            return True
        if self._nesting(index) >= MAX_NESTING or self._nested[host] >= MAX_NESTED:
            self.runtime.stats.inc_value("sitemaps/nested")
            return False
        self._nested[host] += 1
        return True

    def _nesting(self, record: SitemapRecord) -> int:
        """How many indexes are above a sitemap's entries, its own included, up to `MAX_NESTING`."""
        nesting, above = 1, record
        while above.how == How.INDEX and nesting < MAX_NESTING:
            known = self.store.get(self.key(parse(above.parent))) if above.parent else None
            if known is None:
                break
            nesting, above = nesting + 1, known
        return nesting

    def take_over(self, response: Response) -> None:
        """Remember a sitemap that another worker has found, by what its request says of it, if it does."""
        told = response.meta.get(SITEMAP)
        if told is None:
            return
        kind, how, parent, vouchers = told
        try:
            url = parse(response.request.url if response.request is not None else response.url)
        except InvalidUrl:
            return
        self.remember(url, Kind(kind), How(how), parent=parent, vouchers=vouchers)

    def queue(self, key: bytes, record: SitemapRecord) -> None:
        """Ask for a sitemap, on condition that it has changed since the last time."""
        meta: dict[str, object] = {}
        if record.kind == Kind.ROBOTS:  # no robots.txt forbids itself (RFC 9309, section 2.2.2)
            meta["dont_obey_robotstxt"] = True
        if record.is_guess:
            meta[GUESS] = True
        if Capability.RECORDS not in self.runtime.frontier.can:  # another worker may get the answer
            meta[SITEMAP] = [record.kind.value, record.how.value, record.parent, record.vouchers]
        request = pack_conditional(record.etag, record.modified, **({"meta": meta} if meta else {}))
        frontier = self.runtime.frontier
        if not frontier.again(key, priority=_PRIORITY, request=request):
            frontier.add_request(
                Link(record.url, record.host, key=key),
                depth=_DEPTH,
                priority=_PRIORITY,
                flags=Flag.NONE,
                request=request,
                brings_credit=record.kind == Kind.SITEMAP,
            )
