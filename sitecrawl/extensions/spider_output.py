"""What a callback yields, handed from one spider middleware to the next without asynchronous generators.

Scrapy puts two around each middleware, so that any of them may wait for something. Those that never do are asked for
each output in turn here:

- what is derived from Scrapy's `BaseSpiderMiddleware` and leaves its loops as they are;
- what has a method `process_one(output, response)`, as `OutputMiddleware`. It does for each output what its
  `process_spider_output` does for all, and gives None for what goes no further. Its `begin_output(response)` is
  called before the first. Its own errors are for its `process_spider_exception`, too.

As soon as there is another one, or a callback is asynchronous itself, all go Scrapy's way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from scrapy import Request
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from twisted.python.failure import Failure

_Process = Callable[[Any, Response], Any]
"""Function of an output; returns its replacement, None to drop it."""
_Callback = Callable[[Response | Failure, Request], Any]


class SpiderMiddlewares(SpiderMiddlewareManager):
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
        return Outputs(outputs, response, self)

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


class Outputs:
    """Single-use iterable of the outputs that pass. `rest`: a middleware's replacement after an error; known at
    the end.
    """

    def __init__(self, given: Iterable[Any], response: Response, middlewares: SpiderMiddlewares) -> None:
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
