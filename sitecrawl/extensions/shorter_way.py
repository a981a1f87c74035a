"""A shorter way for a request through Scrapy's engine and scraper.

Scrapy hands each on by deferreds, coroutines and queues: fourteen tasks and deferreds a page, with four workers and a
queue for what may be one item. Here one task follows a request from the scheduler to the end of its pipelines. What
is called on the way is Scrapy's own, in its order and with its signals.

What is replaced has no public name. `shorten` does so for the versions of Scrapy that this was written for;
any other keeps its own way, which costs more and does the same.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from inspect import CO_ITERABLE_COROUTINE
from types import GeneratorType
from typing import Any, Final
from weakref import WeakSet

import scrapy
from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.core.scraper import Scraper as ScrapyScraper
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import aiter_errback, ensure_awaitable, iter_errback
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.python import global_object_name
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from sitecrawl.extensions.signalling import Signals
from sitecrawl.extensions.spider_output import Outputs, SpiderMiddlewares

KNOWN: Final = ((2, 19),)
"""Versions of Scrapy that this was held against."""
_AT_ONCE: Final = 16
"""Outputs of one callback after which others have their turn."""

logger = logging.getLogger("scrapy.core.engine")


def shorten(engine: ExecutionEngine) -> bool:
    """Let an engine go the shorter way, if it and its scraper are Scrapy's own, of a version that is known. Whether
    they are.
    """
    scraper = engine.scraper
    if (
        scrapy.version_info[:2] not in KNOWN
        or type(engine) is not ExecutionEngine
        or type(scraper) is not ScrapyScraper
        or not is_asyncio_available()
    ):
        return False
    # Neither has a setting that names its class.
    engine.__class__, scraper.__class__ = Engine, Scraper
    vars(engine)["_tasks"], vars(scraper)["_looked_at"] = set(), WeakSet()
    if type(scraper.spidermw) is SpiderMiddlewareManager:
        SpiderMiddlewares.shorten(scraper.spidermw)
    if type(scraper.itemproc) is ItemPipelineManager:
        scraper.itemproc.__class__ = Pipelines
    if type(engine.signals) is SignalManager:
        engine.signals.__class__ = Signals
    return True


class Engine(ExecutionEngine):
    """One task a request."""

    scraper: Scraper
    _tasks: set[asyncio.Task[None]]
    """Those under way: the loop holds its tasks weakly."""

    def _start_scheduled_request(self) -> bool:
        assert self._slot is not None
        request = self._slot.scheduler.next_request()
        if request is None:
            self.signals.send_catch_log(signals.scheduler_empty)
            return False
        self._slot.add_request(request)
        self.downloader.active.add(request)
        task = asyncio.get_running_loop().create_task(self._work(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
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
    """No task for a response; one for each of its items."""

    _looked_at: WeakSet[Any]
    """Functions of callbacks whose source was looked at."""

    async def enqueue_scrape(  # type: ignore[override]
        self, result: Response | Failure, request: Request
    ) -> None:
        """Up to the end of the pipelines. Scrapy's gives a deferred, which nobody but its engine waits for."""
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

    async def call_spider_async(
        self, result: Response | Failure, request: Request
    ) -> Iterable[Any] | AsyncIterator[Any]:
        """Scrapy's, without a turn of the loop before each callback, and with one look at each callback's source.

        Scrapy remembers what it saw there by the bound method, which is another object with each response.
        """
        if not isinstance(result, Response):
            return await super().call_spider_async(result, request)
        if result.request is None:
            result.request = request
        spider = self.crawler.spider
        assert spider is not None
        callback = result.request.callback or spider._parse  # noqa: SLF001 - see the module
        if self._is_new(callback):
            warn_on_generator_with_return_value(spider, callback)
        output = callback(result, **result.request.cb_kwargs)
        if isinstance(output, Deferred):
            warnings.warn(
                f"{callback} returned a Deferred. Returning Deferreds from spider callbacks is deprecated.",
                ScrapyDeprecationWarning,
                stacklevel=2,
            )
        if _is_plain(output):
            return output  # type: ignore[no-any-return]
        return await ensure_awaitable(iterate_spider_output(output))

    def _is_new(self, callback: Callable[..., Any]) -> bool:
        function = getattr(callback, "__func__", callback)
        if function in self._looked_at:
            return False
        with suppress(TypeError):  # what cannot be remembered is looked at each time
            self._looked_at.add(function)
        return True

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


class Pipelines(ItemPipelineManager):
    """Waits for no pipeline that gives back the item that it got, as nearly all do."""

    async def process_item_async(self, item: Any) -> Any:
        for method in self.methods["process_item"]:
            assert method is not None
            wants_spider = method in self._mw_methods_requiring_spider
            answer = method(item, self._spider) if wants_spider else method(item)
            if answer is not item:
                item = await ensure_awaitable(answer, _warn=global_object_name(method))
        return item


class _Taken:
    """Outputs of one callback, on their way to the scheduler or through the pipelines."""

    def __init__(self, scraper: Scraper, response: Response | Failure, *, at_once: bool) -> None:
        self._at_once = at_once
        """Whether the callback may wait for what becomes of an item."""
        self._scraper = scraper
        self._response = response
        self._number = 0
        self._last: Any = None
        """An item, which needs no task of its own if it is the only one."""
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


def _is_plain(output: Any) -> bool:
    """Whether what a callback has returned is iterated over as it is. Scrapy looks for all that it may be besides."""
    if isinstance(output, GeneratorType):
        return not output.gi_code.co_flags & CO_ITERABLE_COROUTINE
    return type(output) in (list, tuple)


def _raise_if_cancelled() -> None:
    """Go on with the cancellation of this very task. Something else that was cancelled, and that a project's code has
    waited for, is an error like others.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
