"""Seeds, from the start and while the crawl runs, here and of other workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scrapy import FormRequest, Request
from scrapy.crawler import Crawler

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.cluster.seedqueue import fields_of
from sitecrawl.crawl.found_urls import UrlKeys
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SEED_HOST
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.contract import Frontier
from sitecrawl.frontier.peers import Peers
from sitecrawl.frontier.scope import Scope
from sitecrawl.page.items import Link
from sitecrawl.urls.url import CRAWLED, Schemes, Url, parse


class SeedHosts(Participant):
    """A set of host names without ports. Participant of checkpoints."""

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
    """See the module."""

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
