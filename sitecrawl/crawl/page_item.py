"""A Scrapy response as a `PageItem`."""

from __future__ import annotations

from scrapy.http import Response
from scrapy.statscollectors import StatsCollector

from sitecrawl.base import limits
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.record import NO_REFERRER
from sitecrawl.page.items import PageItem, pairs
from sitecrawl.page.links import PageFacts, read_page
from sitecrawl.page.markup import TooMuch
from sitecrawl.page.simhash import simhash


def page_item(response: Response, runtime: Runtime) -> PageItem:
    """The page that `response` brought, with the facts that are read off it. An error's links are left out."""
    fetch = runtime.fetch_of(response.request)
    facts = read_page(response.url, response.body, pairs(response.headers), options=runtime.page_options)
    _count(facts, runtime.stats)
    return PageItem(
        url=response.url.partition("#")[0],
        status=response.status,
        fetched=fetch.exchange.started if fetch is not None and fetch.exchange is not None else 0.0,
        depth=response.meta.get("depth", 0),
        referrer=_referrer(fetch, runtime),
        content_type=facts.content_type,
        charset=facts.charset,
        title=facts.title,
        canonical=facts.canonical,
        noindex=facts.noindex,
        nofollow=facts.nofollow,
        text_hash=simhash(facts.text) if facts.text else None,
        size=len(response.body),
        body=response.body,
        links=facts.links if 200 <= response.status < 300 else [],
        key=fetch.visit.key if fetch is not None else b"",
        exchange=fetch.exchange if fetch is not None else None,
    )


def _count(facts: PageFacts, stats: StatsCollector) -> None:
    for limit, times in (
        (limits.SCHEMES, facts.skipped),
        (limits.URL_LENGTH, facts.too_long),
        (limits.LINKS, facts.cut),
        (limits.TREE_SIZE, facts.no_tree == TooMuch.SIZE),
        (limits.TREE_ELEMENTS, facts.no_tree == TooMuch.ELEMENTS),
    ):
        if times:
            stats.inc_value(limit.stat, int(times))


def _referrer(fetch: Fetch | None, runtime: Runtime) -> str | None:
    if fetch is None or fetch.visit.referrer == NO_REFERRER:
        return None
    record = runtime.frontier.urls.get(fetch.visit.referrer)
    return record.url if record is not None else None
