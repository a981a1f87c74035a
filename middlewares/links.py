"""Give the links of a page to the frontier in one batch."""

from __future__ import annotations

from functools import partial
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

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
        assert crawler.stats
        self._crawl = Crawl.of(crawler)
        self._stats = crawler.stats

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
