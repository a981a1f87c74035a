"""Limits on what a response may make the crawler do: follow, and unpack."""

from __future__ import annotations

import logging
import re
from typing import Final
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.httpobj import urlparse_cached

from sitecrawl.base import limits
from sitecrawl.base.errors import InvalidUrl
from sitecrawl.crawl.requests import VISIT
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.extensions.download_handler import LimitExceeded
from sitecrawl.pagestore.gzipping import MAX_CODINGS
from sitecrawl.urls.url import parse

logger = logging.getLogger(__name__)

_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_FROM_OTHERS: Final = frozenset({"depth", "redirect_times", "retry_times", VISIT})
"""What the `meta` of a request has that a page led to, or another request."""
_WEB: Final = frozenset({"http", "https"})


class TooLargeDecoded(LimitExceeded):
    """A body that has more than DOWNLOAD_MAXSIZE bytes without its content coding, or too many codings to look."""


class DecodingMiddleware(HttpCompressionMiddleware):
    """Downloader middleware in the place of Scrapy's: a body that unpacks to too much is no page."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._runtime = Runtime.of(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        try:
            _check_codings(response)
            return super().process_response(request, response)
        except IgnoreRequest as error:
            self._runtime.stats.inc_value(limits.DECODED_SIZE.stat)
            if (fetch := self._runtime.fetch_of(request)) is not None:
                fetch.failed(TooLargeDecoded.__name__)
            raise TooLargeDecoded(str(error)) from error


def _check_codings(response: Response) -> None:
    if b",".join(response.headers.getlist("Content-Encoding")).count(b",") >= MAX_CODINGS:
        raise IgnoreRequest(f"{response} has more than {MAX_CODINGS} content codings")


class RedirectsMiddleware:
    """Downloader middleware, just before Scrapy's `RedirectMiddleware`: counts the redirects that it will not follow,
    because they are too many, or lead out of the web.
    """

    def __init__(self, runtime: Runtime, *, max_redirects: int) -> None:
        self._stats = runtime.stats
        self._max_redirects = max_redirects

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RedirectsMiddleware:
        return cls(Runtime.of(crawler), max_redirects=crawler.settings.getint(limits.REDIRECTS.setting))

    def process_response(self, request: Request, response: Response) -> Response:
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location is not None:
            scheme = _SCHEME.match(location.strip())
            if scheme is not None and scheme[0][:-1].lower().decode() not in _WEB:
                self._stats.inc_value(limits.SCHEMES.stat)
            elif request.meta.get("redirect_times", 0) >= self._max_redirects:
                self._stats.inc_value(limits.REDIRECTS.stat)
        return response


class RequestsMiddleware(BaseSpiderMiddleware):
    """Spider middleware: the hosts of a spider's first requests are seeds' hosts, as are those of requests that no
    page led to; and a page of the web leads to no scheme but those of `SITECRAWL_SCHEMES`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._runtime = Runtime.of(crawler)
        self._max_length = crawler.settings.getint(limits.URL_LENGTH.setting)
        self._schemes = frozenset(crawler.settings.getlist(limits.SCHEMES.setting))
        self._of_pages: WeakSet[Request] = WeakSet()
        crawler.signals.connect(self._scheduled, signals.request_scheduled)

    def _scheduled(self, request: Request) -> None:
        """A spider that takes its URLs from elsewhere when it is idle hands them to the engine itself."""
        if request not in self._of_pages and not _FROM_OTHERS & request.meta.keys():
            self._name_seed(request)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is None:
            self._name_seed(request)
            return request
        self._of_pages.add(request)
        if 0 < self._max_length < len(request.url):
            self._runtime.stats.inc_value(limits.URL_LENGTH.stat)  # Scrapy's `UrlLengthMiddleware` drops it
        scheme = urlparse_cached(request).scheme
        if scheme in self._schemes or urlparse_cached(response).scheme not in _WEB:
            return request
        self._runtime.stats.inc_value(limits.SCHEMES.stat)
        logger.info("Not followed from %s, for its scheme: %s", response.url, request.url[:100])
        return None

    def _name_seed(self, request: Request) -> None:
        try:
            self._runtime.seed_hosts.add(parse(request.url).host)
        except InvalidUrl:
            return  # it has no host
