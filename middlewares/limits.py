"""Limits on unpacking responses, and on requests that spiders make of them."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import Final
from weakref import WeakSet

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.python import global_object_name

from sitecrawl.base import limits
from sitecrawl.base.errors import NoParser
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import LimitExceeded
from sitecrawl.crawl.page_reading import NO_PARSER, with_content
from sitecrawl.crawl.privates import is_closing, stop
from sitecrawl.crawl.requests import NOT_DECODED, VISIT
from sitecrawl.extensions.lighter import add_default
from sitecrawl.page.codings import Decoded, TooLarge, checked, decoding
from sitecrawl.page.process_pool import Quarantined
from sitecrawl.urls.url import CRAWLED, parse_or_none

logger = logging.getLogger(__name__)

_FROM_OTHERS: Final = frozenset({"depth", "redirect_times", "retry_times", VISIT})
"""`Request.meta` keys of requests that come from a page or another request."""
_ACCEPTED: Final = b", ".join(ACCEPTED_ENCODINGS)
_TURN_SECONDS: Final = 0.01
"""Seconds of unpacking between two turns of the event loop."""


class TooLargeDecoded(LimitExceeded):
    """A body of more than DOWNLOAD_MAXSIZE bytes without content codings, or with too many codings."""


class Unread(LimitExceeded):
    """An answer that broke the process that was to decode it."""


class DecodingMiddleware(HttpCompressionMiddleware):
    """Downloader middleware that replaces Scrapy's decompression: a body that unpacks to too much fails, and the
    event loop goes on while a large one is unpacked.

    With `SITECRAWL_PARSE_PROCESSES`, responses are decoded and read in other processes.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._most = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    def open_spider(self, spider: Spider) -> None:
        super().open_spider(spider)
        self._most = getattr(spider, "download_maxsize", self._most)

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        add_default(request.headers, b"Accept-Encoding", _ACCEPTED)

    async def process_response(self, request: Request, response: Response) -> Response:  # type: ignore[override]
        most = request.meta.get("download_maxsize", self._most) or NO_LIMIT
        has_body = bool(response.body) and request.method != "HEAD"
        try:
            if has_body and self._crawl.reading.is_isolated:
                return self._counted(response, await self._read_elsewhere(request, response, most))
            if has_body and "Content-Encoding" in response.headers:
                return self._counted(response, await _decoded(response, most))
        except TooLarge as error:
            raise self._too_large(request, response, error) from error
        return response

    async def _read_elsewhere(self, request: Request, response: Response, most: int) -> Response:
        fetch = self._crawl.fetches.of(request)
        try:
            return await self._crawl.reading.arrived(response, max_size=most, page=fetch is not None)
        except Quarantined as error:
            raise Unread(f"{response}: {error.reason}") from error
        except NoParser as error:
            if fetch is not None:
                fetch.interrupted = True
            if not is_closing(self._crawler):
                logger.error("%s", error)
                stop(self._crawler, NO_PARSER)
            raise

    def _counted(self, response: Response, decoded: Response) -> Response:
        if "Content-Encoding" in response.headers:
            self._crawl.stats.inc_value("httpcompression/response_bytes", len(decoded.body))
            self._crawl.stats.inc_value("httpcompression/response_count")
        return decoded

    def _too_large(self, request: Request, response: Response, error: TooLarge) -> TooLargeDecoded:
        reason = f"{response}: {error}"
        logger.info("Given up: %s", reason)
        self._crawl.stats.inc_value(limits.DECODED_SIZE.stat)
        self._count_failed(request, response)
        if (fetch := self._crawl.fetches.of(request)) is not None:
            fetch.failed(TooLargeDecoded.__name__)
        return TooLargeDecoded(reason)

    def _count_failed(self, request: Request, response: Response) -> None:
        """Count it as a failed download in Scrapy's stats, and no longer as an answer."""
        stats, fetch = self._crawl.stats, self._crawl.fetches.of(request)
        stats.inc_value("downloader/exception_count")
        stats.inc_value(f"downloader/exception_type_count/{global_object_name(TooLargeDecoded)}")
        if fetch is None or not (fetch.visit.is_requisite or fetch.is_miss):  # of those it was none
            stats.inc_value(f"{NOT_DECODED}{response.status}")


async def _decoded(response: Response, most: int) -> Response:
    """`response` without its codings, yielding to the event loop now and then. Raises as `checked` does."""
    steps, since = decoding(response.body, _codings_of(response), most), perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return _unpacked(response, checked(end.value))
        if perf_counter() - since > _TURN_SECONDS:
            await asyncio.sleep(0)
            since = perf_counter()


def _codings_of(response: Response) -> list[str]:
    return [coding.decode("latin-1") for coding in response.headers.getlist("Content-Encoding")]


def _unpacked(response: Response, decoded: Decoded) -> Response:
    if decoded.left:
        logger.warning("%s stays in the coding %s, which is not known", response, ", ".join(decoded.left))
    return with_content(response, decoded.body, [coding.encode("latin-1") for coding in decoded.left])


class RequestsMiddleware(BaseSpiderMiddleware):
    """Spider middleware: hosts of a spider's first requests, and of requests that no page led to, count as seeds'
    hosts; pages lead only to http, https and crawled schemes.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._max_length = limits.URL_LENGTH.read(crawler.settings)
        self._schemes = {*limits.SCHEMES.value, *self._crawl.schemes}
        self._of_pages: WeakSet[Request] = WeakSet()
        crawler.signals.connect(self._scheduled, signals.request_scheduled)

    def _scheduled(self, request: Request) -> None:
        """Treat requests that a spider passes to the engine itself, as it may when idle, like first requests."""
        if request not in self._of_pages and not _FROM_OTHERS & request.meta.keys():
            self._name_seed(request)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is None:
            self._name_seed(request)
            return request
        self._of_pages.add(request)
        if 0 < self._max_length < len(request.url):
            self._crawl.stats.inc_value(limits.URL_LENGTH.stat)  # Scrapy's `UrlLengthMiddleware` drops it
        scheme = urlparse_cached(request).scheme
        if scheme in self._schemes or urlparse_cached(response).scheme not in CRAWLED:
            return request
        self._crawl.stats.inc_value(limits.SCHEMES.stat)
        logger.info("Not followed from %s, for its scheme: %s", response.url, request.url[:100])
        return None

    def _name_seed(self, request: Request) -> None:
        url = parse_or_none(request.url, schemes=CRAWLED)
        if url is not None:  # otherwise it has no host
            self._crawl.seed_hosts.add(url.host)
