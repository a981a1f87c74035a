"""Keep the pages of a host that is down for a while."""

from __future__ import annotations

import logging

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from middlewares.capture import BUSY
from sitecrawl.crawl.build import Crawl

logger = logging.getLogger(__name__)


class OutagesMiddleware:
    """Downloader middleware, nearer to the wire than Scrapy's `RetryMiddleware`, which counts the failures of a page.

    While a host that has answered before fails for one URL after the other, it is the host's failure: the request is
    put back as it was, until the host answers or is given up.
    """

    def __init__(self, crawl: Crawl, settings: BaseSettings) -> None:
        if not settings.getbool("RETRY_ENABLED"):
            raise NotConfigured  # with a reason, it would be a warning
        self._crawl = crawl
        self._errors = tuple(load_object(name) for name in settings.getlist("RETRY_EXCEPTIONS"))
        self._priority_adjust = settings.getint("RETRY_PRIORITY_ADJUST")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutagesMiddleware:
        return cls(Crawl.of(crawler), crawler.settings)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        return self._again(request) or response if response.status in BUSY else response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        return self._again(request) if isinstance(exception, self._errors) else None

    def _again(self, request: Request) -> Request | None:
        return put_back(self._crawl, request, self._priority_adjust)


def put_back(crawl: Crawl, request: Request, priority_adjust: int) -> Request | None:
    """Request that puts a page back unchanged, if its host fails for all pages; else None."""
    fetch = crawl.fetches.of(request)
    if fetch is None or request.meta.get("dont_retry") or not crawl.frontier.manners.is_out(fetch.visit):
        return None
    crawl.stats.inc_value("outages/put_back")
    logger.debug("Put back, for its host is down: %s", request)
    return request.replace(dont_filter=True, priority=request.priority + priority_adjust)
