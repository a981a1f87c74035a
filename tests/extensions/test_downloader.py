"""Our way through the downloader middlewares has the outcome of Scrapy's, whatever a middleware answers."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.exceptions import IgnoreRequest, ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.downloader import Downloader
from sitecrawl.extensions.shorter_downloads import MiddlewareManager

URL = "http://a.example/"
REQUEST, OTHER = Request(URL), Request(URL + "other")
DOWNLOADED, MADE, CHANGED = Response(URL), Response(URL, status=201), Response(URL, status=202)


ERRORS = (IgnoreRequest, KeyError, OSError, TypeError, ValueError)


def kind_of(error: Exception) -> type[Exception]:
    """Its public one."""
    return next(kind for kind in ERRORS if isinstance(error, kind))


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


class Middleware:
    """Notes its calls, and answers as it is told; an exception is raised."""

    def __init__(self, name: str, calls: list[str], **answers: Any) -> None:
        self._name = name
        self._calls = calls
        self._answers = answers

    def process_request(self, request: Request) -> Any:
        return self._answer("request", None)

    def process_response(self, request: Request, response: Response) -> Any:
        return self._answer("response", response)

    def process_exception(self, request: Request, exception: Exception) -> Any:
        return self._answer(f"exception {kind_of(exception).__name__}", None)

    def _answer(self, event: str, usual: Any) -> Any:
        self._calls.append(f"{self._name} {event}")
        answer = self._answers.get(event.partition(" ")[0], usual)
        if isinstance(answer, Exception):
            raise answer
        return later(answer[0]) if isinstance(answer, tuple) else answer


def outcome(manager: type[DownloaderMiddlewareManager], answers: dict[str, Any], downloaded: Any) -> tuple[Any, ...]:
    """What comes of a request, who was asked, and what is raised."""
    calls: list[str] = []
    crawler = get_crawler(Spider)
    names = ("first", "middle", "last")
    middlewares = [Middleware(name, calls, **answers if name == "middle" else {}) for name in names]

    async def download(request: Request) -> Any:
        calls.append("download")
        if isinstance(downloaded, Exception):
            raise downloaded
        return downloaded

    async def run() -> Any:
        return await manager(*middlewares, crawler=crawler).download_async(download, REQUEST)

    try:
        return asyncio.run(run()), calls, None
    except ERRORS as error:
        return None, calls, kind_of(error)


CASES: list[dict[str, Any]] = [
    {},
    *({"request": answer} for answer in (MADE, OTHER, "text", 0, IgnoreRequest(), ValueError())),
    *({"request": (answer,)} for answer in (None, MADE, OTHER, "text")),
    *({"response": answer} for answer in (CHANGED, OTHER, None, "text", IgnoreRequest(), ValueError())),
    *({"response": (answer,)} for answer in (CHANGED, OTHER, None)),
    *({"exception": answer} for answer in (MADE, OTHER, "text", (MADE,), KeyError())),
    {"request": MADE, "response": (OTHER,)},
]


@pytest.mark.parametrize("downloaded", [DOWNLOADED, None, OTHER, OSError(), IgnoreRequest()], ids=repr)
@pytest.mark.parametrize("answers", CASES, ids=repr)
def test_the_outcome_is_scrapys(answers: dict[str, Any], downloaded: Any) -> None:
    """The same result or kind of error, after the same calls."""
    ours, scrapys = (outcome(kind, answers, downloaded) for kind in (MiddlewareManager, DownloaderMiddlewareManager))
    assert ours == scrapys
    assert ours[1][0] == "first request"


class Outdated:
    """Written for Scrapy before 2.13."""

    def __init__(self) -> None:
        self.spiders: list[Spider] = []

    def process_request(self, request: Request, spider: Spider) -> None:
        self.spiders.append(spider)

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response:
        self.spiders.append(spider)
        return response


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_a_middleware_that_wants_the_spider_gets_it() -> None:
    """As it does from Scrapy."""
    crawler = get_crawler(Spider)
    crawler.spider = crawler._create_spider("shop")
    outdated = Outdated()

    async def download(request: Request) -> Response:
        return DOWNLOADED

    with pytest.warns(ScrapyDeprecationWarning):
        manager = MiddlewareManager(outdated, crawler=crawler)
    assert asyncio.run(manager.download_async(download, REQUEST)) is DOWNLOADED
    assert outdated.spiders == [crawler.spider] * 2


def test_a_warning_comes_once() -> None:
    """The middlewares are Scrapy's own choice, made and warned about by it."""
    crawler = get_crawler(Spider, {"DOWNLOADER_MIDDLEWARES": {Outdated: 1}, "DOWNLOAD_HANDLERS_BASE": {}})
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        manager = Downloader(crawler).middleware
    told = [
        str(warning.message).partition("()")[0] for warning in warned if "spider argument" in str(warning.message)
    ]
    assert sorted(told) == ["Outdated.process_request", "Outdated.process_response"]
    assert isinstance(manager, MiddlewareManager)
    assert isinstance(manager.middlewares[0], Outdated)


def test_a_new_slot_owes_no_pause() -> None:
    """Also where the machine has just begun, and with it the monotonic clock."""

    async def run() -> float:
        nothing = dict.fromkeys(("http", "https"))
        downloader = Downloader(get_crawler(Spider, {"DOWNLOAD_DELAY": 3600, "DOWNLOAD_HANDLERS": nothing}))
        try:
            _, slot = downloader._get_slot(REQUEST)
            return slot.lastseen + 2 * slot.delay
        finally:
            downloader.close()

    assert asyncio.run(run()) < 0
