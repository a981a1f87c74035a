"""Known URLs that a crawl may fetch again: all of them in short turns, what they count, and the settings for that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import islice
from typing import Final, TypeGuard

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from middlewares.links import admitted
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.page.items import PageItem
from sitecrawl.plugins.recrawl import BUDGET, MAX_INTERVAL, MIN_INTERVAL
from sitecrawl.plugins.recrawl.schedule import RecrawlOptions
from sitecrawl.plugins.recrawl.versions import Version, Versions

_CHUNK: Final = 1_000
"""Records read from the database at once."""
_ENDED: Final = frozenset({UrlState.FETCHED, UrlState.FAILED})


def options(settings: BaseSettings) -> RecrawlOptions:
    """The `SITECRAWL_RECRAWL_*` settings."""
    return RecrawlOptions(
        budget=BUDGET.read(settings),
        min_interval=max(MIN_INTERVAL.read(settings), 0.001),
        max_interval=MAX_INTERVAL.read(settings),
    )


async def askable(crawl: Crawl, pause: Callable[[], Awaitable[None]]) -> AsyncIterator[tuple[bytes, UrlRecord]]:
    """Yield URLs that were asked for as pages or forbidden by robots.txt, each with its key and current record. Those
    of forms and a spider's own requests are left out. Raises `StorageError` and what `pause` raises.
    """
    start = b""
    while rows := list(islice(crawl.database.scan("urls", start), _CHUNK)):
        for key, _ in rows:
            record = crawl.frontier.urls.get(key)
            if record is not None and _is_askable(record) and crawl.keys.key_of(record.url) == key:
                yield key, record
            await pause()
        start = rows[-1][0] + b"\0"


def _is_askable(record: UrlRecord) -> bool:
    has_ended = record.state in _ENDED or (record.state == UrlState.EXCLUDED and record.cause == Cause.ROBOTS)
    return has_ended and not record.flags & (Flag.REQUISITE | Flag.VOLATILE)


def is_page(page: PageItem | None) -> TypeGuard[PageItem]:
    """Whether this is a page that can be compared with an earlier version. So is one of several choices (300)."""
    return page is not None and 200 <= page.status <= 300 and not page.quarantined


def importance_of(crawl: Crawl, record: UrlRecord) -> float:
    """The page's share of all importance in this process, from 0 to 1."""
    return crawl.ours.local.link_credit.ledger.importance(record)


def pass_on(crawler: Crawler, fetch: Fetch, version: Version | None, versions: Versions) -> None:
    """Let the credit of a page that has not changed flow along the links that it had."""
    assert crawler.spider
    if version is not None and version.is_page:
        crawl = Crawl.of(crawler)
        crawl.found.expand(fetch, admitted(crawler.spider, versions.links(version, crawl.reading)))
