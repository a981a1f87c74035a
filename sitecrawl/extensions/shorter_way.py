"""A shorter way for a request through Scrapy's engine and scraper.

Scrapy hands each on by deferreds, coroutines and queues: fourteen tasks and deferreds a page, with four workers and a
queue for what may be one item. Here one task follows a request from the scheduler to the end of its pipelines. What
is called on the way is Scrapy's own, in its order and with its signals. `sitecrawl.crawl.privates` says where it may
be used.

What a callback yields is handed from one spider middleware to the next without asynchronous generators. Scrapy puts
two around each middleware, so that any of them may wait for something. Those that never do are asked for each output
in turn here:

- what is derived from Scrapy's `BaseSpiderMiddleware` and leaves its loops as they are;
- what has a method `process_one(output, response)`, as `OutputMiddleware`. It does for each output what its
  `process_spider_output` does for all, and gives None for what goes no further. Its `begin_output(response)` is
  called before the first. Its own errors are for its `process_spider_exception`, too.

As soon as there is another one, or a callback is asynchronous itself, all go Scrapy's way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from types import GeneratorType, MethodType
from typing import Any, Final

from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.core.scraper import Scraper as ScrapyScraper
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import aiter_errback, ensure_awaitable, iter_errback
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from sitecrawl.crawl.privates import Use, become, has

_Process = Callable[[Any, Response], Any]
"""Function of an output; returns its replacement, None to drop it."""
_Callback = Callable[[Response | Failure, Request], Any]


class _SpiderMiddlewares(SpiderMiddlewareManager):
    """Scrapy's manager; objects are switched to this class, see `shorter_way`."""

    _processes: list[tuple[int, _Process]] | None
    """Functions from the spider to the engine, each with the index of the first middleware that handles its
    errors; None for Scrapy's way."""
    _begins: list[Callable[[Response], None]]

    def look(self) -> None:
        """Note the installed middlewares."""
        # Scrapy's list begins with the one nearest to the spider, as the one that was added last.
        nearest_first = self.middlewares[::-1]
        methods = self.methods["process_spider_output"]
        processes = [
            (place + (not _is_one_by_one(middleware)), _process_of(middleware))
            for place, (middleware, method) in enumerate(zip(nearest_first, methods, strict=True))
            if method is not None
        ]
        known = [(place, process) for place, process in processes if process is not None]
        self._processes = known if len(known) == len(processes) else None
        self._begins = [one.begin_output for one in nearest_first if _is_one_by_one(one)]

    async def scrape_response_async(self, scrape_func: _Callback, response: Response, request: Request) -> Any:
        if self._processes is None:
            return await super().scrape_response_async(scrape_func, response, request)
        try:
            outputs = await self._process_spider_input(scrape_func, response, request)
            if isinstance(outputs, AsyncIterator):
                return await self._process_callback_output(response, outputs)
        except Exception as error:  # noqa: BLE001 - the middlewares' to handle
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # as Scrapy, which lets all go on that has come in
            return self._process_spider_exception(response, error)
        return _Outputs(outputs, response, self)

    def outputs(self, given: Iterable[Any], response: Response, reached: list[int]) -> Iterator[Any]:
        """Outputs that pass, of those that a callback has `given`. `reached`: index of the first middleware that
        handles an error.
        """
        assert self._processes is not None
        for begin in self._begins:
            begin(response)
        for output in given:
            for place, process in self._processes:
                reached[0] = place
                output = process(output, response)  # noqa: PLW2901 - as it goes on
                if output is None:
                    break
            else:
                yield output
            reached[0] = 0


class _Outputs:
    """Single-use iterable of the outputs that pass. `rest`: a middleware's replacement after an error; known at
    the end.
    """

    def __init__(self, given: Iterable[Any], response: Response, middlewares: _SpiderMiddlewares) -> None:
        self._given = given
        self._response = response
        self._middlewares = middlewares
        self.rest: AsyncIterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        reached = [0]
        try:
            yield from self._middlewares.outputs(self._given, self._response, reached)
        except Exception as error:  # noqa: BLE001 - the middlewares' to handle
            self.rest = self._middlewares._process_spider_exception(  # noqa: SLF001 - see `shorter_way`
                self._response, error, reached[0]
            )


