"""Links that are found, on their way into the frontier, and their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from scrapy.statscollectors import StatsCollector

from sitecrawl.base.limits import REQUISITES
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import ALLOWANCE, pack
from sitecrawl.frontier.contract import Asked, Frontier
from sitecrawl.frontier.urls.order import FIRST
from sitecrawl.frontier.urls.record import Flag
from sitecrawl.page.items import Link
from sitecrawl.page.requisites import HOLDERS
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer

_KEYS_KEPT = 16_384
"""Fingerprints cached in memory, about 0.3 kB each, because most links lead to the same few pages."""


class UrlKeys:
    """Fingerprints of URLs fetched by GET, in the form of this crawl."""

    def __init__(self, fingerprints: Fingerprinter) -> None:
        self.fingerprints = fingerprints
        self.canonicalizer = Canonicalizer()
        self.key_of: Callable[[str], bytes] = lru_cache(maxsize=_KEYS_KEPT)(self.fingerprint)

    def fingerprint(self, href: str) -> bytes:
        """As `key_of`, without its cache."""
        return self.fingerprints.url(self.canonicalizer.canonical_href(href))


class FoundUrls:
    """Links on their way into the frontier. `max_requisites`: the allowance of a page."""

    def __init__(self, frontier: Frontier, keys: UrlKeys, stats: StatsCollector, *, max_requisites: int) -> None:
        self._frontier = frontier
        self._stats = stats
        self._max_requisites = max_requisites
        self._key_of = keys.key_of

    def expand(
        self,
        fetch: Fetch,
        links: Sequence[Link],
        *,
        nofollow: bool = False,
        score: Callable[[Link], float] | None = None,
        rest: int = 0,
    ) -> int:
        """Give a page's links to the frontier in one batch; returns the number of new ones.

        `nofollow`: the page declares it. `score`: the spider's, for the order `best`. `rest`: number of links of the
        page in later batches.
        """
        key_of = self._key_of
        for link in links:
            link.key = key_of(link.url)
        if nofollow:
            for link in links:
                link.nofollow = True
        if score is not None:
            for link in links:
                link.score = score(link)
        return self._frontier.expand(fetch.visit, links, rest=rest)

    def require(self, page: bytes, found: Sequence[Link], *, depth: int, allowance: int | None = None) -> None:
        """Give `found`, the requisites of the page, style sheet or frame with the key `page`, to the frontier.

        At most `allowance` of them, nested ones included: what is left after its own is shared out among those that
        may have requisites themselves. So a page costs no more than its allowance, however they nest.
        """
        if not found:
            return
        allowance = self._max_requisites if allowance is None else allowance
        wanted = found[:allowance]
        holders = [link for link in wanted if link.kind in HOLDERS]
        left = (allowance - len(wanted)) // len(holders) if holders else 0
        request = pack({"meta": {ALLOWANCE: left}, "priority": FIRST}) if left else None
        new = self._add_parts(page, [link for link in wanted if link.kind not in HOLDERS], depth, None)
        new += self._add_parts(page, holders, depth, request)
        self._stats.inc_value("requisites/found", len(found))
        self._stats.inc_value("requisites/new", new)
        if len(wanted) < len(found) or (holders and not left):
            self._stats.inc_value(REQUISITES.stat)

    def _add_parts(self, page: bytes, parts: Sequence[Link], depth: int, request: bytes | None) -> int:
        for part in parts:
            part.key = self._key_of(part.url)
        asked = Asked(Flag.REQUISITE, request)
        return self._frontier.add(parts, depth=depth, referrer=page, asked=asked) if parts else 0

    def rediscover(self, url: str, links: Sequence[Link], *, depth: int) -> int:
        """Give the links of the stored page `url` to the frontier; returns the number of new ones."""
        for link in links:
            link.key = self._key_of(link.url)
        return self._frontier.add(links, depth=depth, referrer=self._key_of(url))
