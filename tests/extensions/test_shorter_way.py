"""Our way through Scrapy's engine and scraper does what Scrapy's does, in its order; that is held against it here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.privates import Use, become
from sitecrawl.extensions import shorter_way
from sitecrawl.extensions.shorter_way import _Engine, _Outputs, _SpiderMiddlewares, shorten

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
    if kind is _SpiderMiddlewares:
        assert become(manager, _SpiderMiddlewares, Use.SPIDER_MIDDLEWARES)
        manager.look()
    found: list[str] = []

    async def called(response: Any, request: Request) -> Any:
        return CALLBACKS[callback]()

    async def run() -> type:
        request = Request(URL)
        outputs: Any = await manager.scrape_response_async(called, Response(URL, request=request), request)
        if isinstance(outputs, _Outputs):
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
    ours, stock = come(_SpiderMiddlewares, order, callback), come(SpiderMiddlewareManager, order, callback)
    assert ours[:2] == stock[:2]
    assert stock[2] is not _Outputs


def test_the_way() -> None:
    """With middlewares that never wait it is the shorter one; with one that may, Scrapy's."""
    assert come(_SpiderMiddlewares, "PRO", "all")[2] is _Outputs
    assert come(_SpiderMiddlewares, "PXO", "all")[2] is _Outputs
    assert come(_SpiderMiddlewares, "PDO", "all")[2] is not _Outputs
    assert come(_SpiderMiddlewares, "PWO", "all")[2] is not _Outputs
    assert come(_SpiderMiddlewares, "PWO", "all")[0] == come(SpiderMiddlewareManager, "PWO", "all")[0]


SETTINGS = {
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_ITEMS": 2,
    "ITEM_PIPELINES": {f"{__name__}.Pipeline": 1},
    "DOWNLOADER_MIDDLEWARES": {f"{__name__}.Middleware": 1},
}
SENT = {
    name: getattr(signals, name)
    for name in (
        "engine_started", "spider_opened", "request_scheduled", "request_reached_downloader", "response_downloaded",
        "request_left_downloader", "response_received", "item_scraped", "item_dropped", "item_error", "spider_error",
        "spider_closed",
    )
}  # fmt: skip
URLS = tuple(
    f"data:,{what}"
    for what in ("items", "async", "again", "error", "halfway", "away", "ignored", "cancelled", "nothing")
)


class Pipeline:
    """Drops `bad`, fails with `wrong`, and notes how many items are with it at a time."""

    at_once = 0
    most = 0

    async def process_item(self, item: dict[str, str]) -> dict[str, str]:
        kind = type(self)
        kind.at_once += 1
        kind.most = max(kind.most, kind.at_once)
        await asyncio.sleep(0)
        kind.at_once -= 1
        if "bad" in item:
            raise DropItem("it is bad")
        if "wrong" in item:
            raise ValueError("it is wrong")
        return item


class Middleware:
    """One request is another, one fails, one is ignored."""

    def process_request(self, request: Request) -> Request | None:
        if request.url == "data:,again":
            return request.replace(url="data:,items", dont_filter=True)
        if request.url == "data:,away":
            raise OSError("there is no such host")
        if request.url == "data:,ignored":
            raise IgnoreRequest("it is not wanted")
        if request.url == "data:,cancelled":  # as somebody's task that the middleware has waited for
            raise asyncio.CancelledError
        return None


class Noting(Spider):
    """Its callbacks do what the URL says; it notes all that it is told, in order."""

    name = "noting"
    urls: tuple[str, ...] = URLS
    short = True
    is_shorter: bool | None = None
    noted: list[str]
    hearing: list[Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Noting:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.noted = []
        spider.hearing = [spider.hears(name) for name in SENT]
        for signal, heard in zip(SENT.values(), spider.hearing, strict=True):
            crawler.signals.connect(heard, signal)
        if cls.short:
            crawler.signals.connect(spider.begins, signals.engine_started)
        return spider

    def begins(self) -> None:
        self.is_shorter = shorten(self.crawler.engine)

    def hears(self, name: str) -> Any:
        def heard(**told: Any) -> None:
            about = told.get("item") or told.get("request") or told.get("response") or ""
            self.noted.append(f"{name} {getattr(about, 'url', about)}")

        return heard

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, errback=self.failed)

    def parse(self, response: Response) -> Any:
        self.noted.append(f"callback {response.url} of {response.request.url if response.request else None}")
        what = response.text
        if what == "async":
            return self.later()
        if what == "error":
            raise KeyError("callback")
        return self.outputs(what)

    def outputs(self, what: str) -> Any:
        if what == "items":
            yield {"good": "1"}
            yield {"bad": "2"}
            yield Request("data:,nothing")
            yield {"wrong": "3"}
            yield {"good": "4"}
        if what == "halfway":
            yield {"good": "5"}
            raise KeyError("halfway")
        if what == "enough":
            yield {"good": "6"}
            raise CloseSpider("enough")

    async def later(self) -> AsyncIterator[Any]:
        yield {"good": "7"}
        await asyncio.sleep(0)
        yield Request("data:,nothing")

    def failed(self, failure: Any) -> Any:
        self.noted.append(f"errback {failure.type.__name__} {failure.request.url}")
        yield {"failed": failure.request.url}


class Stock(Noting):
    short = False


def run(spider: type[Noting], **settings: Any) -> tuple[Noting, Crawler]:
    crawler = get_crawler(spider, {**SETTINGS, **settings})
    asyncio.run(crawler.crawl_async())
    assert isinstance(crawler.spider, Noting)
    return crawler.spider, crawler


