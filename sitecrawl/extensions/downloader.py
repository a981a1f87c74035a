"""Scrapy's downloader with a shorter way through the downloader middlewares.

Scrapy takes whatever a middleware's method returns for something to be awaited, and works out the method's name in
case that it has to warn: for nineteen calls a page a thirtieth of its time. Nearly all return None or the response at
once, and that needs neither. Nor has a plain URL to be taken apart for its scheme and its host.

Its slots have the delay and the seats that Scrapy's settings give all hosts. The frontier, which knows better, has
decided by the time that a request comes here; so slots of hosts for which something else holds have that, too.

What comes beside the frontier's requests, on the way of a page, waits here for the pause after the one before, which
may be long. A crawl that is told to stop does not wait for it.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from types import CoroutineType, MethodType
from typing import Any, Final

from scrapy import Request, Spider, signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.core.downloader import Slot
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import ScrapyDeprecationWarning, _InvalidOutput
from scrapy.http import Response
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.decorators import _warn_spider_arg
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.task import LoopingCall

from sitecrawl.base import descriptors
from sitecrawl.crawl import configuration
from sitecrawl.crawl.checkpoints import has_our_scheduler
from sitecrawl.crawl.engine import is_closing
from sitecrawl.crawl.requests import host_of
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.extensions.download_errors import Interrupted
from sitecrawl.extensions.lighter import lighten
from sitecrawl.extensions.shorter_way import shorten
from sitecrawl.frontier.host_terms import LiveTerms

_FEW: Final = 1_000
_LOOK_SECONDS: Final = 1.0
_NEVER: Final = -1e9
"""When a new slot was used last, on the monotonic clock. That begins when the machine does, so Scrapy's 0 may be just
now: a crawl with a delay of an hour would wait for most of it before its first request."""
_PLAIN: Final = re.compile(r"(https?)://([a-z0-9.-]+)(?::[0-9]+)?/").match
"""Of a URL, scheme and host name, where nobody can take them for anything else."""
_LOOKS_FOR_SPIDER: Final = _warn_spider_arg(lambda: None).__code__
"""Of what Scrapy puts around methods that once had that argument."""


class MiddlewareManager(DownloaderMiddlewareManager):
    """Calls the same methods in the same order, with the same outcome."""

    def __init__(self, *middlewares: Any, crawler: Crawler | None = None) -> None:
        for middleware in middlewares:
            lighten(middleware)
        super().__init__(*middlewares, crawler=crawler)
        self._for_requests = list(self._bound(self.methods["process_request"]))
        self._for_responses = list(self._bound(self.methods["process_response"]))

    def _bound(self, methods: Iterable[Callable[..., Any] | None]) -> Iterable[tuple[Callable[..., Any], str]]:
        """Each method, called without the spider, and its name."""
        for method in methods:
            assert method is not None
            wants_spider = method in self._mw_methods_requiring_spider
            yield (
                partial(self._handle_mw_method, method) if wants_spider else unwrapped(method),
                global_object_name(method),
            )

    async def _process_request(
        self, request: Request, download_func: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response | Request:
        for method, name in self._for_requests:
            answer = method(request=request)
            if answer is None:
                continue
            answer = await _awaitable(answer, name)
            if answer is not None:
                return _checked(answer, name, "None, Response or Request")
        return await download_func(request)

    async def _process_response(self, response: Response | Request, request: Request) -> Response | Request:
        if not isinstance(response, Response):
            return await super()._process_response(response, request)
        for method, name in self._for_responses:
            answer = method(request=request, response=response)
            if not isinstance(answer, Response):
                answer = _checked(await _awaitable(answer, name), name, "Response or Request")
                if isinstance(answer, Request):
                    return answer
            response = answer
        return response


def unwrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method without Scrapy's look at each call for an argument `spider`, which no call from here has."""
    function = getattr(method, "__func__", None)
    if getattr(function, "__code__", None) is not _LOOKS_FOR_SPIDER:
        return method
    return MethodType(function.__wrapped__, method.__self__)  # type: ignore[union-attr, attr-defined]


def _awaitable(answer: Any, name: str) -> Awaitable[Any]:
    return answer if type(answer) is CoroutineType else ensure_awaitable(answer, _warn=name)


def _checked(answer: Any, name: str, wanted: str) -> Response | Request:
    if not isinstance(answer, Response | Request):
        raise _InvalidOutput(f"Middleware {name} must return {wanted}, got {type(answer)}")
    return answer


