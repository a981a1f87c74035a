"""Capture every request and response nearest to the wire."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import Response

from sitecrawl.base import limits
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import (
    BadAnswer,
    Interrupted,
    InWant,
    LimitExceeded,
    NothingYet,
    PrivateAddress,
    PutOff,
    TooSlow,
)
from sitecrawl.crawl.fetch import Fetch, SentAt, exchange_of
from sitecrawl.crawl.requests import GUESSES, LOGIN, OF_REQUISITES, host_of
from sitecrawl.page.items import Exchange, Headers

BUSY = frozenset({429, 503})
"""Statuses of overloaded hosts (RFC 6585 §4, RFC 9110 §15.6.4)."""
_OF_HOSTS = (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    LimitExceeded,
    ResponseDataLossError,
)
"""Failures that are the host's, so that this machine lacks nothing."""
_STORED = ("http://", "https://", "ftp://")
"""Schemes that go into the page store; file and data URLs have no host."""
_NOT_STORED = frozenset({"ftp_local_filename", LOGIN})


class CaptureMiddleware:
    """Downloader middleware, last before the downloader. Keeps the exchange for the page store and reports duration
    and outcome to the frontier, which frees the host for its next request.
    """

    def __init__(self, crawl: Crawl, *, max_retry_after: float) -> None:
        self._crawl = crawl
        self._max_retry_after = max_retry_after
        self._started: WeakKeyDictionary[Request, SentAt] = WeakKeyDictionary()
        """Send times of requests under way."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CaptureMiddleware:
        most = limits.RETRY_AFTER.read(crawler.settings)
        return cls(Crawl.of(crawler), max_retry_after=most)

    def process_request(self, request: Request) -> None:
        self._started[request] = SentAt()

    def process_response(self, request: Request, response: Response) -> Response:
        # A response that a cache or a middleware has made was never sent for: it is stored like any other.
        self._crawl.pause.end()
        self._crawl.pause.heard(request.url)
        exchange = exchange_of(request, response, self._started.pop(request, SentAt()), self._shown(request))
        fetch = self._crawl.fetches.of(request)
        if fetch is not None:
            self._arrived(fetch, exchange, is_stored=_is_stored(request))
        elif _is_stored(request):
            self._crawl.fetches.put(exchange)
        return response

    def _shown(self, request: Request) -> Headers:
        access = self._crawl.access
        return access.shown(request.url, host_of(request.url)) if access and request.url.startswith("http") else ()

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        fetch = self._crawl.fetches.of(request)
        started = self._started.pop(request, None)
        if isinstance(exception, InWant):
            self._crawl.pause.suffer(exception.want)
            return (
                fetch.give_back(self._crawl.pause.put_back(exception.want, request.url))
                if fetch is not None
                else None
            )
        if isinstance(exception, StopDownload):
            self._stopped(fetch, exception, started)
        else:
            self._failed(request, fetch, exception, started)
        return None

    def _stopped(self, fetch: Fetch | None, stop: StopDownload, started: SentAt | None) -> None:
        """Handle a download that was stopped on our side after the host answered."""
        if fetch is not None and stop.response is not None:
            fetch.arrived(stop.response.status)
            seconds = started.seconds if started is not None else 0.0
            self._crawl.frontier.downloaded(fetch.visit, seconds)

    def _failed(self, request: Request, fetch: Fetch | None, exception: Exception, started: SentAt | None) -> None:
        if isinstance(exception, _OF_HOSTS):
            self._crawl.pause.end()
        if fetch is not None and isinstance(exception, Interrupted):
            fetch.interrupted = True
        if fetch is None or (isinstance(exception, IgnoreRequest) and not isinstance(exception, LimitExceeded)):
            return
        if isinstance(exception, PrivateAddress):
            fetch.exclude("private address")
            return
        fetch.failed(type(exception).__name__)
        seconds = started.seconds if started is not None else 0.0
        # A host that sends too much, or something broken, has not failed: it answers.
        failed = not isinstance(exception, LimitExceeded | DownloadCancelledError | BadAnswer | ResponseDataLossError)
        if isinstance(exception, NothingYet):  # neither an answer nor a failure; it rests as after others
            host = fetch.visit.host
            seconds = host.pace.pays(host.active) if host is not None else 0.0
            self._crawl.frontier.downloaded(fetch.visit, seconds, failed=None)
            return
        if isinstance(exception, PutOff | TooSlow):
            failed = fetch.visit.host is None or not fetch.visit.host.has_answered
            seconds = request.meta.get("download_latency", seconds)  # while it dripped the host had nothing to do
        if failed:
            self._crawl.fetches.failures[host_of(fetch.visit.url)] = type(exception), str(exception)
        self._crawl.frontier.downloaded(fetch.visit, seconds, failed=failed)

    def _arrived(self, fetch: Fetch, exchange: Exchange, *, is_stored: bool) -> None:
        fetch.arrived(exchange.status, exchange if is_stored else None)
        if fetch.is_miss:  # here, as Scrapy's statistics, that count every answer
            self._crawl.stats.inc_value(f"{GUESSES}{exchange.status}")
        if fetch.visit.is_requisite:
            self._crawl.stats.inc_value(f"{OF_REQUISITES}{exchange.status}")
        if self._crawl.browsers and fetch.may_be_rendered:
            return  # its host is free when that is done
        busy = exchange.status in BUSY
        is_open = self._crawl.refusals.are_looked_for and not is_decided(exchange.status)
        wait = retry_after(exchange.headers, exchange.started + exchange.seconds) if busy else 0.0
        if wait > self._max_retry_after:
            self._crawl.stats.inc_value(limits.RETRY_AFTER.stat)
        self._crawl.frontier.downloaded(
            fetch.visit,
            exchange.seconds,
            ip=exchange.ip,
            failed=None if is_open else busy,
            retry_after=min(wait, self._max_retry_after),
        )


def is_decided(status: int) -> bool:
    """Whether the status alone tells if the host has failed; otherwise the body decides."""
    return status in BUSY or 300 <= status < 400


def _is_stored(request: Request) -> bool:
    """Whether to store the response. Not if Scrapy's FTP handler wrote it to a file, and not for a login, which has
    the password.
    """
    return request.url.startswith(_STORED) and _NOT_STORED.isdisjoint(request.meta)


def retry_after(headers: Sequence[tuple[bytes, bytes]], now: float) -> float:
    """Seconds of a Retry-After header (RFC 9110 §10.2.3), a number or a date; 0 without one."""
    for name, value in headers:
        if name.lower() == b"retry-after":
            text = value.decode("latin-1").strip()
            if text.isascii() and text.isdigit():  # a superscript two is a digit, and no number
                return float(text[:9])
            try:
                return max(0.0, parsedate_to_datetime(text).timestamp() - now)
            except (ValueError, OverflowError):
                return 0.0
    return 0.0
