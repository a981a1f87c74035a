"""Looks after the sitemaps of a crawl: visits them when they are due, learns from what they bring.

Everything that is asked for is a URL of the frontier like any other: polite to its host, stored, retried. What comes
back is told from a page by its key alone, which is that of a record in the store: so a sitemap that was found as a
link of some page is read as a sitemap, too, and a crash loses nothing, for the store is part of each checkpoint.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable

from scrapy.http import Response

from sitecrawl.crawl.runtime import Fetch, Runtime
from sitecrawl.crawl.sitemaps.arrival import Arrival
from sitecrawl.crawl.sitemaps.discovery import Discovery
from sitecrawl.crawl.sitemaps.harvest import Harvester
from sitecrawl.crawl.sitemaps.redirects import Redirects
from sitecrawl.crawl.sitemaps.registry import Registry
from sitecrawl.crawl.turns import Stopping, Turns
from sitecrawl.page.links import Link
from sitecrawl.sitemap import schedule
from sitecrawl.sitemap.entry import Limits
from sitecrawl.sitemap.locations import How
from sitecrawl.sitemap.record import Kind, SitemapRecord, SitemapState
from sitecrawl.sitemap.schedule import ScheduleOptions
from sitecrawl.urls.url import Url, parse


class Gatherer:
    """See the module. `admits` says which links belong to the crawl."""

    def __init__(
        self, runtime: Runtime, options: ScheduleOptions, admits: Callable[[Link], bool], limits: Limits
    ) -> None:
        self._runtime = runtime
        self._stats = runtime.stats
        self._registry = Registry(runtime, options)
        self.store = self._registry.store
        self._discovery = Discovery(runtime, self._registry, admits)
        self._redirects = Redirects(runtime, self._registry, self._discovery)
        self._harvester = Harvester(runtime, self._registry, admits, limits, Turns(runtime.crawler))
        self._answered: set[bytes] = set()
        """Sitemaps whose visit is not over, though its answer has been dealt with."""
        runtime.on_finish.append(self._finished)
        runtime.frontier.on_give_up.append(self._given_up)

    # What is looked for

    def discover(self, sites: Iterable[Url]) -> None:
        """Look for sitemaps on the hosts of `sites`."""
        self._discovery.search(sites)

    def add(self, urls: Iterable[Url]) -> None:
        """Visit the sitemaps, feeds or hub pages that a person names; what is known already, too."""
        for url in urls:
            self._runtime.seed_hosts.add(url.host)
            key = self._registry.key(url)
            record = self._registry.remember(url, Kind.SITEMAP, How.HAND) or self.store.get(key)
            if record is not None and record.kind == Kind.SITEMAP:
                record.how, record.next_visit = How.HAND, time.time()
                self.store.put(key, record)

    def tick(self) -> int:
        """Queue the sitemaps whose time has come; gives how many."""
        due = list(self.store.due(time.time()))
        for key in due:
            record = self.store.get(key)
            assert record is not None
            self._registry.queue(key, record)
        return len(due)

    # What comes back

    def expects(self, response: Response) -> bool:
        """Whether it is the answer to a sitemap's request."""
        return self._expected(response) is not None

    def _expected(self, response: Response) -> tuple[Fetch, SitemapRecord] | None:
        fetch = self._runtime.fetch_of(response.request) if response.request is not None else None
        if fetch is None:
            return None
        known = self.store.get(fetch.visit.key) or self._registry.told_by(response)
        record = known or self._redirects.arrived(fetch.visit.key, response)
        return None if record is None else (fetch, record)

    async def receive(self, response: Response) -> bool:
        """Deal with the answer to a sitemap's request; False if it is, or is also, a page of the crawl."""
        expected = self._expected(response)
        if expected is None:
            return False
        fetch, record = expected
        arrival = Arrival.of(record, fetch, response)
        self._answered.add(arrival.key)
        record.status, record.final = response.status, response.url
        try:
            await self._read(arrival)
        except Stopping:
            fetch.interrupted = True
            self._answered.discard(arrival.key)
            return True
        is_page = arrival.is_page and not record.is_guess
        fetch.good = None if is_page else True  # what is no page says nothing of the pages of its section
        return not is_page

    async def _read(self, arrival: Arrival) -> None:
        """Raises `Stopping`."""
        if arrival.record.kind != Kind.SITEMAP:
            self._discovery.read(arrival)
            return
        try:
            is_read = await self._read_sitemap(arrival)
        except Stopping:
            raise
        except Exception:
            self._fail(arrival.key, arrival.record, arrival.now, arrival.seconds)
            raise
        if is_read:
            self._discovery.over(arrival.key, arrival.record, arrival.now)
        else:
            self._fail(arrival.key, arrival.record, arrival.now, arrival.seconds)

    async def _read_sitemap(self, arrival: Arrival) -> bool:
        """Whether it brought a sitemap, or the word that that has not changed. Raises `Stopping`."""
        record, response = arrival.record, arrival.response
        before = record.visited
        digest = hashlib.blake2b(response.body, digest_size=16).digest()
        is_same = response.status == 200 and digest == record.digest
        if record.successes and (is_same or response.status == 304):
            self._stats.inc_value("sitemaps/unchanged")
            schedule.visited(record, arrival.now, new=0, seconds=arrival.seconds, unchanged=True)
        elif response.status == 200 and (new := await self._harvester.harvest(arrival)) is not None:
            record.digest = digest
            record.etag, record.modified = arrival.header("ETag"), arrival.header("Last-Modified")
            schedule.visited(record, arrival.now, new=new, seconds=arrival.seconds)
        else:
            return False
        arrival.fetch.expanded = True
        self._judge_index(record, before)
        return True

    def _fail(self, key: bytes, record: SitemapRecord, now: float, seconds: float = 0.0) -> None:
        """A visit brought nothing: where a redirect had led to this, it may lead elsewhere now."""
        if record.kind == Kind.SITEMAP:
            self._stats.inc_value("sitemaps/failed")
        schedule.failed(record, now, seconds=seconds)
        self._discovery.over(key, record, now)
        if record.origin and record.successes:
            origin_key = self._registry.key(parse(record.origin))
            origin = self.store.get(origin_key)
            if origin is not None and origin.state == SitemapState.MOVED:
                origin.next_visit = record.next_visit
                self.store.put(origin_key, origin)

    def _judge_index(self, record: SitemapRecord, before: float) -> None:
        """Was its index right in what it says of the sitemap's last change?"""
        if record.how != How.INDEX or not record.lastmod or not before:
            return
        key = self._registry.key(parse(record.parent))
        index, has_news = self.store.get(key), record.news[-1][1] > 0
        if index is not None and (has_news or record.lastmod > before):
            schedule.learn(index, came_true=has_news and record.lastmod > before)
            self.store.put(key, index)

    # What becomes of it

    def _finished(self, fetch: Fetch, good: bool) -> None:  # noqa: FBT001 - the runtime calls it
        visit = fetch.visit
        if visit.key in self.store:
            self._end_visit(visit.key, fetch)
        elif (sitemap := self._harvester.claims.pop(visit.key, None)) is not None:
            record = self.store.get(sitemap)
            if record is not None and fetch.changed is not None:
                schedule.learn(record, came_true=fetch.changed)
                self.store.put(sitemap, record)
        elif not visit.again and (record := self.store.get(visit.referrer)) is not None:
            record.judged += 1
            record.good += good
            self.store.put(visit.referrer, record)

    def _end_visit(self, key: bytes, fetch: Fetch) -> None:
        """An answer that no spider has seen was none: a failure, a rule of robots.txt, or a redirect."""
        if key in self._answered:
            self._answered.discard(key)
            return
        record = self.store.get(key)
        assert record is not None
        was_status, record.status = record.status, fetch.status
        if fetch.status == 200 != was_status and not record.visits:  # it was under way as a page when it was found
            self._registry.queue(key, record)
        elif fetch.is_redirect and self._redirects.ended(key, record, fetch):
            self._discovery.over(key, record, time.time())
        elif record.state != SitemapState.MOVED:
            self._fail(key, record, time.time())

    def _given_up(self, key: bytes) -> None:
        """The frontier has given a URL up, without asking for it."""
        record = self.store.get(key)
        if record is not None:
            self._fail(key, record, time.time())