def one_by_one(spider: Noting) -> tuple[list[str], list[str]]:
    """What is noted of the first request, and of what a callback made of it: both are under way at once."""
    second = [note for note in spider.noted if note.endswith("nothing")]
    return [note for note in spider.noted if note not in second], second


@pytest.mark.parametrize("url", URLS)
def test_what_is_sent_and_called(url: str) -> None:
    """The same signals, callbacks and errbacks as without it, in the same order, with the same statistics."""
    Noting.urls = (url,)
    try:
        (ours, crawler), (stock, stocks) = run(Noting), run(Stock)
    finally:
        Noting.urls = URLS
    assert (ours.is_shorter, stock.is_shorter) == (True, None)
    assert isinstance(crawler.engine, _Engine)
    assert type(stocks.engine) is ExecutionEngine
    assert one_by_one(ours) == one_by_one(stock)
    assert crawler.stats is not None
    assert stocks.stats is not None
    changing = ("elapsed", "_time", "memusage", "log_count")
    found, wanted = (
        {name: value for name, value in stats.get_stats().items() if not any(word in name for word in changing)}
        for stats in (crawler.stats, stocks.stats)
    )
    assert found == wanted


def test_nothing_is_left() -> None:
    """At the end no request is under way in the engine, the downloader or the scraper, and no task is held."""
    spider, crawler = run(Noting)
    assert {"errback OSError data:,away", "errback IgnoreRequest data:,ignored"} <= {*spider.noted}
    assert sum(note.startswith("spider_error") for note in spider.noted) == 2
    assert sum(note.startswith("item_scraped") for note in spider.noted) == 9
    engine = crawler.engine
    assert isinstance(engine, _Engine)
    assert not engine.downloader.active
    assert engine.scraper.slot is not None
    assert engine.scraper.slot.is_idle()
    assert engine.scraper.slot.active_size == 0
    assert not shorter_way._tasks


def test_items_of_one_response() -> None:
    """CONCURRENT_ITEMS of them are in the pipelines at a time, and not more."""

    class Many(Noting):
        urls = ("data:,many",)

        def outputs(self, what: str) -> Any:
            yield from ({"good": str(number)} for number in range(10))

    for wanted in (1, 3):
        Pipeline.most = 0
        spider, _ = run(Many, CONCURRENT_ITEMS=wanted)
        assert sum(note.startswith("item_scraped") for note in spider.noted) == 10
        assert Pipeline.most == wanted


def test_requests_without_end() -> None:
    """A callback that yields many lets others have their turn between them."""

    class Endless(Noting):
        urls = ("data:,endless",)
        turns = 0

        def outputs(self, what: str) -> Any:
            if what == "endless":
                asyncio.get_running_loop().call_soon(self.turn)
                for number in range(10_000):
                    if self.turns == 3:
                        self.noted.append(f"stopped at {number}")
                        return
                    yield Request(f"data:,nothing{number}")

        def turn(self) -> None:
            self.turns += 1
            asyncio.get_running_loop().call_soon(self.turn)

    spider, _ = run(Endless)
    assert any(note.startswith("stopped at") for note in spider.noted)


def test_an_asynchronous_callback_that_waits_for_its_item() -> None:
    """It may: an item is on its way as soon as it is there, whatever the callback does next."""

    class Waiting(Noting):
        urls = ("data:,waits",)
        is_scraped: asyncio.Event

        def parse(self, response: Response) -> Any:
            self.is_scraped = asyncio.Event()
            self.crawler.signals.connect(self.scraped, signals.item_scraped)
            return self.waits()

        def scraped(self) -> None:
            self.is_scraped.set()

        async def waits(self) -> AsyncIterator[Any]:
            yield {"good": "1"}
            await self.is_scraped.wait()
            yield {"good": "2"}

    spider, _ = run(Waiting)
    assert [line for line in spider.noted if line.startswith("item_")] == [
        "item_scraped {'good': '1'}",
        "item_scraped {'good': '2'}",
    ]


def test_a_callback_that_closes() -> None:
    """What is under way comes in, and the reason is the callback's."""

    class Closing(Noting):
        urls = ("data:,enough", "data:,items")

    spider, crawler = run(Closing)
    assert crawler.stats is not None
    assert crawler.stats.get_value("finish_reason") == "enough"
    assert "item_scraped {'good': '6'}" in spider.noted


def test_a_callback_that_waits_for_what_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the crawl goes on to its end, where Scrapy's own way would wait for ever."""

    class Waiting(Noting):
        urls = ("data:,one", "data:,items")

        async def waits(self) -> None:
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled

        def outputs(self, what: str) -> Any:
            return self.waits() if what == "one" else super().outputs(what)

    with caplog.at_level(logging.ERROR):
        spider, _ = run(Waiting, LOG_ENABLED=True)
    assert "Scraper bug processing <GET data:,one>" in [record.getMessage() for record in caplog.records]
    assert "item_scraped {'good': '4'}" in spider.noted


def test_what_goes_wrong_in_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its request, and the crawl goes on."""

    class Failing(Noting):
        urls = ("data:,one", "data:,two")

        def begins(self) -> None:
            super().begins()
            self.crawler.engine.scraper._scrape = self.breaks  # type: ignore[method-assign]

        async def breaks(self, result: Any, request: Request) -> None:
            raise KeyError(request.url)

    with caplog.at_level(logging.ERROR):
        _, crawler = run(Failing, LOG_ENABLED=True)
    assert [record.getMessage() for record in caplog.records if "Scraper bug" in record.getMessage()] == [
        "Scraper bug processing <GET data:,one>",
        "Scraper bug processing <GET data:,two>",
    ]
    assert crawler.stats is not None
    assert crawler.stats.get_value("finish_reason") == "finished"
