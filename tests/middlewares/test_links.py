"""Which links of a page reach the frontier."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from middlewares.links import LinksMiddleware
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
