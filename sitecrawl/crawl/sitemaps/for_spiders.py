"""Sitemaps in anybody's spider: `for sitemap in await sitemaps_of(self.crawler, "example.com")`."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from sitecrawl.page.sitemap.finder import Fetched, Sitemap, find_sitemaps


async def sitemaps_of(crawler: Crawler, site: str, *, most: int = 100) -> list[Sitemap]:
    """As `find_sitemaps`, with the crawler's own downloads: its middlewares, its robots.txt, its redirects.

    To be called in `start` or in a callback. An address that cannot be had is none.
    """

    async def fetch(url: str) -> Fetched | None:
        assert crawler.engine
        # A missing sitemap is an answer, and no trouble of the network.
        request = Request(url, callback=NO_CALLBACK, meta={"dont_retry": True})
        try:
            response = await crawler.engine.download_async(request)
        except IgnoreRequest:
            return None
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing came
            crawler.stats.inc_value(f"sitemaps/exceptions/{type(error).__name__}")
            return None
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        return Fetched(response.url, response.status, response.body, headers)

    return await find_sitemaps(site, fetch, most=most)
