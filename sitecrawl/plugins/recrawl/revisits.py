"""Continuous crawling (`recrawl=1`): fetch pages again when they are due."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.task import LoopingCall

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.cooperator import Cooperator, ended
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.privates import is_closing, wake
from sitecrawl.crawl.requests import CONDITIONS, pack_conditional
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.record import NOT_MODIFIED
from sitecrawl.plugins.recrawl.schedule import MOST_FAILURES, Visits
from sitecrawl.plugins.recrawl.store import RevisitStore
from sitecrawl.plugins.recrawl.versions import Version, Versions, askable, conditions_of, is_page, options

_TICK: Final = 1.0
"""Seconds between two checks of what is due."""
_MOST: Final = 500
"""Most pages queued at once."""


class Recrawling:
    """Plans visits of all fetched pages, queues those that are due, and keeps the crawl running.

    `is_other`: whether the URL with a key is fetched again by another part, such as a sitemap.
    """

    def __init__(self, crawler: Crawler, is_other: Callable[[bytes], bool]) -> None:
        self._crawler = crawler
        self._is_other = is_other
        self._is_adopted = True
        """Whether the pages of an ordinary crawl have been adopted."""
        self._under_way: dict[bytes, Version | None] = {}
        """Stored versions of adopted pages in flight."""
        self._pause = Cooperator(crawler).pause
        self._ticks: AsyncioLoopingCall | LoopingCall = create_looping_call(self._tick)

    def begin(self) -> None:
        """Start fetching pages again."""
        self._crawl = Crawl.of(self._crawler)
        crawl, chosen = self._crawl, options(self._crawler.settings)
        self._store = RevisitStore(crawl.database, chosen, lambda: crawl.peers.share)
        crawl.checkpoints.add(self._store)
        crawl.news.on_moved.append(self._store.reload)
        crawl.fetches.on_finish.append(self._finished)
        crawl.ours.local.link_credit.ledger.comes_back = True
        self._versions = Versions(crawl.directory.path)
        if not crawl.peers.are_there:  # workers have other URLs whenever sites come and go
            crawl.fetches.on_begin.append(self._begun)
            self._is_adopted = False
            deferred_from_coro(self._run())
        self._crawler.signals.connect(self._stay, signals.spider_idle)
        self._crawler.signals.connect(self._stop, signals.spider_closed)
        self._ticks.start(_TICK)

    async def _run(self) -> None:
        self._is_adopted = await ended(self._adopt(), self._crawl.checkpoints)

    async def _adopt(self) -> None:
        """Plan visits of the pages that an ordinary crawl has fetched."""
        async for key, record in askable(self._crawl, self._pause):
            known = self._store.get(key)
            if not record.has_page or self._is_other(key) or (known is not None and known.interval):
                continue
            if known is None:
                known = Visits(record.fetched)
            self._store.plan(key, known, self._importance(record), record.fetched)
            self._count("adopted")

    def _begun(self, fetch: Fetch) -> None:
        """Look up the stored version of an adopted page, of which the database knows nothing."""
        known = self._store.get(fetch.visit.key) if fetch.visit.again else None
        if known is not None and not known.digest:
            self._under_way[fetch.visit.key] = self._versions.ask(fetch.request)

    def receive(self, response: Response) -> bool:
        """Whether the response says that its page is unchanged and need not be read."""
        if response.status != NOT_MODIFIED:
            return False
        fetch = self._crawl.fetches.of(response.request)
        if fetch is not None:
            fetch.is_worth_it = True  # it is as it was
            if self._crawl.pages.store is not None:
                self._versions.pass_on(self._crawler, fetch, self._versions.of(fetch.request.url))
        return True

    # What is due

    def _tick(self) -> None:
        if is_closing(self._crawler):  # the files may be closed before it is over
            return
        frontier = self._crawl.frontier
        queued = 0
        for key, record in self._store.take(time.time(), _MOST):
            if frontier.urls.get(key) is None:
                self._store.drop(key)
            else:
                queued += frontier.again(key, request=pack_conditional(record.etag, record.modified))
        if queued:
            self._crawl.stats.inc_value("recrawl/due", queued)
            wake(self._crawler)

    def _stay(self) -> None:
        # Also while all of them wait for hosts that are down; and others may have some for this worker.
        if self._store.pages or self._crawl.peers.are_there or not self._is_adopted:
            raise DontCloseSpider

    def _stop(self) -> None:
        if self._ticks.running:
            self._ticks.stop()
            self._versions.close()

    # What came of it

    def _finished(self, fetch: Fetch) -> None:
        key = fetch.visit.key
        version = self._under_way.pop(key, None)
        if self._is_other(key):
            return
        known = self._store.get(key)
        record = self._crawl.frontier.urls.get(key)
        if record is None or (known is None and not _is_plain(fetch)):
            return
        if is_page(fetch.page):
            self._plan(key, record, self._after(known, fetch.page, version))
        elif known is not None and fetch.status == NOT_MODIFIED:
            self._count("not_modified")
            self._plan(key, record, known.after(time.time(), digest=None))
        elif known is not None:
            self._fail(key, record, known)

    def _after(self, known: Visits | None, page: PageItem, version: Version | None) -> Visits:
        """Return the updated visits of a page that came."""
        now, digest = time.time(), self._crawl.reading.text_digest(page)
        if known is None:
            after = Visits(now, digest=digest)
        else:
            if version is not None:
                known = replace(known, digest=self._versions.text(version, self._crawl.reading))
            after = known.after(now, digest=digest)
            self._count("unchanged" if digest == known.digest else "changed")
        validators = {} if page.exchange is None else conditions_of(page.exchange.headers)
        etag, modified = (validators.get(name, "") for name in CONDITIONS)
        return replace(after, etag=etag, modified=modified)

    def _fail(self, key: bytes, record: UrlRecord, known: Visits) -> None:
        """Note a failed visit: the page is visited less often, and finally no more."""
        self._count("failed")
        if known.failures + 1 >= MOST_FAILURES:
            self._store.drop(key)
        else:
            self._plan(key, record, replace(known, failures=known.failures + 1))

    def _plan(self, key: bytes, record: UrlRecord, after: Visits) -> None:
        self._store.plan(key, after, self._importance(record), time.time())

    def _importance(self, record: UrlRecord) -> float:
        """The page's share of all importance in this process, from 0 to 1."""
        return self._crawl.ours.local.link_credit.ledger.importance(record)

    def _count(self, what: str) -> None:
        self._crawl.stats.inc_value(f"recrawl/{what}")


def _is_plain(fetch: Fetch) -> bool:
    """Whether the URL alone is enough to fetch the page: no form and no request of the spider's own."""
    request = fetch.request
    return fetch.visit.request is None and request.method == "GET" and not request.dont_filter
