"""What a spider yields: the links of a page go to the frontier in one batch, and one pass does for all middlewares.

Scrapy passes the output through asynchronous generators, three for each spider middleware; with Scrapy's four and
ours that took a tenth of a page's time.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.metacopy import MetaCopyDetectionMiddleware
from scrapy.spidermiddlewares.start import StartSpiderMiddleware
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware
from scrapy.utils.misc import build_from_crawler

from middlewares.limits import RequestsMiddleware
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_item import page_item
from sitecrawl.page.items import Link, PageItem


class LinksMiddleware(BaseSpiderMiddleware):
    """Spider middleware: a `PageItem`'s links go to the frontier, the item itself goes on to the pipelines.

    A spider with a method `admits(link: Link) -> bool` decides which links are followed; without one, all are. Where
    it has `admitted(links: list[Link])` as well, which gives those of a page, only that is asked. A method
    `score(link: Link) -> float` says what comes first in the order `best`, the greatest.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._stats = self._crawl.stats

    def process_spider_input(self, response: Response) -> None:
        """Store pages of spiders that yield none: see `Fetch.own_page`."""
        fetch = self._crawl.fetches.of(response.request)
        if fetch is not None:
            fetch.read = partial(page_item, response, self._crawl)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if isinstance(item, PageItem):
            self._follow(item)
        return item

    def _follow(self, page: PageItem) -> None:
        fetch = self._crawl.fetches.get(page.key)
        if fetch is None:  # made by hand: no visit, so nothing whose links these could be
            return
        fetch.page = page
        if not fetch.links_are_known:  # those of a page that is a sitemap, too, are
            self._expand(fetch, page)
        parts = [part for part in page.requisites if part.url not in fetch.brought]
        self._crawl.found.require(page.key, parts, depth=fetch.visit.depth)

    def _expand(self, fetch: Fetch, page: PageItem) -> None:
        links = admitted(self._spider, page.links) if self._crawl.fetches.follows(fetch, page) else []
        score = getattr(self._spider, "score", None)
        new = self._crawl.found.expand(fetch, links, nofollow=page.nofollow, score=score)
        self._stats.inc_value("links/found", len(page.links))
        self._stats.inc_value("links/followed", len(links))
        self._stats.inc_value("links/new", new)

    @property
    def _spider(self) -> Spider:
        assert self.crawler.spider
        return self.crawler.spider


def admitted(spider: Spider, links: list[Link]) -> list[Link]:
    """Those of `links` that `spider` follows."""
    if (of_all := getattr(spider, "admitted", None)) is not None:
        return list(of_all(links))
    admits = getattr(spider, "admits", None)
    return links if admits is None else [link for link in links if admits(link)]


JOINED: Final[tuple[type[BaseSpiderMiddleware], ...]] = (
    MetaCopyDetectionMiddleware,
    LinksMiddleware,
    RequestsMiddleware,
    DepthMiddleware,
    UrlLengthMiddleware,
    StartSpiderMiddleware,
)
"""Joined middlewares from the spider to the engine, ordered as in `SPIDER_MIDDLEWARES_BASE` and the add-on's.
Without `RefererMiddleware`, because Scrapy's `RedirectMiddleware` looks for it."""


_Process = Callable[[Any, Response | None], Any]


class OutputMiddleware:
    """Spider middleware that does what all `JOINED` do, and in their order.

    `sitecrawl.extensions.shorter_way` calls `process_one` for each output, where it can.
    """

    def __init__(self, parts: Iterable[BaseSpiderMiddleware], fail: Callable[[StorageError], None]) -> None:
        parts = list(parts)
        self._fail = fail
        self._inputs = [part.process_spider_input for part in parts if isinstance(part, LinksMiddleware)]
        self._depth = next(part for part in parts if isinstance(part, DepthMiddleware))
        self._for_requests: list[_Process] = [part.get_processed_request for part in parts]
        self._for_items: list[_Process] = [part.get_processed_item for part in parts if _looks_at_items(part)]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutputMiddleware:
        return cls(_configured(crawler), Crawl.of(crawler).checkpoints.fail)

    async def process_start(self, start: AsyncIterable[Any]) -> AsyncIterator[Any]:
        async for processed in self._all_processed(start, None):
            yield processed

    def process_spider_input(self, response: Response) -> None:
        for look_at in self._inputs:
            look_at(response)

    async def process_spider_output(self, response: Response, result: AsyncIterable[Any]) -> AsyncIterator[Any]:
        self.begin_output(response)
        async for processed in self._all_processed(result, response):
            yield processed

    def begin_output(self, response: Response) -> None:
        if "depth" not in response.meta:
            for _ in self._depth.process_spider_output(response, ()):
                pass  # it notes the depth of the response when it is run

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        """Handle an exception of a callback that is no generator."""
        if not isinstance(exception, StorageError):
            return None
        self._fail(exception)
        return ()

    async def _all_processed(self, outputs: AsyncIterable[Any], response: Response | None) -> AsyncIterator[Any]:
        """Process all outputs, up to an error of the crawl's files, which Scrapy would log, losing the page's
        links.
        """
        try:
            async for output in outputs:
                if (processed := self.process_one(output, response)) is not None:
                    yield processed
        except StorageError as error:
            self._fail(error)

    def process_one(self, output: Any, response: Response | None) -> Any:
        for process in self._for_requests if isinstance(output, Request) else self._for_items:
            output = process(output, response)
            if output is None:
                return None
        return output


def _looks_at_items(part: BaseSpiderMiddleware) -> bool:
    """Whether `part` overrides the method for items; most do not."""
    return type(part).get_processed_item is not BaseSpiderMiddleware.get_processed_item


def _configured(crawler: Crawler) -> Iterator[BaseSpiderMiddleware]:
    for kind in JOINED:
        try:
            yield build_from_crawler(kind, crawler)
        except NotConfigured:
            continue
