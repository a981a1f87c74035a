"""Finds the sitemaps of hosts: robots.txt and front page first, then what these name, then the usual addresses.

All of them are candidates, with a record each, and what they bring says how often each is visited again. The usual
addresses are asked for one at a time; which is next can be told from the records. Where a sitemap has been found, a
host is asked for `GUESSES` of them in 24 hours, the next when a visit on it ends; and for no more than that where it
answers every address as one that cannot exist. A robots.txt is not asked for where the crawl asks every host for it:
what came is used.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scrapy.http import Response
from scrapy.utils.datatypes import LocalCache

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.sitemap_registry import Registry, SitemapResponse
from sitecrawl.crawl.sitemaps.locations import GUESSES, How, in_robots, on_page, usual
from sitecrawl.crawl.sitemaps.record import DAY, NEVER, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.directives import redirect_target
from sitecrawl.page.items import Link
from sitecrawl.urls.url import WEB, Url, parse, parse_or_none

_MAX_ROBOTS: Final = 1000
"""Most hosts, not yet searched, whose robots.txt is remembered in case a front page leads there."""
_MAX_NAMED: Final = 100
"""Most sitemaps remembered of such a robots.txt; one that names more is fetched again."""


@dataclass(frozen=True, slots=True)
class _Robots:
    """Answer of a host to the request for its robots.txt."""

    status: int
    """0 without an answer."""
    url: str = ""
    """URL of the answer, after redirects."""
    named: tuple[Url, ...] = ()
    seconds: float = 0.0

    @classmethod
    def of(cls, response: Response | None) -> _Robots:
        if response is None:
            return cls(0)
        is_success = 200 <= response.status < 300
        named = tuple(in_robots(response.body, response.url)) if is_success else ()
        return cls(response.status, response.url, named, response.meta.get("download_latency", 0.0))


class Discovery:
    """See the module."""

    def __init__(self, registry: Registry) -> None:
        self._requests = registry.crawl.robots
        self._stats = registry.crawl.stats
        self._registry = registry
        self._store = registry.store
        self._robots: LocalCache[bytes, _Robots] = LocalCache(_MAX_ROBOTS)
        """robots.txt answers of hosts that were not searched for sitemaps, by host."""
        self._requests.on_answer.append(self._robots_fetched)

    def search(self, sites: Iterable[Url], *, robots_fetched: bool = False) -> None:
        """Look for sitemaps on the hosts of `sites`; `robots_fetched`: the crawl has asked for their robots.txt."""
        for site in sites:
            if site.scheme not in WEB:
                continue
            root = parse(f"{site.origin}/")
            self._search_robots(parse(root.href + "robots.txt"), robots_fetched=robots_fetched)
            self._registry.add(root, SitemapKind.FRONT)

    def _search_robots(self, url: Url, *, robots_fetched: bool) -> None:
        record = self._registry.remember(url, SitemapKind.ROBOTS, How.HAND)
        if record is None:
            return
        key = self._registry.key(url)
        if (robots := self._robots.pop(key, None)) is not None:
            self._read_robots(key, record, robots)
        elif robots_fetched or not self._requests.are_made:
            self._registry.queue(key, record)

    def _robots_fetched(self, url: str, response: Response | None) -> None:
        """Hook: the crawl fetched the robots.txt at `url`."""
        address = parse_or_none(url)
        if address is None:
            return
        key = self._registry.key(address)
        robots, record = _Robots.of(response), self._store.get(key)
        if record is not None:
            self._read_robots(key, record, robots)
        elif len(robots.named) <= _MAX_NAMED:
            self._robots[key] = robots

    def _read_robots(self, key: bytes, record: SitemapRecord, robots: _Robots) -> None:
        """Remember the sitemaps that a robots.txt names."""
        now = time.time()
        record.status, record.final = robots.status, robots.url
        if 200 <= robots.status < 300:
            record.entries, record.left = len(robots.named), 0
            new = sum(self._add(record, url, How.ROBOTS) for url in robots.named)
            record.succeeded(now, new=new, seconds=robots.seconds)
        else:
            record.failed(now, seconds=robots.seconds)
        self.end_visit(key, record, now)

    def read(self, answer: SitemapResponse) -> None:
        """Take what robots.txt or a front page names, or what the host says of an address that cannot exist."""
        record, response = answer.record, answer.response
        if record.kind == SitemapKind.ROBOTS:
            self._read_robots(answer.key, record, _Robots.of(response))
            return
        if answer.is_success:
            record.succeeded(answer.now, new=self._read_page(answer), seconds=answer.seconds)
        else:
            record.failed(answer.now, seconds=answer.seconds)
        self.end_visit(answer.key, record, answer.now)

    def _read_page(self, answer: SitemapResponse) -> int:
        """Remember sitemaps that a front page links to. Returns how many were new."""
        record, response = answer.record, answer.response
        if record.kind == SitemapKind.MISSING:
            record.text_hash = answer.answer.text_hash
            return 0
        named = on_page(response.body, answer.head)
        record.entries, record.left = len(named), 0
        return sum(
            self._add(record, url, How.LINK) for url in named if self._registry.admits(Link(url.href, url.host))
        )

    def _add(self, record: SitemapRecord, url: Url, how: How) -> bool:
        if self._registry.key(url) not in self._store and not self._registry.may_name(record, url.host):
            return False
        return self._registry.add(url, SitemapKind.SITEMAP, how, parent=record.url, vouchers=[record.host])

    def end_visit(self, key: bytes, record: SitemapRecord, now: float) -> None:
        """End a visit: schedule the next one, and continue the search on its host."""
        self._stats.inc_value("sitemaps/visits")
        self._store.plan(key, now)
        if record.left:
            record.next_visit = min(record.next_visit, self._store.first_visits.room_from(record.site, now))
            self._store.put(key, record)
        self._registry.count_left()
        if record.how != How.INDEX:
            for host in dict.fromkeys([record.host, *record.vouchers]):
                self._guess_next(host)

    def _guess_next(self, host: str) -> None:
        """Ask for the next usual address, if nothing that the site names is under way, and it has room for one."""
        records = self._store.of_host(host)
        fronts = [record for record in records if record.kind == SitemapKind.FRONT]
        if not any(record.state != SitemapState.MOVED and _has_answered(record) for record in fronts):
            return
        speaking = self._store.speaking_for(host)
        if any(record.state == SitemapState.OPEN and record.how != How.INDEX for record in speaking):
            return
        front = fronts[0].url
        missing = next((record for record in records if record.kind == SitemapKind.MISSING), None)
        if missing is None:
            self._registry.add(parse(f"sitemap-{secrets.token_hex(8)}.html", front), SitemapKind.MISSING)
        elif len(_counted(speaking, missing, time.time())) < GUESSES:
            any(self._registry.add(url, SitemapKind.SITEMAP, How.USUAL, parent=front) for url in usual(parse(front)))


def _counted(speaking: Iterable[SitemapRecord], missing: SitemapRecord, now: float) -> list[SitemapRecord]:
    """Guessed addresses of a host that count against its limit."""
    sitemaps = [record for record in speaking if record.kind == SitemapKind.SITEMAP]
    guesses = [record for record in sitemaps if record.how == How.USUAL]
    if _is_there(missing) and all(record.state != SitemapState.VALID and _is_there(record) for record in guesses):
        return guesses
    found = any(record.state == SitemapState.VALID and not record.form.is_feed for record in sitemaps)
    return [record for record in guesses if record.found > now - DAY] if found else []


def _is_there(record: SitemapRecord) -> bool:
    """Whether the host answered as if there were something at the address."""
    return 0 < record.status < 400


def _has_answered(record: SitemapRecord) -> bool:
    """Whether the host answered, and without a redirect; otherwise no address is guessed."""
    return record.status != 0 and not 300 <= record.status < 400


_MAX_HOPS: Final = 5
"""Redirects, one after the other, that are followed; as of a robots.txt (RFC 9309 §2.3.1.2)."""


class Redirects:
    """Sitemaps that redirect are known by where they are.

    Scrapy follows a redirect by a request of its own, if its target is in scope and not known yet. So there are two
    ways to learn of one: the answer to that request comes (`arrived`), or the visit ends with a redirect (`ended`):
    to a URL that was known before, or to another host, to which a site may well move its sitemaps.
    """

    def __init__(self, registry: Registry, discovery: Discovery) -> None:
        self._registry = registry
        self._store = registry.store
        self._discovery = discovery

    def source(self, key: bytes, response: Response) -> bytes | None:
        """Key of the sitemap that redirected to `response` (whose own is `key`); None if there is none."""
        before = next(iter(response.meta.get("redirect_urls", ())), None)
        old, new = parse_or_none(before or ""), parse_or_none(response.url)
        if old is None or new is None or self._registry.key(new) != key:
            return None
        old_key = self._registry.key(old)
        return old_key if old_key in self._store else None

    def arrived(self, key: bytes, response: Response) -> None:
        """Move the sitemap that redirected to `response`, if one did, to that address."""
        old_key = self.source(key, response)
        if old_key is not None:
            self._move(old_key, self._store[old_key], parse(response.url), robots_fetched=True)

    def ended(self, key: bytes, record: SitemapRecord, fetch: Fetch) -> bool:
        """Handle a visit that ended with a redirect; False if its target cannot be followed."""
        target = redirect_target(fetch.exchange.headers, record.url) if fetch.exchange is not None else None
        if target is None or record.hops >= _MAX_HOPS:
            return False
        new_key = self._registry.key(target)
        known = self._registry.crawl.frontier.urls.get(new_key)
        found = self._store.get(new_key)
        if found is None and known is None and (record.kind != SitemapKind.SITEMAP or record.how == How.USUAL):
            return False  # out of scope
        if new_key == key or (found is not None and found.kind != record.kind):
            return False
        is_queued = known is not None and known.state == UrlState.QUEUED
        self._move(key, record, target, robots_fetched=known is not None and not is_queued)
        found = self._store.get(new_key)
        if found is not None and found.state == SitemapState.OPEN and not is_queued:
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
