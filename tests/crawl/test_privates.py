"""What is relied upon in Scrapy and has no public name: each test names what an upgrade of Scrapy has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.test import get_crawler
from waiting import FOREVER

from sitecrawl.crawl import privates

SETTINGS = {"TWISTED_REACTOR_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "LOG_ENABLED": False}


class Looking(Spider):
    """Notes what the engine is said to do: in its start, in a callback, with its item, and at the end."""

    name = "looking"
    url = "data:,x"
    seen: dict[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Looking:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.seen = {}
        crawler.signals.connect(spider.item_scraped, signals.item_scraped)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        crawler.signals.connect(spider.closed_now, signals.spider_closed)
        return spider

    def _note(self, when: str) -> None:
        self.seen[when] = ({r.url for r in privates.in_progress(self.crawler)}, privates.is_closing(self.crawler))

    async def start(self) -> AsyncIterator[Any]:
        self._note("start")
        yield Request(self.url)

    def parse(self, response: Response) -> Any:
        self._note("callback")
        yield {"an": "item"}

    def item_scraped(self) -> None:
        self._note("item")

    def idle(self) -> None:
        self._note("idle")

    def closed_now(self) -> None:
        self._note("closed")


class Stopping(Looking):
    """Asks for the end while its request is under way."""

    def parse(self, response: Response) -> Any:
        privates.stop(self.crawler, "enough")
        yield from super().parse(response)


def run(spider: type[Spider]) -> Crawler:
    crawler = get_crawler(spider, SETTINGS)
    asyncio.run(crawler.crawl_async())
    return crawler


def test_what_the_engine_works_on() -> None:
    """`engine._slot.inprogress` holds the request itself from the scheduler until its items are through."""
    crawler = run(Looking)
    assert isinstance(crawler.spider, Looking)
    working, closing = {"data:,x"}, False
    assert crawler.spider.seen == {
        "start": (set(), closing),
        "callback": (working, closing),
        "item": (working, closing),
        "idle": (set(), closing),
        "closed": (set(), True),
    }, "ExecutionEngine._slot.inprogress or _Slot.closing no longer says this"


def test_a_stop_is_seen_at_once() -> None:
    """`engine._slot.closing` is set as soon as somebody asks for the end, while requests are under way."""
    crawler = run(Stopping)
    assert isinstance(crawler.spider, Looking)
    assert crawler.spider.seen["item"] == ({"data:,x"}, True), "_Slot.closing is no longer set by close_spider_async"
    assert crawler.stats is not None
    assert crawler.stats.get_value("finish_reason") == "enough"


def test_waking(monkeypatch: pytest.MonkeyPatch) -> None:
    """`engine._slot.nextcall.schedule` has the engine look at once: without, it would never have looked again."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", FOREVER)

    class Waking(Looking):
        looks = 0

        def idle(self) -> None:
            self.looks += 1
            if self.looks == 1:
                call_later(0, privates.wake, self.crawler)
                raise DontCloseSpider

    crawler = run(Waking)
    assert isinstance(crawler.spider, Waking)
    assert crawler.spider.looks == 2


def test_before_the_start_and_after_the_end() -> None:
    """While no spider is open nothing is under way, and nobody is woken."""
    early, late = get_crawler(Looking, SETTINGS), run(Looking)
    early.engine = early._create_engine()
    for crawler in (early, late):
        assert crawler.engine._slot is None, "ExecutionEngine._slot is no longer None without an open spider"
        assert not privates.in_progress(crawler)
        assert not privates.is_closing(crawler)
        privates.wake(crawler)


def test_without_private_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The downloader and the scraper say what is under way; a stop that was asked for here is seen."""
    monkeypatch.setattr(privates, "has", lambda _use: False)
    crawler = run(Stopping)
    assert isinstance(crawler.spider, Looking)
    assert crawler.spider.seen == {
        "start": (set(), False),
        "callback": ({"data:,x"}, True),
        "item": ({"data:,x"}, True),
        "closed": (set(), True),
    }
    privates.wake(crawler)


def test_a_name_that_is_not_there() -> None:
    """Neither a module, nor a class in it, nor what that has or gives its instances."""
    slot = "scrapy.core.engine:_Slot"
    assert privates._is_there(f"{slot}.closing")
    assert privates._is_there(f"{slot}.add_request")
    for name in ("scrapy.core.motor:_Slot.closing", "scrapy.core.engine:_Gap.closing", f"{slot}._closing"):
        assert not privates._is_there(name)
