"""Scrapy's downloader with a shorter way through the downloader middlewares.

Scrapy takes whatever a middleware's method returns for something to be awaited, and works out the method's name in
case that it has to warn: for nineteen calls a page a thirtieth of its time. Nearly all return None or the response at
once, and that needs neither.

Its slots have the delay and the seats that Scrapy's settings give all hosts. The frontier, which knows better, has
decided by the time that a request comes here; so slots of hosts for which something else holds have that, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final

from scrapy import Request, Spider
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.core.downloader import Slot
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from sitecrawl.base import descriptors
from sitecrawl.crawl import configuration
from sitecrawl.crawl.checkpoints import has_our_scheduler
from sitecrawl.crawl.requests import host_of
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.host_terms import LiveTerms

_FEW: Final = 1_000


class MiddlewareManager(DownloaderMiddlewareManager):
    """Calls the same methods in the same order, with the same outcome."""

    def __init__(self, *middlewares: Any, crawler: Crawler | None = None) -> None:
        super().__init__(*middlewares, crawler=crawler)
        self._for_requests = list(self._bound(self.methods["process_request"]))
        self._for_responses = list(self._bound(self.methods["process_response"]))

    def _bound(self, methods: Iterable[Callable[..., Any] | None]) -> Iterable[tuple[Callable[..., Any], str]]:
        """Each method, called without the spider, and its name."""
        for method in methods:
            assert method is not None
            wants_spider = method in self._mw_methods_requiring_spider
            yield partial(self._handle_mw_method, method) if wants_spider else method, global_object_name(method)

    async def _process_request(
        self, request: Request, download_func: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response | Request:
        for method, name in self._for_requests:
            answer = method(request=request)
            if answer is None:
                continue
            answer = await ensure_awaitable(answer, _warn=name)
            if answer is not None:
                return _checked(answer, name, "None, Response or Request")
        return await download_func(request)

    async def _process_response(self, response: Response | Request, request: Request) -> Response | Request:
        if not isinstance(response, Response):
            return await super()._process_response(response, request)
        for method, name in self._for_responses:
            answer = method(request=request, response=response)
            if not isinstance(answer, Response):
                answer = _checked(await ensure_awaitable(answer, _warn=name), name, "Response or Request")
                if isinstance(answer, Request):
                    return answer
            response = answer
        return response


def _checked(answer: Any, name: str, wanted: str) -> Response | Request:
    if not isinstance(answer, Response | Request):
        raise TypeError(f"Middleware {name} must return {wanted}, got {type(answer)}")
    return answer


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
        self._adjusted: dict[str, str] = {}
        """Slots that have something else than the settings say, and the host that they have it of."""
        if has_our_scheduler(crawler.settings):
            self._runtime = Runtime.of(crawler)
            self._said = configuration.politeness(crawler.settings)
            self._runtime.changes.on_changed.append(self._look_again)

    def _get_slot(self, request: Request, spider: Spider | None = None) -> tuple[str, Slot]:
        key, slot = super()._get_slot(request)
        if self._runtime is not None and key not in self.per_slot_settings:
            self._adjust(key, slot, self._host_of(request.url), self._runtime.terms)
        return key, slot

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
