"""What came back from a sitemap's address."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from scrapy.http import Response

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_reading import PageReading
from sitecrawl.crawl.sitemaps.locations import SitemapAnswer
from sitecrawl.crawl.sitemaps.record import SitemapRecord
from sitecrawl.page.items import PageItem, pairs
from sitecrawl.page.media_type import HTML

_HEAD: Final = 64 << 10
"""Bytes read to tell what an answer is: 10 MB of pretended HTML would take a second."""
_TEXT: Final = 512 << 10
"""Bytes of a page whose text is compared."""


@dataclass(slots=True)
class SitemapResponse:
    """One answer to the request for a sitemap, robots.txt or front page."""

    key: bytes
    record: SitemapRecord
    fetch: Fetch
    response: Response
    head: PageItem
    """What the first bytes of it say."""
    now: float = field(default_factory=time.time)

    @classmethod
    def of(cls, record: SitemapRecord, fetch: Fetch, response: Response, reading: PageReading) -> SitemapResponse:
        head = reading.read_page(response.url, response.body[:_HEAD], pairs(response.headers))
        return cls(fetch.visit.key, record, fetch, response, head)

    @property
    def seconds(self) -> float:
        return self.fetch.exchange.seconds if self.fetch.exchange is not None else 0.0

    @property
    def is_success(self) -> bool:
        return 200 <= self.response.status < 300

    @property
    def is_page(self) -> bool:
        """Whether it is a page of the crawl, too."""
        return self.is_success and self.head.content_type in HTML and not self.record.is_guess

    @property
    def answer(self) -> SitemapAnswer:
        return SitemapAnswer.of(self.response.url, self.response.status, self.response.body[:_TEXT], self.head)

    def header(self, name: str) -> str:
        return (self.response.headers.get(name) or b"").decode("latin-1")
