"""Visit the sitemaps of a crawl when they are due, and learn from what they bring.

Sitemaps are URLs of the frontier like others: politeness, storage and retries are the same. A response is a sitemap
if the store has a record with its key, also if a page links to it. The store is part of each checkpoint.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import create_looping_call

from sitecrawl.base import declared
from sitecrawl.base.limits import SITEMAP_ENTRIES, SITEMAP_SIZE
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.cooperator import Cooperator, Stopping
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.privates import is_closing, wake
from sitecrawl.crawl.requests import SITEMAP
from sitecrawl.crawl.sitemap_discovery import Discovery, Redirects
from sitecrawl.crawl.sitemap_registry import Registry, SitemapResponse
from sitecrawl.crawl.sitemap_visit import SitemapVisit
from sitecrawl.crawl.sitemaps.entry import Limits
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import ScheduleOptions, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.page.items import Link
from sitecrawl.urls.url import Url, parse

_TICK: Final = 1.0
"""Seconds between two looks for sitemaps that are due."""


class Sitemaps:
    """See the module. `admits`: whether a link belongs to the crawl. `watch`: keep the crawl open for more visits."""

    def __init__(self, crawler: Crawler, admits: Callable[[Link], bool], *, watch: bool = False) -> None:
        self._crawler = crawler
        self._crawl = crawl = Crawl.of(crawler)
        options = ScheduleOptions(budget=declared.SITEMAP_BUDGET.read(crawler.settings))
        self._registry = Registry(crawl, options, admits)
        self.store = self._registry.store
        self._discovery = Discovery(self._registry)
        self._redirects = Redirects(self._registry, self._discovery)
        self._limits = Limits(SITEMAP_SIZE.value, SITEMAP_ENTRIES.value)
        self._cooperator = Cooperator(crawler)
        self._refetched: dict[bytes, bytes] = {}
        """Pages under way because a sitemap says that they have changed → that sitemap."""
        self._answered: set[bytes] = set()
        """Sitemaps whose answer was read but whose visit has not ended."""
        crawl.fetches.on_finish.append(self._finished)
        crawl.news.on_given_up.append(self._given_up)
        self._ticks = create_looping_call(self.tick)
        crawler.signals.connect(self._stop, signals.spider_closed)
        if watch:
            crawler.signals.connect(self._stay, signals.spider_idle)

    # What is looked for

    def start(self, sites: Iterable[Url], named: Iterable[Url]) -> None:
        """Look for the sitemaps of `sites`, visit the `named` ones, and begin to visit all that are due."""
        self._discovery.search(sites)
        self.add(named)
        self._ticks.start(_TICK)

    def revisit(self, *, before: float) -> None:
        """Visit now all sitemaps last visited before a Unix time."""
        for key, record in [*self.store.items()]:
            if record.visited < before and record.is_watched:
                record.next_visit = min(record.next_visit, time.time())
                self.store.put(key, record)
        self.tick()

    def add(self, urls: Iterable[Url]) -> None:
        """Visit the sitemaps, feeds or hub pages that a person names, including known ones."""
        for url in urls:
            self._crawl.seed_hosts.add(url.host)
            key = self._registry.key(url)
            record = self._registry.remember(url, SitemapKind.SITEMAP, How.HAND) or self.store.get(key)
            if record is not None and record.kind == SitemapKind.SITEMAP:
                record.how, record.next_visit = How.HAND, time.time()
                self.store.put(key, record)

    def tick(self) -> None:
        """Queue the sitemaps whose time has come."""
        if is_closing(self._crawler):  # its files may be closed before its extensions hear of the end
            return
        due = list(self.store.due(time.time()))
        for key in due:
            self._registry.queue(key, self.store[key])
        if due:
            wake(self._crawler)

    def _stay(self) -> None:
        if not self._crawl.frontier.figures.is_full and self.store.is_watching():
            raise DontCloseSpider

    def _stop(self) -> None:
        if self._ticks.running:
            self._ticks.stop()

    # What comes back

    def parse(self, response: Response, parse_page: Callable[[Response], Iterable[Any]]) -> Any:
        """Callback: read the answer to a sitemap's request; call `parse_page` for a page, also if it is both."""
        return self._parse(response, parse_page) if self.expects(response) else parse_page(response)

    async def _parse(self, response: Response, parse_page: Callable[[Response], Iterable[Any]]) -> Iterable[Any]:
        return () if await self.receive(response) else parse_page(response)

    def expects(self, response: Response) -> bool:
        """Whether `response` answers a sitemap's request. No side effects."""
        fetch = self._crawl.fetches.of(response.request)
        return fetch is not None and (
            fetch.visit.key in self.store
            or SITEMAP in response.meta
            or self._redirects.source(fetch.visit.key, response) is not None
        )

    async def receive(self, response: Response) -> bool:
        """Read the answer to a sitemap's request; False if it is also, or only, a page of the crawl."""
        fetch = self._crawl.fetches.of(response.request)
        record = self._record_of(fetch, response) if fetch is not None else None
        if fetch is None or record is None:
            return False
        answer = SitemapResponse.of(record, fetch, response, self._crawl.reading)
        self._answered.add(answer.key)
        record.status, record.final = response.status, response.url
        try:
            await self._read(answer)
        except Stopping:
            fetch.interrupted = True
            self._answered.discard(answer.key)
            return True
        if not answer.is_page:  # it says nothing of the pages of its section
            fetch.is_worth_it = True
        return not answer.is_page

    def _record_of(self, fetch: Fetch, response: Response) -> SitemapRecord | None:
        """The record of the requested sitemap: a new one if another worker or a redirect led to it."""
        key = fetch.visit.key
        if key not in self.store:
            self._registry.take_over(response)
        if key not in self.store:
            self._redirects.arrived(key, response)
        return self.store.get(key)

    async def _read(self, answer: SitemapResponse) -> None:
        """Raises `Stopping`."""
        if answer.record.kind != SitemapKind.SITEMAP:
            self._discovery.read(answer)
            return
        try:
            is_read = await self._read_sitemap(answer)
        except Stopping:
            raise
        except Exception:
            self._fail(answer.key, answer.record, answer.now, answer.seconds)
            raise
        if not is_read:
            self._fail(answer.key, answer.record, answer.now, answer.seconds)

    async def _read_sitemap(self, answer: SitemapResponse) -> bool:
        """Whether the answer is a sitemap, or a 304 for one. Raises `Stopping`."""
        record, status = answer.record, answer.response.status
        digest = hashlib.blake2b(answer.response.body, digest_size=16).digest()
        unchanged = record.successes > 0 and (
            status == HTTPStatus.NOT_MODIFIED or (status == 200 and digest == record.digest)
        )
        new: int | None = None
        if unchanged:
            self._crawl.stats.inc_value("sitemaps/unchanged")
            new = 0
        elif status == 200:
            new = await SitemapVisit(self._registry, answer, self._limits, self._cooperator, self._refetched).run()
        if new is None:
            return False
        if not unchanged:
            record.digest = digest
            record.etag, record.modified = answer.header("ETag"), answer.header("Last-Modified")
            if record.left:  # the next visit is for what it says now
                record.digest, record.etag, record.modified = b"", "", ""
        before = record.visited
        record.succeeded(answer.now, new=new, seconds=answer.seconds, unchanged=unchanged)
        answer.fetch.links_are_known = True
        self._judge_index(record, before)
        self._discovery.end_visit(answer.key, record, answer.now)
        return True

    def _judge_index(self, record: SitemapRecord, before: float) -> None:
        """Record whether the index told the sitemap's last change correctly."""
        if record.how != How.INDEX or not record.lastmod or not before:
            return
        key = self._registry.key(parse(record.parent))
        index, has_news = self.store.get(key), record.news[-1][1] > 0
        if index is not None and (has_news or record.lastmod > before):
            index.learn(came_true=has_news and record.lastmod > before)
            self.store.put(key, index)

    # What becomes of it

    def _finished(self, fetch: Fetch) -> None:
        visit = fetch.visit
        if visit.key in self.store:
            self._end_visit(visit.key, fetch)
            self._registry.resume(self.store[visit.key])
        elif (sitemap := self._refetched.pop(visit.key, None)) is not None:
            record = self.store.get(sitemap)
            if record is not None and fetch.changed is not None:
                record.learn(came_true=fetch.changed)
                self.store.put(sitemap, record)
        elif not visit.again and (record := self.store.get(visit.referrer)) is not None:
            record.judged += 1
            record.good += fetch.is_good
            self.store.put(visit.referrer, record)

    def _end_visit(self, key: bytes, fetch: Fetch) -> None:
        """End a visit whose answer no spider got: a failure, a rule of robots.txt, or a redirect."""
        if key in self._answered:
            self._answered.discard(key)
            return
        record = self.store[key]
        was_status, record.status = record.status, fetch.status
        if fetch.status == 200 != was_status and not record.visits:  # it was under way as a page when it was found
            self._registry.queue(key, record)
        elif fetch.is_redirect and self._redirects.ended(key, record, fetch):
            self._discovery.end_visit(key, record, time.time())
        elif record.state != SitemapState.MOVED:
            self._fail(key, record, time.time())

    def _given_up(self, key: bytes) -> None:
        """Frontier hook: a URL was given up without a request."""
        record = self.store.get(key)
        if record is not None:
            self._fail(key, record, time.time())
            self._registry.resume(record)

    def _fail(self, key: bytes, record: SitemapRecord, now: float, seconds: float = 0.0) -> None:
        """End a visit without a sitemap; ask an address that redirected here again."""
        if record.kind == SitemapKind.SITEMAP:
            self._crawl.stats.inc_value("sitemaps/failed")
        record.failed(now, seconds=seconds)
        self._discovery.end_visit(key, record, now)
        if record.origin and record.successes:
            origin_key = self._registry.key(parse(record.origin))
            origin = self.store.get(origin_key)
            if origin is not None and origin.state == SitemapState.MOVED:
                origin.next_visit = record.next_visit
                self.store.put(origin_key, origin)
