"""Hands the links of a page to the frontier, all in one batch."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.items import PageItem
from sitecrawl.links import Link
from sitecrawl.runtime import Runtime


class LinksMiddleware:
    """Spider middleware: a `PageItem`'s links go to the frontier, the item itself goes on to the pipelines.

    A spider with a method `admits(link: Link) -> bool` decides which links are followed; without one, all are. One
    with a method `score(link: Link) -> float` says what comes first in the order `best`, the greatest.
    """

    def __init__(self, crawler: Crawler, runtime: Runtime) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._runtime = runtime
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LinksMiddleware:
        return cls(crawler, Runtime.of(crawler))

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        for output in result:
            if isinstance(output, PageItem):
                self._follow(output)
            yield output

    async def process_spider_output_async(self, response: Response, result: AsyncIterable[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, PageItem):
                self._follow(output)
            yield output

    def _follow(self, page: PageItem) -> None:
        fetch = self._runtime.fetches.get(page.key)
        if fetch is None:  # made by hand: no visit, so nothing whose links these could be
            return
        if fetch.exchange is page.exchange:
            fetch.exchange = None  # the item carries it from here on: who drops the item drops it, too
        fetch.content = page
        if fetch.expanded:  # a page that is a sitemap, too
            return
        links = [link for link in page.links if self._admits(link)]
        score = getattr(self._spider, "score", None)
        new = self._runtime.expand(fetch, links, nofollow=page.nofollow, score=score)
        self._stats.inc_value("links/found", len(page.links))
        self._stats.inc_value("links/followed", len(links))
        self._stats.inc_value("links/new", new)

    def _admits(self, link: Link) -> bool:
        admits = getattr(self._spider, "admits", None)
        return admits is None or admits(link)

    @property
    def _spider(self) -> Spider:
        assert self._crawler.spider
        return self._crawler.spider
