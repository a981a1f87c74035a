"""A shorter way for a request through Scrapy's engine and scraper.

Scrapy hands each on by deferreds, coroutines and queues: fourteen tasks and deferreds a page, with four workers and a
queue for what may be one item. Here one task follows a request from the scheduler to the end of its pipelines. What
is called on the way is Scrapy's own, in its order and with its signals. `sitecrawl.crawl.privates` says where it may
be used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.core.scraper import Scraper as ScrapyScraper
from scrapy.http import Response
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import aiter_errback, iter_errback
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from sitecrawl.crawl.privates import Use, become, has
from sitecrawl.extensions.spider_output import Outputs, SpiderMiddlewares

_AT_ONCE: Final = 16
"""Outputs of one callback between two turns of the event loop."""
_tasks: Final[set[asyncio.Task[None]]] = set()
"""Tasks under way; the loop has only weak references."""

logger = logging.getLogger("scrapy.core.engine")


def shorten(engine: ExecutionEngine) -> bool:
    """Switch an engine to the shorter way, if it and its scraper are Scrapy's own; returns whether it did."""
    if not is_asyncio_available() or type(engine.scraper) is not ScrapyScraper:
        return False
    if not become(engine, Engine, Use.REQUESTS):
        return False
    become(engine.scraper, Scraper, Use.REQUESTS)
    if has(Use.SPIDER_MIDDLEWARES):
        middlewares = engine.scraper.spidermw
        if become(middlewares, SpiderMiddlewares, Use.SPIDER_MIDDLEWARES):
            middlewares.look()
    return True


class Engine(ExecutionEngine):
    """Scrapy's engine with one task a request."""

    scraper: Scraper

    def _start_scheduled_request(self) -> bool:
        assert self._slot is not None
        request = self._slot.scheduler.next_request()
        if request is None:
            self.signals.send_catch_log(signals.scheduler_empty)
            return False
        self._slot.add_request(request)
        self.downloader.active.add(request)
        task = asyncio.get_running_loop().create_task(self._work(request))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        return True

    async def _work(self, request: Request) -> None:
        slot = self._slot
        assert slot is not None
        try:
            result = await self._downloaded(request)
            slot.nextcall.schedule()
            if isinstance(result, Request):
                self.crawl(result)
            else:
                await self.scraper.enqueue_scrape(result, request)
        except Exception:
            logger.exception("Error while enqueuing scrape", extra={"spider": self.spider})
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()

    async def _downloaded(self, request: Request) -> Response | Request | Failure:
        downloader = self.downloader
        try:
            try:
                result = await downloader.middleware.download_async(
                    downloader._enqueue_request,  # noqa: SLF001 - see the module
                    request,
                )
            finally:
                downloader.active.remove(request)
            if not isinstance(result, Request):
                self._note(result, request)
        except (Exception, asyncio.CancelledError):  # noqa: BLE001 - the errback's
            _raise_if_cancelled()
            return Failure()  # type: ignore[no-untyped-call]
        return result

    def _note(self, response: Response, request: Request) -> None:
        if not isinstance(response, Response):
            raise TypeError(f"Incorrect type: expected Response or Request, got {type(response)}: {response!r}")
        if response.request is None:
            response.request = request
        assert self.spider is not None
        line = self.logformatter.crawled(response.request, response, self.spider)
        if line is not None:
            logger.log(*logformatter_adapter(line), extra={"spider": self.spider})
        self.signals.send_catch_log(
            signal=signals.response_received, response=response, request=response.request, spider=self.spider
        )


class Scraper(ScrapyScraper):
    """Scrapy's scraper without a task a response; one for each item."""

    async def enqueue_scrape(  # type: ignore[override]
        self, result: Response | Failure, request: Request
    ) -> None:
        """Process `result` to the end of the pipelines. Scrapy's returns a deferred, which only its engine
        awaits.
        """
        assert self.slot is not None
        self.slot.add_response_request(result, request)
        self.slot.next_response_request_deferred()
        try:
            await self._scrape(result, request)
        except (Exception, asyncio.CancelledError):
            _raise_if_cancelled()
            logger.exception("Scraper bug processing %s", request, extra={"spider": self.crawler.spider})
        finally:
            self.slot.finish_response(result, request)
            self._check_if_closing()

    async def handle_spider_output_async(
        self, result: Iterable[Any] | AsyncIterator[Any], request: Request, response: Response | Failure
    ) -> None:
        taken = _Taken(self, response, at_once=False)
        if not isinstance(result, Outputs) and isinstance(result, AsyncIterator):
            taken = _Taken(self, response, at_once=True)
            async for output in aiter_errback(result, self.handle_spider_error, request, response):
                await taken.take(output)
        else:
            for output in iter_errback(result, self.handle_spider_error, request, response):
                await taken.take(output)
        if isinstance(result, Outputs) and result.rest is not None:
            async for output in aiter_errback(result.rest, self.handle_spider_error, request, response):
                await taken.take(output)
        await taken.end()


class _Taken:
    """Outputs of one callback, on their way to the scheduler or through the pipelines."""

    def __init__(self, scraper: Scraper, response: Response | Failure, *, at_once: bool) -> None:
        self._at_once = at_once
        """Whether the callback may wait for the outcome of items."""
        self._scraper = scraper
        self._response = response
        self._number = 0
        self._last: Any = None
        """Last item, which needs no task if it is the only one."""
        self._items: set[asyncio.Task[None]] = set()

    async def take(self, output: Any) -> None:
        self._number += 1
        if self._last is not None:
            await self._start_last()
        if not isinstance(output, Request):
            self._last = output
            if self._at_once:
                await self._start_last()
            return
        await self._process(output)
        if self._number % _AT_ONCE == 0:
            await asyncio.sleep(0)

    async def _start_last(self) -> None:
        last, self._last = self._last, None
        self._items.add(asyncio.get_running_loop().create_task(self._process(last)))
        if len(self._items) >= self._scraper.concurrent_items:
            _, self._items = await asyncio.wait(self._items, return_when=asyncio.FIRST_COMPLETED)

    async def end(self) -> None:
        """Wait for all items."""
        if self._last is not None and self._items:
            await self._start_last()  # after those before it
        elif self._last is not None:
            await self._process(self._last)
        for task in self._items:
            await task

    async def _process(self, output: Any) -> None:
        await self._scraper._process_spidermw_output_async(output, self._response)  # noqa: SLF001 - see the module


def _raise_if_cancelled() -> None:
    """Re-raise a cancellation of this task. That of another awaitable in a project's code is an ordinary error."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
