"""Scrapy's log messages, without a page of traceback for every host that is down."""

from __future__ import annotations

import logging
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from scrapy.logformatter import LogFormatterResult
from twisted.python.failure import Failure

from sitecrawl.base.display import without_query
from sitecrawl.crawl.requests import LOGIN

logger = logging.getLogger(__name__)


class LogFormatter(ScrapyLogFormatter):
    """A failed download is a line at INFO with its traceback at DEBUG; the summary counts it by kind.

    DEBUG messages are composed only if they are logged: Scrapy's two a page took 30 us.
    """

    def __init__(self, *, debug: bool = True) -> None:
        self._debug = debug

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        level = crawler.settings.get("LOG_LEVEL")
        number = level if isinstance(level, int) else logging.getLevelNamesMapping().get(str(level), logging.DEBUG)
        return cls(debug=crawler.settings.getbool("LOG_ENABLED") and number <= logging.DEBUG)

    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        return super().crawled(_shown(request), response, spider) if self._debug else None

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        return super().scraped(item, response, spider) if self._debug else None

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        request = _shown(request)
        result = super().download_error(failure, request, spider, errmsg)
        reason = f"{failure.type.__name__}: {failure.getErrorMessage()}" if failure.type is not None else "no reason"
        logger.info("Not downloaded: %s: %s", request, reason, extra={"spider": spider})
        result["level"] = logging.DEBUG  # Scrapy adds the traceback to its own
        return result


def _shown(request: Request) -> Request:
    """The request for a message, without the query of a login."""
    return request.replace(url=without_query(request.url)) if LOGIN in request.meta else request