def _is_one_by_one(middleware: Any) -> bool:
    return hasattr(middleware, "process_one")


def _process_of(middleware: Any) -> _Process | None:
    kind = type(middleware)
    if _is_one_by_one(middleware):
        is_both = _definer(kind, "process_one") is _definer(kind, "process_spider_output")
        return middleware.process_one if is_both else None
    is_plain = isinstance(middleware, BaseSpiderMiddleware) and all(
        getattr(kind, name) is getattr(BaseSpiderMiddleware, name)
        for name in ("process_spider_output", "process_spider_output_async", "_get_processed")
    )
    return middleware._get_processed if is_plain else None  # noqa: SLF001 - what its loop calls


def _definer(kind: type, name: str) -> type | None:
    return next((one for one in kind.__mro__ if name in vars(one)), None)


_AT_ONCE: Final = 16
"""Outputs of one callback between two turns of the event loop."""
_tasks: Final[set[asyncio.Task[None]]] = set()
"""Tasks under way; the loop has only weak references."""
_looked_at: Final[set[Callable[..., Any]]] = set()
"""Functions of methods that gave a generator, after Scrapy has looked whether it ends with a value."""

logger = logging.getLogger("scrapy.core.engine")


def shorten(engine: ExecutionEngine) -> bool:
    """Switch an engine to the shorter way, if it and its scraper are Scrapy's own; returns whether it did."""
    if not is_asyncio_available() or type(engine.scraper) is not ScrapyScraper:
        return False
    if not become(engine, _Engine, Use.REQUESTS):
        return False
    become(engine.scraper, _Scraper, Use.REQUESTS)
    if has(Use.SPIDER_MIDDLEWARES):
        middlewares = engine.scraper.spidermw
        if become(middlewares, _SpiderMiddlewares, Use.SPIDER_MIDDLEWARES):
            middlewares.look()
    return True


class _Engine(ExecutionEngine):
    """Scrapy's engine with one task a request."""

    scraper: _Scraper

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


class _Scraper(ScrapyScraper):
    """Scrapy's scraper without a task a response; one for each item."""

    async def call_spider_async(self, result: Response | Failure, request: Request) -> Any:
        """Without another look at a callback that gives generators; Scrapy looks at a method for each response."""
        if not isinstance(result, Response):
            return await super().call_spider_async(result, request)
        assert self.crawler.spider is not None
        if result.request is None:
            result.request = request
        callback: Any = result.request.callback or self.crawler.spider._parse  # noqa: SLF001 - see the module
        if type(callback) is not MethodType or callback.__func__ not in _looked_at:
            output = await super().call_spider_async(result, request)
            if type(callback) is MethodType and isinstance(output, GeneratorType):
                _looked_at.add(callback.__func__)
            return output
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # as Scrapy, which lets all go on that has come in
        output = callback(result, **result.request.cb_kwargs)
        return output if isinstance(output, GeneratorType) else await ensure_awaitable(iterate_spider_output(output))

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
        if not isinstance(result, _Outputs) and isinstance(result, AsyncIterator):
            taken = _Taken(self, response, at_once=True)
            async for output in aiter_errback(result, self.handle_spider_error, request, response):
                await taken.take(output)
        else:
            for output in iter_errback(result, self.handle_spider_error, request, response):
                await taken.take(output)
        if isinstance(result, _Outputs) and result.rest is not None:
            async for output in aiter_errback(result.rest, self.handle_spider_error, request, response):
                await taken.take(output)
        await taken.end()


class _Taken:
    """Outputs of one callback, on their way to the scheduler or through the pipelines."""

    def __init__(self, scraper: _Scraper, response: Response | Failure, *, at_once: bool) -> None:
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
