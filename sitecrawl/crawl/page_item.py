"""A Scrapy response as a `PageItem`."""

from __future__ import annotations

from typing import Final

from scrapy.http import Response

from sitecrawl.crawl.build import Crawl
from sitecrawl.frontier.urls.record import NO_REFERRER
from sitecrawl.page.items import PageItem

_CHOICES: Final = 300
"""Status other than 2xx whose links are followed: Multiple Choices (RFC 9110, section 15.4.1)."""


def page_item(response: Response, crawl: Crawl) -> PageItem:
    """The page that `response` brought, with the facts that are read off it. An error's links are left out."""
    reading = crawl.reading.page_of(response)
    page = reading.page
    for limit, times in reading.met.items():
        crawl.stats.inc_value(limit.stat, times)
    page.status = response.status
    page.depth = response.meta.get("depth", 0)
    if not 200 <= page.status < 300 and page.status != _CHOICES:
        page.links, page.requisites, page.hrefs = [], [], 0
    fetch = crawl.fetches.of(response.request)
    if fetch is not None:
        page.key = fetch.visit.key
        page.referrer = _url_of(fetch.visit.referrer, crawl)
        page.exchange, page.sent = fetch.exchange, fetch.sent
        page.fetched = fetch.exchange.started if fetch.exchange is not None else 0.0
    return page


def _url_of(key: bytes, crawl: Crawl) -> str | None:
    record = crawl.frontier.urls.get(key) if key != NO_REFERRER else None
    return record.url if record is not None else None
