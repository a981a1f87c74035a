"""All that looks at a spider's output, in one pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware
from scrapy.spidermiddlewares.start import StartSpiderMiddleware
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from middlewares.output import JOINED, OutputMiddleware
from sitecrawl.addon import Addon
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl


class Own(BaseSpiderMiddleware):
    """A project's."""


def middlewares(**own: int) -> list[Any]:
    """The spider middlewares of a project that has these itself, the engine's side first."""
    settings = Settings({"SPIDER_MIDDLEWARES": {f"{__name__}.{name}": order for name, order in own.items()}})
    Addon().update_settings(settings)
    paths = build_component_list(settings.get_component_priority_dict_with_base("SPIDER_MIDDLEWARES"))
    return [load_object(path) for path in paths]


def test_what_is_joined_is_all_that_scrapy_and_we_have() -> None:
    """Every middleware that looks at output is in it, in the order in which each would be alone."""
    others = (Own, RefererMiddleware)
    apart = [kind for kind in middlewares(Own=543) if issubclass(kind, BaseSpiderMiddleware) and kind not in others]
    assert list(JOINED) == apart[::-1]


def test_a_project_without_its_own_has_them_in_one() -> None:
    """None of them is there a second time."""
    found = middlewares()
    assert OutputMiddleware in found
    assert not set(found) & set(JOINED)


def test_a_project_with_its_own_keeps_the_order() -> None:
    """Its middleware may want to stand between two of them."""
    found = middlewares(Own=750)
    assert OutputMiddleware not in found
    assert [kind for kind in found if kind in {*JOINED, Own}] == [StartSpiderMiddleware, Own, *JOINED[-2::-1]]


class Plain(Spider):
    name = "plain"


class Output:
    """The middleware of a crawl with `settings`."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        addons = {"sitecrawl.addon.Addon": 500}
        self.crawler = get_crawler(Plain, {"ADDONS": addons, "JOBDIR": str(directory), **settings})
        self.crawler.spider = Plain()
        self.middleware = OutputMiddleware.from_crawler(self.crawler)

    def of(self, response: Response, *outputs: Any) -> list[Any]:
        """What comes through of what a callback yields for `response`."""
        return asyncio.run(_all(self.middleware.process_spider_output(response, _each(outputs))))

    def started(self, *outputs: Any) -> list[Any]:
        return asyncio.run(_all(self.middleware.process_start(_each(outputs))))


async def _each(outputs: tuple[Any, ...]) -> AsyncIterator[Any]:
    for output in outputs:
        yield output


async def _all(outputs: AsyncIterator[Any]) -> list[Any]:
    return [output async for output in outputs]


@pytest.fixture
def output(tmp_path: Path) -> Iterator[Output]:
    made = Output(tmp_path, DEPTH_LIMIT=2, URLLENGTH_LIMIT=50)
    yield made
    Crawl.of(made.crawler).checkpoints.close_files()


def answer(url: str = "http://a.example/", **meta: Any) -> Response:
    return Response(url, request=Request(url, meta=meta))


def test_requests_go_through_every_part(output: Output) -> None:
    """Depth, and what is too long or no web page: as each middleware alone would have it."""
    wanted, item = Request("http://a.example/b"), {"an": "item"}
    gone = [Request("http://a.example/" + "x" * 50), Request("ftp://a.example/")]
    assert output.of(answer(depth=1), gone[0], item, wanted, gone[1]) == [item, wanted]
    assert wanted.meta["depth"] == 2
    assert output.of(answer(depth=2), Request("http://a.example/c")) == []
    stats = output.crawler.stats.get_stats()
    assert (stats["request_depth_max"], stats["depth/request_ignored_count"], stats["limits/scheme"]) == (2, 1, 1)
    assert stats["limits/url_length"] == 1


def test_a_response_without_depth_has_none(output: Output) -> None:
    """That of a start request: what it leads to has 1."""
    response, wanted = answer(), Request("http://a.example/b")
    assert output.of(response, wanted) == [wanted]
    assert (response.meta["depth"], wanted.meta["depth"]) == (0, 1)


def test_start_requests_are_marked(output: Output) -> None:
    """And their hosts are seeds'."""
    request, item = Request("http://a.example/"), {"an": "item"}
    assert output.started(request, item) == [request, item]
    assert request.meta["is_start_request"] is True
    assert "a.example" in Crawl.of(output.crawler).seed_hosts


def test_a_part_may_be_switched_off(tmp_path: Path) -> None:
    """By its own setting."""
    made = Output(tmp_path, URLLENGTH_LIMIT=0)
    wanted = Request("http://a.example/" + "x" * 10_000)
    assert made.of(answer(), wanted) == [wanted]
    Crawl.of(made.crawler).checkpoints.close_files()


def test_an_error_of_the_crawls_files_ends_it(output: Output) -> None:
    """Scrapy would log that of a callback, and take the page for done, whose links are lost."""
    errors: list[StorageError] = []
    middleware = OutputMiddleware([DepthMiddleware.from_crawler(output.crawler)], errors.append)
    error = StorageError("a block of the database is damaged")

    async def failing() -> AsyncIterator[Any]:
        yield {"an": "item"}
        raise error

    assert asyncio.run(_all(middleware.process_spider_output(answer(), failing()))) == [{"an": "item"}]
    assert asyncio.run(_all(middleware.process_start(failing()))) == [{"an": "item"}]
    assert middleware.process_spider_exception(answer(), error) == ()
    assert errors == [error] * 3
    assert middleware.process_spider_exception(answer(), ValueError()) is None
