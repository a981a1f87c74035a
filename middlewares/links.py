"""Give the links of a page to the frontier in one batch."""

from __future__ import annotations

from functools import partial
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_item import page_item
from sitecrawl.crawl.requisites import require
from sitecrawl.crawl.rereading import Rereading
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.page.items import Link, PageItem
from sitecrawl.pagestore import Capture


class LinksMiddleware(BaseSpiderMiddleware):
    """Spider middleware: a `PageItem`'s links go to the frontier, the item itself goes on to the pipelines.

    A spider with a method `admits(link: Link) -> bool` decides which links are followed; without one, all are. Where
    it has `admitted(links: list[Link])` as well, which gives those of a page, only that is asked. A method
    `score(link: Link) -> float` says what comes first in the order `best`, the greatest.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        assert crawler.stats
        self._runtime = Runtime.of(crawler)
        self._stats = crawler.stats
        self._rereading = Rereading(crawler, self._follow_again)

    def process_spider_input(self, response: Response) -> None:
        """Store pages of spiders that yield none: see `Fetch.own_page`."""
        fetch = self._runtime.fetch_of(response.request)
        if fetch is not None:
            fetch.given(partial(page_item, response, self._runtime))

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if isinstance(item, PageItem):
            self._follow(item)
        return item

    def _follow(self, page: PageItem) -> None:
        fetch = self._runtime.fetches.get(page.key)
        if fetch is None:  # made by hand: no visit, so nothing whose links these could be
            return
        fetch.parsed(page)
        if not fetch.links_are_known:  # those of a page that is a sitemap, too, are
            self._expand(fetch, page)
        parts = [part for part in page.requisites if part.url not in fetch.brought]
        self._require(parts, page.key, depth=fetch.visit.depth)

    def _require(self, parts: list[Link], key: bytes, *, depth: int) -> None:
        if parts:
            most = self._runtime.reading.max_requisites
            require(self._runtime, key, parts, depth=depth, allowance=most)

    def _expand(self, fetch: Fetch, page: PageItem) -> None:
        links = self._admitted(page.links) if self._runtime.content.follows(fetch, page) else []
        new = self._runtime.expand(fetch, links, nofollow=page.nofollow, score=getattr(self._spider, "score", None))
        self._stats.inc_value("links/found", len(page.links))
        self._stats.inc_value("links/followed", len(links))
        self._stats.inc_value("links/new", new)

    def _admitted(self, links: list[Link]) -> list[Link]:
        if (admitted := getattr(self._spider, "admitted", None)) is not None:
            return list(admitted(links))
        admits = getattr(self._spider, "admits", None)
        return links if admits is None else [link for link in links if admits(link)]

    def _follow_again(self, links: list[Link], parts: list[Link], capture: Capture) -> int:
        """Follow links of a stored page again, or of a redirect, which adds no depth."""
        links = self._admitted(links)
        if (score := getattr(self._spider, "score", None)) is not None:
            for link in links:
                link.score = score(link)
        depth = (capture.depth or 0) + (capture.redirect_to is None)
        new = self._runtime.rediscover(capture.url, links, depth=max(1, depth))
        self._require(parts, self._runtime.key_of(capture.url), depth=capture.depth or 0)
        return new

    @property
    def _spider(self) -> Spider:
        assert self.crawler.spider
        return self.crawler.spider