class Handlers(DownloadHandlers):
    """Finds the same handlers."""

    async def download_request_async(self, request: Request) -> Response:
        scheme = plain[1] if (plain := _PLAIN(request.url)) is not None else ""
        handler = self._get_handler(scheme) if scheme else None
        if handler is None or scheme in self._old_style_handlers:
            return await super().download_request_async(request)
        return await handler.download_request(request)


class Downloader(ScrapyDownloader):
    """`DOWNLOADER`. Of CONCURRENT_REQUESTS there are not more than this process may have connections."""

    _runtime: Runtime | None = None
    """None where the frontier is not ours."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.total_concurrency = min(self.total_concurrency, descriptors.for_connections())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)  # Scrapy's manager has just said the same
            self.middleware = MiddlewareManager(*self.middleware.middlewares, crawler=crawler)
        if type(self.handlers) is DownloadHandlers:  # no setting names their class
            self.handlers.__class__ = Handlers
        crawler.signals.connect(self._shorten, signals.engine_started)
        self._adjusted: dict[str, str] = {}
        """Slots that have something else than the settings say, and the host that they have it of."""
        self._looks: AsyncioLoopingCall | LoopingCall | None = None
        """As long as a request waits in a slot."""
        if has_our_scheduler(crawler.settings):
            self._runtime = Runtime.of(crawler)
            self._said = configuration.politeness(crawler.settings)
            self._runtime.changes.on_changed.append(self._look_again)

    def _shorten(self) -> None:
        assert self.crawler.engine is not None
        shorten(self.crawler.engine)

    async def _enqueue_request(self, request: Request) -> Response:
        """At once where nobody waits for the slot: without a deferred and a task for the turn that is there."""
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

    def _get_slot(self, request: Request, spider: Spider | None = None) -> tuple[str, Slot]:
        key = self.get_slot_key(request)
        slot = self.slots.get(key)
        if slot is None:
            slot = super()._get_slot(request)[1]
            slot.lastseen = _NEVER
        if self._runtime is not None and key not in self.per_slot_settings:
            self._adjust(key, slot, self._host_of(request.url), self._runtime.terms)
        return key, slot

    def get_slot_key(self, request: Request) -> str:
        plain = _PLAIN(request.url)
        if plain is None or self.ip_concurrency or self.DOWNLOAD_SLOT in request.meta:
            return super().get_slot_key(request)
        return plain[2]

    def _host_of(self, url: str) -> str:
        """Its name; none where all hosts are treated alike."""
        return host_of(url) if self._runtime is not None and self._runtime.terms.sheets else ""

    def _adjust(self, key: str, slot: Slot, host: str, terms: LiveTerms) -> None:
        """Scrapy's AutoThrottle may have given the others delays of their own."""
        held = terms.of(host).politeness
        is_otherwise = (held.delay, held.per_host) != (self._said.delay, self._said.per_host)
        if is_otherwise or key in self._adjusted:
            if len(self._adjusted) > 2 * len(self.slots) + _FEW:  # slots that nobody uses go
                self._adjusted = {one: name for one, name in self._adjusted.items() if one in self.slots}
            self._adjusted[key] = host
            slot.delay, slot.concurrency = held.delay, held.per_host

    def _process_queue(self, slot: Slot) -> None:
        """Not of a slot in which nothing waits: its alarm, of the delay that holds now, would hold up whoever comes
        when another one holds.
        """
        if not slot.queue:
            return
        super()._process_queue(slot)
        if slot.queue and self._looks is None:
            self._looks = create_looping_call(self._look_for_the_end)
            self._looks.start(_LOOK_SECONDS, now=False)

    def _look_for_the_end(self) -> None:
        """What waits in a slot is not under way: it is for the next run."""
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

    def _look_again(self) -> None:
        """The pauses that are under way in the slots are as long as was said before."""
        assert self._runtime is not None
        for key, slot in list(self.slots.items()):
            if key in self.per_slot_settings:
                continue
            if slot.latercall is not None:
                slot.close()
            waiting = slot.queue[0][0] if slot.queue else None
            host = self._host_of(waiting.url) if waiting is not None else self._adjusted.get(key, key)
            self._adjust(key, slot, host, self._runtime.terms)
            self._process_queue(slot)
