"""Links and seeds on their way into the frontier, and their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from scrapy import FormRequest, Request
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.limits import REQUISITES
from sitecrawl.cluster.seedqueue import fields_of
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawl.requests import ALLOWANCE, pack
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SEED_HOST
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.base import Peers
from sitecrawl.frontier.contract import Asked, Frontier
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.order import FIRST
from sitecrawl.frontier.urls.record import Flag
from sitecrawl.page.items import Link
from sitecrawl.page.requisites import HOLDERS
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import CRAWLED, Canonicalizer, Schemes, Url, parse

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


class SeedHosts(Participant):
    """Names of the hosts of seeds, without ports, which may have private addresses.

    They are needed only for a connection to an address that is not public, so they are in the database and not in
    memory: a crawl may have a million seeds.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._new: set[str] = set()

    def add(self, host: str) -> None:
        """Allow the host name in `host`, which may have a port (`sitecrawl.urls.url.Url.host`)."""
        self._new.add(_name(host))

    def __contains__(self, host: str) -> bool:
        name = _name(host)
        return name in self._new or self._database.get("meta", SEED_HOST + name.encode()) is not None

    def prepare(self, batch: Batch) -> None:
        for name in self._new:
            batch.put("meta", SEED_HOST + name.encode(), b"")

    def committed(self) -> None:
        self._new.clear()


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


_LED_TO: Final = "led-to"
"""Word, between workers, before a seed that a redirect led to and no person named."""
_OF_REQUEST: Final = frozenset({"url", "method", "meta", "headers", "body"})
"""Keys of a pushed seed; all others are form data."""


class Seeding:
    """Seeds, from the start and while the crawl runs, here and of other workers."""

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        keys: UrlKeys,
        hosts: SeedHosts,
        *,
        scope: Scope | None,
        schemes: Schemes,
        peers: Peers,
        news: FrontierListener,
    ) -> None:
        self._crawler = crawler
        self._frontier = frontier
        self._keys = keys
        self._hosts = hosts
        self._scope = scope
        self._schemes = schemes
        self._peers = peers
        news.on_seed.append(self._pushed)
        news.on_word[_LED_TO] = lambda url: self.widen(parse(url, schemes=CRAWLED), named=False)
        news.on_word[""] = lambda url: self.widen(parse(url, schemes=CRAWLED), named=True)

    def seed(self, seeds: Iterable[Url], *, priority: int = 0) -> int:
        """Give the seeds to the frontier; returns the number of new ones. `priority`: as of a request."""
        key_of = self._keys.fingerprint
        found = [Link(url.href, url.host, priority=priority, key=key_of(url.href)) for url in seeds]
        for link in found:
            self._hosts.add(link.host)
        return self._frontier.add(found, depth=0)

    def widen(self, seed: Url, *, named: bool) -> None:
        """Widen the spider's scope, if it has one, by another seed, here and on other workers.

        `named`: by a person, so that its host may have a private address. Pages must not cause that.
        """
        if named:
            self._hosts.add(seed.host)
        if self._scope is not None:
            self._scope.add_seed(seed, led_to=not named)
        self._peers.tell(seed.href if named else f"{_LED_TO} {seed.href}")

    def _pushed(self, text: str) -> bool:
        """Take a seed that was pushed on Redis; False for what is none."""
        fields = fields_of(text)
        try:
            url = parse(fields.get("url", ""), schemes=self._schemes)
            request = None if fields.keys() <= {"url"} else _pushed_request(url.href, fields)
            self.widen(url, named=True)
            if request is None:
                self.seed([url])
            else:
                assert self._crawler.engine
                self._crawler.engine.crawl(request)
        except (InvalidUrl, TypeError, ValueError):
            return False
        return True


def _pushed_request(url: str, fields: Mapping[str, Any]) -> Request:
    """Request of a pushed seed, as scrapy-redis would make it: keys that are no part of a request are form data. Also
    takes `headers` and `body`. Raises `TypeError` or `ValueError`.
    """
    given = {name: fields[name] for name in ("method", "meta", "headers", "body") if fields.get(name) is not None}
    form = {name: value for name, value in fields.items() if name not in _OF_REQUEST}
    if not form:
        return Request(url, **given)
    texts = {name: list(map(str, value)) if isinstance(value, list) else str(value) for name, value in form.items()}
    return FormRequest(url, formdata=texts, **{"method": "GET", **given})
