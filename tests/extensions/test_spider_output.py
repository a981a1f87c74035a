"""A callback's output comes through the spider middlewares as in Scrapy, whoever fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.privates import Use, become
from sitecrawl.extensions.spider_output import Outputs, SpiderMiddlewares

URL = "http://a.example/"


class Plain(BaseSpiderMiddleware):
    """Marks items with its name, keeps `gone` back, and fails at an item that says so."""

    name = "plain"

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if item == {"fail": self.name}:
            raise KeyError(self.name)
        return None if "gone" in item else item | {self.name: len(item)}


class Other(Plain):
    name = "other"


class Own:
    """Has its own loop, and looks after its own errors."""

    def __init__(self) -> None:
        self.begun = 0

    def begin_output(self, response: Response) -> None:
        self.begun += 1

    def process_one(self, output: Any, response: Response) -> Any:
        if output == {"fail": "own"}:
            raise KeyError("own")
        return output if isinstance(output, Request) else output | {"own": self.begun}

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        self.begin_output(response)
        try:
            async for output in result:
                yield self.process_one(output, response)
        except KeyError as error:
            if error.args != ("own",):
                raise

    def process_spider_exception(self, response: Response, exception: Exception) -> tuple[()] | None:
        return () if exception.args == ("own",) else None


class Derived(Own):
    """With a loop that knows nothing of `process_one`."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            yield output


class Rescuer:
    """Has something in the place of what an error has ended."""

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Any] | None:
        return [{"rescued": repr(exception)}] if isinstance(exception, KeyError | ValueError) else None


class Waiting:
    """May wait for something."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            await asyncio.sleep(0)
            yield output


def broken() -> Iterator[Any]:
    yield {"a": 1}
    raise ValueError("callback")


def lost() -> Iterator[Any]:
    yield {"a": 1}
    raise OSError("callback")


CALLBACKS = {
    "all": lambda: [{"a": 1}, Request(URL), {"gone": 1}, {"b": 2}],
    "none": list,
    "broken": broken,
    "lost": lost,
    "plain fails": lambda: iter([{"a": 1}, {"fail": "plain"}, {"b": 2}]),
    "own fails": lambda: iter([{"a": 1}, {"fail": "own"}, {"b": 2}]),
    "other fails": lambda: iter([{"a": 1}, {"fail": "other"}, {"b": 2}]),
}
ORDERS = ("PO", "OP", "PRO", "RPO", "POR", "", "POX", "XPR", "PXR")


def come(kind: type[SpiderMiddlewareManager], order: str, callback: str) -> tuple[list[str], str, type]:
    crawler = get_crawler(Spider)
    crawler.spider = Spider("any")
    made = {
        "P": lambda: Plain(crawler),
        "O": lambda: Other(crawler),
        "R": Rescuer,
        "W": Waiting,
        "X": Own,
        "D": Derived,
    }
    manager = SpiderMiddlewareManager(*(made[letter]() for letter in order), crawler=crawler)
    if kind is SpiderMiddlewares:
        assert become(manager, SpiderMiddlewares, Use.SPIDER_MIDDLEWARES)
        manager.look()
    found: list[str] = []

    async def called(response: Any, request: Request) -> Any:
        return CALLBACKS[callback]()

    async def run() -> type:
        request = Request(URL)
        outputs: Any = await manager.scrape_response_async(called, Response(URL, request=request), request)
        if isinstance(outputs, Outputs):
            found.extend(str(output) for output in outputs)
            if outputs.rest is not None:
                found.extend([str(output) async for output in outputs.rest])
        else:
            async for output in outputs:
                found.append(str(output))  # noqa: PERF401 - what came before an error counts
        return type(outputs)

    try:
        way = asyncio.run(run())
    except (KeyError, ValueError, OSError) as error:
        return found, repr(error), type(None)
    return found, "", way


@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("order", ORDERS)
def test_what_comes_through(order: str, callback: str) -> None:
    """The same outputs in the same order, the same rescue, and the same error where nobody rescues."""
    ours, stock = come(SpiderMiddlewares, order, callback), come(SpiderMiddlewareManager, order, callback)
    assert ours[:2] == stock[:2]
    assert stock[2] is not Outputs


def test_the_way() -> None:
    """With middlewares that never wait it is the shorter one; with one that may, Scrapy's."""
    assert come(SpiderMiddlewares, "PRO", "all")[2] is Outputs
    assert come(SpiderMiddlewares, "PXO", "all")[2] is Outputs
    assert come(SpiderMiddlewares, "PDO", "all")[2] is not Outputs
    assert come(SpiderMiddlewares, "PWO", "all")[2] is not Outputs
    assert come(SpiderMiddlewares, "PWO", "all")[0] == come(SpiderMiddlewareManager, "PWO", "all")[0]
