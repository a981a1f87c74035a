"""Scrapy's downloader with pauses of single hosts, and where Scrapy goes a shorter way.

Its slots have the delay and the seats that Scrapy's settings give all hosts. The frontier, which knows better, has
decided by the time that a request comes here; so slots of hosts for which something else holds have that, too.

What comes beside the frontier's requests, on the way of a page, waits here for the pause after the one before, which
may be long. A crawl that is told to stop does not wait for it.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Final

from scrapy import Request, Spider, signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.crawler import Crawler
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from sitecrawl.base import descriptors
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl, RobotsRequests
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.download_errors import Interrupted
from sitecrawl.crawl.json_log import log_as_wanted
from sitecrawl.crawl.privates import Use, become, check, has, is_closing, tell
from sitecrawl.crawl.requests import host_of
from sitecrawl.extensions.lighter import hostname
from sitecrawl.frontier.urls.host_terms import TermsByHost

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot

_FEW: Final = 1_000
_LOOK_SECONDS: Final = 1.0
_NEVER: Final = -1e9
"""Last use of a new slot on the monotonic clock. That may begin at boot, so that Scrapy's 0 is recent: a crawl
with a delay of an hour would wait before its first request."""


class Downloader(ScrapyDownloader):
    """`DOWNLOADER`. CONCURRENT_REQUESTS is limited by the connections this process may have."""

    _robots: RobotsRequests | None = None
    """As `_terms`, None without our frontier."""
    _terms: TermsByHost | None = None

    def __init__(self, crawler: Crawler) -> None:
        log_as_wanted(crawler.settings)
        check()
        super().__init__(crawler)
        self.total_concurrency = min(self.total_concurrency, descriptors.for_connections())
        if has(Use.DOWNLOADS):
            self._shorten()
        crawler.signals.connect(self._begin, signals.engine_started)
        self._adjusted: set[str] = set()
        """Slots with other values than the settings."""
        self._looks: AsyncioLoopingCall | LoopingCall | None = None
        """Timer that runs while a request waits in a slot."""
        if has(Use.SLOTS) and has_our_scheduler(crawler.settings):
            crawl = Crawl.of(crawler)
            self._robots, self._terms = crawl.robots, crawl.terms
            self._said = configuration.politeness(crawler.settings)

    def needs_backout(self) -> bool:
        """Whether no request may begin. A robots.txt uses the seat of the page that waits for it; else hosts
        that hang would take seats that the frontier keeps for others.
        """
        robots = self._robots.under_way if self._robots is not None else 0
        if not robots or not has(Use.UNDER_WAY):
            return super().needs_backout()
        return 0 < self.total_concurrency <= len(self.active) - robots

    def _shorten(self) -> None:
        """Call middlewares and handlers on a shorter way."""
        from sitecrawl.extensions.shorter_downloads import Handlers, MiddlewareManager  # noqa: PLC0415 - see `privates`

        become(self.handlers, Handlers, Use.DOWNLOADS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)  # Scrapy's manager has just said the same
            self.middleware = MiddlewareManager(*self.middleware.middlewares, crawler=self.crawler)

    def _begin(self) -> None:
        tell()
        if has(Use.REQUESTS):
            from sitecrawl.extensions.shorter_way import shorten  # noqa: PLC0415 - see `privates`

            shorten(self.crawler.engine)

    async def _enqueue_request(self, request: Request) -> Response:
        """Start a request at once if its slot is free, without a deferred and a task for its turn."""
        if not has(Use.DOWNLOADS):
            return await super()._enqueue_request(request)
        key, slot = self._get_slot(request)
        if slot.delay or slot.queue or slot.latercall is not None or slot.free_transfer_slots() <= 0:
            return await super()._enqueue_request(request)
        request.meta[self.DOWNLOAD_SLOT] = key
        slot.active.add(request)
        self.signals.send_catch_log(signals.request_reached_downloader, request=request, spider=self.crawler.spider)
        slot.lastseen = time.monotonic()
        try:
            return await self._download(slot, request)
        finally:
            slot.active.remove(request)

    def get_slot_key(self, request: Request) -> str:
        key: str | None = request.meta.get(self.DOWNLOAD_SLOT)
        if key is not None:
            return key
        return super().get_slot_key(request) if self.ip_concurrency else hostname(request)

    def _get_slot(self, request: Request, spider: Spider | None = None) -> tuple[str, Slot]:
        if not has(Use.SLOTS):
            return super()._get_slot(request)
        key = self.get_slot_key(request)
        slot = self.slots.get(key)
        if slot is None:
            slot = super()._get_slot(request)[1]
            slot.lastseen = _NEVER
        if self._terms is not None and key not in self.per_slot_settings:
            self._adjust(key, slot, self._host_of(request.url), self._terms)
        return key, slot

    def _host_of(self, url: str) -> str:
        """Host of `url`; none if all hosts have the same terms."""
        return host_of(url) if self._terms is not None and self._terms.sheets else ""

    def _adjust(self, key: str, slot: Slot, host: str, terms: TermsByHost) -> None:
        """Set a slot's values by its host's terms. Other slots may have delays of Scrapy's AutoThrottle."""
        held = terms.of(host).politeness
        is_otherwise = (held.delay, held.per_host) != (self._said.delay, self._said.per_host)
        if is_otherwise or key in self._adjusted:
            if len(self._adjusted) > 2 * len(self.slots) + _FEW:  # slots that nobody uses go
                self._adjusted &= self.slots.keys()
            self._adjusted.add(key)
            slot.delay, slot.concurrency = held.delay, held.per_host

    def _process_queue(self, slot: Slot) -> None:
        """Skip a slot without waiting requests: its alarm, with the current delay, would hold up later ones with
        another delay.
        """
        if has(Use.SLOTS) and not slot.queue:
            return
        super()._process_queue(slot)
        if has(Use.SLOTS) and slot.queue and self._looks is None:
            self._looks = create_looping_call(self._look_for_the_end)
            self._looks.start(_LOOK_SECONDS, now=False)

    def _look_for_the_end(self) -> None:
        """When the crawl stops, give back what waits in slots to the next run."""
        waiting = [slot.queue for slot in self.slots.values() if slot.queue]
        if not waiting:
            self._look_no_more()
        elif is_closing(self.crawler):
            for queue in waiting:
                while queue:
                    queue.popleft()[1].errback(Interrupted("The crawl is being stopped"))

    def _look_no_more(self) -> None:
        if self._looks is not None:
            self._looks.stop()
            self._looks = None

    def close(self) -> None:
        self._look_no_more()
        super().close()
