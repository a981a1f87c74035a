"""Limits on what a response may make the crawler do: follow, and unpack."""

from __future__ import annotations

import asyncio
import logging
import re
from time import perf_counter
from typing import Final
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.httpobj import urlparse_cached

from sitecrawl.base import limits
from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.limits import NO_LIMIT
from sitecrawl.crawl.engine import is_closing, stop
from sitecrawl.crawl.reading import NO_PARSER, with_content
from sitecrawl.crawl.requests import REDIRECTS_SIZE, VISIT
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.extensions.download_errors import LimitExceeded
from sitecrawl.extensions.lighter import set_default
from sitecrawl.isolation.pool import NoParser, Quarantined
from sitecrawl.page.codings import Decoded, TooLarge, checked, decoding
from sitecrawl.page.items import pairs
from sitecrawl.page.refusals import Kind, Refusal
from sitecrawl.urls.url import CRAWLED, WEB, parse

logger = logging.getLogger(__name__)

_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_FROM_OTHERS: Final = frozenset({"depth", "redirect_times", "retry_times", VISIT})
"""What the `meta` of a request has that a page led to, or another request."""
_TURN_SECONDS: Final = 0.01
"""For which a body may be unpacked without a pause."""


class TooLargeDecoded(LimitExceeded):
    """A body that has more than DOWNLOAD_MAXSIZE bytes without its content coding, or too many codings to look."""


class Unread(LimitExceeded):
    """An answer on which the process broke that was to decode it: nobody knows what it says."""


class LoginWall(IgnoreRequest):
    """A page that redirects to one that asks for a login."""


class DecodingMiddleware(HttpCompressionMiddleware):
    """Downloader middleware in the place of Scrapy's: a body that unpacks to too much is no page, and the crawl goes
    on while a large one is unpacked.

    With `SITECRAWL_PARSE_PROCESSES` it has what came decoded and read in a process of its own.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._crawler = crawler
        self._runtime = Runtime.of(crawler)

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        set_default(request.headers, b"Accept-Encoding", b", ".join(ACCEPTED_ENCODINGS))

    async def process_response(self, request: Request, response: Response) -> Response:  # type: ignore[override]
        most = request.meta.get("download_maxsize", self._max_size) or NO_LIMIT
        has_body = bool(response.body) and request.method != "HEAD"
        try:
            if has_body and self._runtime.reading.is_isolated:
                return self._counted(response, await self._read_elsewhere(request, response, most))
            if has_body and "Content-Encoding" in response.headers:
                return self._counted(response, await _decoded(response, most))
        except TooLarge as error:
            raise self._too_large(request, f"{response}: {error}") from error
        return response

    async def _read_elsewhere(self, request: Request, response: Response, most: int) -> Response:
        fetch = self._runtime.fetch_of(request)
        try:
            return await self._runtime.reading.arrived(response, max_size=most, page=fetch is not None)
        except Quarantined as error:
            raise Unread(f"{response}: {error.reason}") from error
        except NoParser as error:
            if fetch is not None:
                fetch.interrupt()
            if not is_closing(self._crawler):
                logger.error("%s", error)
                stop(self._crawler, NO_PARSER)
            raise

    def _counted(self, response: Response, decoded: Response) -> Response:
        if "Content-Encoding" in response.headers:
            self._runtime.stats.inc_value("httpcompression/response_bytes", len(decoded.body))
            self._runtime.stats.inc_value("httpcompression/response_count")
        return decoded

    def _too_large(self, request: Request, reason: str) -> TooLargeDecoded:
        logger.info("Given up: %s", reason)
        self._runtime.stats.inc_value(limits.DECODED_SIZE.stat)
        if (fetch := self._runtime.fetch_of(request)) is not None:
            fetch.failed(TooLargeDecoded.__name__)
        return TooLargeDecoded(reason)


async def _decoded(response: Response, most: int) -> Response:
    """`response` without its codings; others have their turn every now and then. Raises as `checked` does."""
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


class RedirectsMiddleware:
    """Downloader middleware, just before Scrapy's `RedirectMiddleware`: counts the redirects that it will not follow,
    because they are too many, bring too much together, or lead out of the web.
    """

    def __init__(self, runtime: Runtime, *, max_redirects: int, max_size: int) -> None:
        self._runtime = runtime
        self._stats = runtime.stats
        self._max_redirects = max_redirects
        self._max_size = max_size

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RedirectsMiddleware:
        return cls(
            Runtime.of(crawler),
            max_redirects=crawler.settings.getint(limits.REDIRECTS.setting),
            max_size=crawler.settings.getint(limits.REDIRECT_SIZE.setting),
        )

    def process_response(self, request: Request, response: Response) -> Response:
        if not 300 <= response.status < 400:
            return response
        location = response.headers.get("Location")
        if location is not None:
            self._check_login(request, location)
            scheme = _SCHEME.match(location.strip())
            if scheme is not None and scheme[0][:-1].lower().decode() not in WEB:
                self._stats.inc_value(limits.SCHEMES.stat)
            elif request.meta.get("redirect_times", 0) >= self._max_redirects:
                self._stats.inc_value(limits.REDIRECTS.stat)
            else:
                self._count(request, response)
        return response

    def _check_login(self, request: Request, location: bytes) -> None:
        """One look at a page that asks for a login is enough."""
        refusals = self._runtime.refusals
        if refusals.leads_to_login(request.url, location.decode("latin-1").strip()):
            refusals.met(request.url, Refusal(Kind.LOGIN_WALL))
            raise LoginWall(f"{request.url} redirects to a page that asks for a login")

    def _count(self, request: Request, response: Response) -> None:
        """What the request that Scrapy makes of this one is to know."""
        size = request.meta.get(REDIRECTS_SIZE, 0) + _size(response)
        if size < (request.meta.get("download_maxsize", self._max_size) or NO_LIMIT):
            request.meta[REDIRECTS_SIZE] = size
        else:
            self._stats.inc_value(limits.REDIRECT_SIZE.stat)
            request.meta["redirect_ttl"] = 0  # no more redirects: Scrapy drops it, where it would have followed it


def _size(response: Response) -> int:
    """Bytes as they came."""
    return len(response.body) + sum(len(name) + len(value) for name, value in pairs(response.headers))


class RequestsMiddleware(BaseSpiderMiddleware):
    """Spider middleware: the hosts of a spider's first requests are seeds' hosts, as are those of requests that no
    page led to; and a page of the web leads to no scheme but those of `SITECRAWL_SCHEMES`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._runtime = Runtime.of(crawler)
        self._max_length = crawler.settings.getint(limits.URL_LENGTH.setting)
        self._schemes = {*crawler.settings.getlist(limits.SCHEMES.setting), *self._runtime.schemes}
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
        if scheme in self._schemes or urlparse_cached(response).scheme not in CRAWLED:
            return request
        self._runtime.stats.inc_value(limits.SCHEMES.stat)
        logger.info("Not followed from %s, for its scheme: %s", response.url, request.url[:100])
        return None

    def _name_seed(self, request: Request) -> None:
        try:
            self._runtime.seed_hosts.add(parse(request.url, schemes=CRAWLED).host)
        except InvalidUrl:
            return  # it has no host
