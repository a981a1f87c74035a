"""Sitemaps that redirect are known by where they are.

Scrapy follows a redirect by a request of its own, if its target is in scope and not known yet. So there are two ways
to learn of one: the answer to that request comes (`arrived`), or the visit ends with a redirect (`ended`): to a URL
that was known before, or to another host, to which a site may well move its sitemaps.
"""

from __future__ import annotations

from typing import Final

from scrapy.http import Response

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.sitemap_discovery import Discovery
from sitecrawl.crawl.sitemap_registry import Registry
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import NEVER, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.directives import redirect_target
from sitecrawl.urls.url import Url, parse

_MAX_HOPS: Final = 5
"""Redirects, one after the other, that are followed; as of a robots.txt (RFC 9309 §2.3.1.2)."""


class Redirects:
    """See the module."""

    def __init__(self, registry: Registry, discovery: Discovery) -> None:
        self._registry = registry
        self._store = registry.store
        self._discovery = discovery

    def source(self, key: bytes, response: Response) -> bytes | None:
        """Key of the sitemap that redirected to `response` (whose own is `key`); None if there is none."""
        before = next(iter(response.meta.get("redirect_urls", ())), None)
        if before is None:
            return None
        try:
            old_key, new_key = self._registry.key(parse(before)), self._registry.key(parse(response.url))
        except InvalidUrl:
            return None
        return old_key if old_key in self._store and new_key == key else None

    def arrived(self, key: bytes, response: Response) -> None:
        """Move the sitemap that redirected to `response`, if one did, to that address."""
        old_key = self.source(key, response)
        if old_key is not None:
            self._move(old_key, self._store[old_key], parse(response.url), robots_fetched=True)

    def ended(self, key: bytes, record: SitemapRecord, fetch: Fetch) -> bool:
        """Handle a visit that ended with a redirect; False if its target cannot be followed."""
        target = _target(record.url, fetch)
        if target is None or record.hops >= _MAX_HOPS:
            return False
        new_key = self._registry.key(target)
        known = self._registry.crawl.frontier.urls.get(new_key)
        found = self._store.get(new_key)
        if found is None and known is None and (record.kind != SitemapKind.SITEMAP or record.how == How.USUAL):
            return False  # out of scope
        if new_key == key or (found is not None and found.kind != record.kind):
            return False
        self._move(key, record, target, robots_fetched=known is not None and known.state != UrlState.QUEUED)
        found = self._store.get(new_key)
        if (
            found is not None
            and found.state == SitemapState.OPEN
            and (known is None or known.state != UrlState.QUEUED)
        ):
            self._registry.queue(new_key, found)
        return True

    def _move(self, old_key: bytes, old: SitemapRecord, url: Url, *, robots_fetched: bool) -> None:
        """`old` is at `url`: its host has said so, and vouches for that. `robots_fetched`: as in `search`."""
        old.state, old.next_visit = SitemapState.MOVED, NEVER
        self._store.put(old_key, old)
        if old.kind == SitemapKind.FRONT and url.host != old.host:
            self._discovery.search([url], robots_fetched=robots_fetched)
        vouchers = {*old.vouchers, old.host} if old.kind == SitemapKind.SITEMAP else old.vouchers
        found = self._registry.remember(url, old.kind, old.how, parent=old.parent or old.url, vouchers=vouchers)
        if found is not None:
            found.origin, found.hops = old.url, old.hops + 1
            self._store.put(self._registry.key(url), found)


def _target(base: str, fetch: Fetch) -> Url | None:
    return redirect_target(fetch.exchange.headers, base) if fetch.exchange is not None else None
