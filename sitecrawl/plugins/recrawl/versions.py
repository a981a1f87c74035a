"""What the page store has of a URL that is asked for again."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeGuard

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from middlewares.output import admitted
from sitecrawl.base.errors import InvalidUrl, StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_reading import PageReading
from sitecrawl.crawl.requests import CONDITIONS
from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.page.items import Headers, Link, PageItem
from sitecrawl.pagestore import Capture, PageReader
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.plugins.recrawl import BUDGET, MAX_INTERVAL, MIN_INTERVAL
from sitecrawl.plugins.recrawl.schedule import MAX_VALIDATOR, RecrawlOptions

logger = logging.getLogger(__name__)
_CHUNK: Final = 1_000
"""Records read from the database at once."""
_ENDED: Final = frozenset({UrlState.FETCHED, UrlState.FAILED})


@dataclass(frozen=True, slots=True)
class Version:
    """The newest capture that says what stands at a URL, and what is needed to ask whether it still does."""

    capture: Capture
    conditions: dict[str, str]
    """Headers by which a server says so in few bytes (RFC 9110, section 13.1)."""

    @property
    def is_page(self) -> bool:
        return self.capture.kind == "page"


class Versions:
    """See the module. Knows what the last checkpoint has of the page store in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._reader: PageReader | None = None

    def of(self, url: str) -> Version | None:
        """None where nothing of use is stored, or it cannot be read."""
        try:
            if self._reader is None:
                self._reader = PageReader(self._directory)
            capture = self._reader.last_word(clean_text(url_key(url)))
            if capture is None:
                return None
            headers = self._reader.headers_of(capture) if capture.kind == "page" and capture.status == 200 else []
        except StorageError as error:
            logger.warning(
                "What is stored of %s cannot be read, and it is asked for without conditions: %s", url, error
            )
            return None
        return Version(capture, conditions_of(headers))

    def ask(self, request: Request) -> Version | None:
        """Stored version of the URL of `request`, a conditional one."""
        version = self.of(request.url)
        if version is not None and request.url.startswith("http"):
            for name, value in version.conditions.items():
                request.headers.setdefault(name, value)
        return version

    def links(self, version: Version, reading: PageReading) -> list[Link]:
        """The links of a stored page; none where it cannot be read."""
        assert self._reader is not None
        try:
            stored = self._reader.read(self._reader.rendered(version.capture) or version.capture)
            page = reading.read_page(version.capture.url, stored.body, stored.headers)
        except (StorageError, InvalidUrl) as error:
            logger.warning("The links of %s, which has not changed, cannot be read: %s", version.capture.url, error)
            return []
        for link in page.links:
            link.nofollow |= page.nofollow
        return page.links

    def text(self, version: Version, reading: PageReading) -> bytes:
        """The digest of what a reader sees of it; empty where that cannot be had."""
        assert self._reader is not None
        capture = version.capture
        try:
            dom = self._reader.rendered(capture)
            charset = capture.charset if dom is None else "utf-8"  # in which every DOM is written
            body = self._reader.read(dom or capture).body
            return reading.text_digest(
                PageItem(capture.url, content_type=capture.content_type, charset=charset, body=body)
            )
        except StorageError as error:
            logger.warning("%s cannot be compared with what is stored of it: %s", version.capture.url, error)
            return b""

    def pass_on(self, crawler: Crawler, fetch: Fetch, version: Version | None) -> None:
        """Let the credit of a page that has not changed flow along the links that it had."""
        assert crawler.spider
        if version is not None and version.is_page:
            crawl = Crawl.of(crawler)
            crawl.found.expand(fetch, admitted(crawler.spider, self.links(version, crawl.reading)))

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


def conditions_of(headers: Headers) -> dict[str, str]:
    """Conditional request headers for a page that came with `headers`."""
    said = {name.lower(): value.decode("latin-1").strip() for name, value in headers}
    found = {name: said.get(of, "") for name, of in CONDITIONS.items()}
    return {name: value for name, value in found.items() if value and len(value) <= MAX_VALIDATOR}


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
