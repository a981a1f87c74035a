"""Our way through the downloader middlewares has the outcome of Scrapy's, whatever a middleware answers."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.exceptions import IgnoreRequest, NotSupported, ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.downloader import Downloader, MiddlewareManager, unwrapped

URL = "http://a.example/"
REQUEST, OTHER = Request(URL), Request(URL + "other")
DOWNLOADED, MADE, CHANGED = Response(URL), Response(URL, status=201), Response(URL, status=202)


ERRORS = (IgnoreRequest, KeyError, OSError, TypeError, ValueError)


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
        return self._answer(f"exception {type(exception).__name__}", None)

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
        return None, calls, type(error)


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


@pytest.mark.parametrize("name", ["_process_request", "_process_response"])
def test_what_is_overridden_is_scrapys_private(name: str) -> None:
    """Scrapy calls these by name, with these parameters: an override of what is gone would never be called."""
    theirs, ours = getattr(DownloaderMiddlewareManager, name, None), getattr(MiddlewareManager, name)
    assert theirs is not None, f"DownloaderMiddlewareManager.{name} is gone"
    assert inspect.signature(theirs).parameters.keys() == inspect.signature(ours).parameters.keys()
    assert name in DownloaderMiddlewareManager.download_async.__code__.co_names, f"Scrapy no longer calls {name}"


def test_what_is_read_is_scrapys_private() -> None:
    """How a middleware that wants the spider is known, and called."""
    manager = DownloaderMiddlewareManager(Middleware("any", []), crawler=get_crawler(Spider))
    assert {len(manager.methods[f"process_{name}"]) for name in ("request", "response", "exception")} == {1}
    assert manager._mw_methods_requiring_spider == set(), "MiddlewareManager._mw_methods_requiring_spider has changed"
    assert manager._handle_mw_method(dict, value=1) == {"value": 1}, "_handle_mw_method has changed"


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


def test_scrapys_look_for_a_spider() -> None:
    """What Scrapy puts around its own methods is left out, and nobody else's."""
    agent, own = UserAgentMiddleware("me"), Middleware("own", [])
    method = unwrapped(agent.process_request)
    assert method.__code__.co_filename == inspect.getsourcefile(UserAgentMiddleware)
    request = Request(URL)
    assert method(request=request) is None
    assert request.headers["User-Agent"] == b"me"
    assert unwrapped(own.process_request) == own.process_request


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


@pytest.mark.parametrize(
    "url",
    [
        *(f"http{end}" for end in ("://a.example/", "s://a.example:8443/b?c", "://A.Example/", "://1.2.3.4:80/")),
        *(
            f"http://{rest}"
            for rest in ("a:1@b.example/", "a@b.example/", "[::1]:80/", "a_b.example/", "a.example?b")
        ),
        *("http://a.example", "http:///a", "ftp://a.example/", "data:,text", "file:///a", "http://xn--a.example:/"),
    ],
)
def test_a_slot_is_scrapys(url: str) -> None:
    """However a URL is written, its slot is the one that Scrapy gives it; so is what a request itself says."""

    async def keys(kind: type[ScrapyDownloader]) -> list[str]:
        downloader = kind(get_crawler(Spider, {"DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"))}))
        try:
            return [downloader.get_slot_key(Request(url, meta=meta)) for meta in ({}, {"download_slot": "own"})]
        finally:
            downloader.close()

    ours, scrapys = (asyncio.run(keys(kind)) for kind in (Downloader, ScrapyDownloader))
    assert ours == scrapys
    assert ours[1] == "own"


class Handler:
    """Says who it is."""

    lazy = True

    def __init__(self, crawler: Any) -> None: ...

    @classmethod
    def from_crawler(cls, crawler: Any) -> Handler:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        return Response(request.url, body=type(self).__name__.encode())

    async def close(self) -> None: ...


class Secure(Handler): ...


@pytest.mark.parametrize("url", ["http://a.example/", "https://a.example:1/b", "http://a@b.example/", "s3://a/b"])
def test_a_handler_is_scrapys(url: str) -> None:
    """However a URL is written, the handler is asked that Scrapy asks, and what has none is no more supported."""
    handlers = {"http": f"{__name__}.Handler", "https": f"{__name__}.Secure", "s3": None}

    async def answer(kind: type[ScrapyDownloader]) -> bytes | None:
        crawler = get_crawler(Spider, {"DOWNLOAD_HANDLERS": handlers})
        crawler.spider = crawler._create_spider("any")
        downloader = kind(crawler)
        try:
            return (await downloader.handlers.download_request_async(Request(url))).body
        except NotSupported:
            return None
        finally:
            downloader.close()

    ours, scrapys = (asyncio.run(answer(kind)) for kind in (Downloader, ScrapyDownloader))
    assert ours == scrapys
    assert ours == {"http": b"Handler", "https": b"Secure"}.get(url.partition(":")[0])


@pytest.mark.parametrize("name", ["_get_handler", "_old_style_handlers"])
def test_what_handlers_are_asked_is_scrapys_private(name: str) -> None:
    """Scrapy's own way to a handler asks the same."""
    assert name in DownloadHandlers.download_request_async.__code__.co_names, f"DownloadHandlers.{name} has changed"
