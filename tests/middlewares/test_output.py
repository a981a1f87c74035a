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

from middlewares.output import JOINED, LinksMiddleware, OutputMiddleware
from sitecrawl.addon import Addon
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import VISIT
from sitecrawl.page.items import Link, PageItem
from sitecrawl.urls.url import parse


class Choosy(Spider):
    """Follows links of a.example only."""

    name = "choosy"

    def admits(self, link: Link) -> bool:
        return link.host == "a.example"


class Links:
    """The middleware of a crawl whose seed has just been fetched."""

    def __init__(self, directory: Path, spider: type[Spider]) -> None:
        crawler = get_crawler(spider, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(directory)})
        crawler.spider = spider()
        self.stats = crawler.stats
        self.crawl = Crawl.of(crawler)
        self.middleware = LinksMiddleware.from_crawler(crawler)
        self.crawl.seeding.seed([parse("http://a.example/")])
        visit = self.crawl.frontier.next()
        assert visit is not None
        self.fetch: Fetch = self.crawl.fetches.begin(visit, Request(visit.url, meta={VISIT: visit.key}))

    def page(self, *urls: str, key: bytes | None = None) -> PageItem:
        links = [Link(url.href, url.host) for url in map(parse, urls)]
        return PageItem(self.fetch.visit.url, 200, 0.0, links=links, key=self.fetch.visit.key if key is None else key)

    def waiting(self) -> int:
        return self.crawl.frontier.figures.waiting


@pytest.fixture
def links(tmp_path: Path) -> Iterator[Links]:
    made = Links(tmp_path, Choosy)
    yield made
    made.crawl.checkpoints.close_files()


def test_a_spider_chooses(links: Links) -> None:
    """What `admits` says no to is counted as found, and stays unknown."""
    page = links.page("http://a.example/1", "http://b.example/", "http://a.example/1")
    assert list(links.middleware.process_spider_output(Response(page.url), [page, {"an": "item"}])) == [
        page,
        {"an": "item"},
    ]
    assert links.waiting() == 1
    assert [links.stats.get_value(f"links/{name}") for name in ("found", "followed", "new")] == [3, 2, 1]


def test_a_spider_chooses_all_at_once(tmp_path: Path) -> None:
    """One call for the links of a page, where it has a method for that."""
    asked = []

    class AtOnce(Choosy):
        def admitted(self, links: list[Link]) -> list[Link]:
            asked.append(len(links))
            return links[1:]

    made = Links(tmp_path, AtOnce)
    page = made.page("http://a.example/1", "http://b.example/", "http://b.example/2")
    list(made.middleware.process_spider_output(Response(page.url), [page]))
    assert asked == [3]
    assert made.waiting() == 2
    made.crawl.checkpoints.close_files()


def test_asynchronous_output(links: Links) -> None:
    """A callback that is an asynchronous generator is read in the same way."""

    async def output() -> AsyncIterator[Any]:
        yield links.page("http://a.example/1")

    async def consume() -> int:
        result = links.middleware.process_spider_output_async(Response("http://a.example/"), output())
        return len([item async for item in result])

    assert asyncio.run(consume()) == 1
    assert links.waiting() == 1


def test_a_page_made_by_hand_has_no_links_to_follow(links: Links) -> None:
    """Without a visit behind it nobody vouches for its links; the item goes on."""
    page = links.page("http://a.example/1", key=b"")
    assert list(links.middleware.process_spider_output(Response(page.url), [page])) == [page]
    assert links.waiting() == 0


def test_without_admits_every_link_is_followed(tmp_path: Path) -> None:
    """An ordinary spider that yields pages crawls the web."""

    class Plain(Spider):
        name = "plain"

    made = Links(tmp_path, Plain)
    page = made.page("http://a.example/1", "http://b.example/")
    list(made.middleware.process_spider_output(Response(page.url), [page]))
    assert made.waiting() == 2
    made.crawl.checkpoints.close_files()


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
