"""Scrapy's handler for http and https: `sitecrawl.http`, with the limits of docs/limits.md on everything.

- *Addresses* are checked when a connection is made (`network`). A name that goes through a proxy is the proxy's
  business.
- *Headers*, those of 1xx responses included, over one response, the *chunks* of its body, and its *size*.
- *Silence* (`watch`): the time since the request, the end of the headers, or the last byte of the body.

Names are looked up by Twisted's resolver, as `TWISTED_DNS_RESOLVER` has it, with its cache and its threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from time import monotonic
from typing import Any, Final

from scrapy import Request, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
    UnsupportedURLSchemeError,
)
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import is_asyncio_available
from twisted.python.failure import Failure

from sitecrawl import http
from sitecrawl.base import limits
from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawl import configuration
from sitecrawl.crawl.access import Access
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import (
    HELPS,
    STATS,
    IdleTimeout,
    LimitExceeded,
    NoTls,
    PutOff,
    excuse,
    for_scrapy,
)
from sitecrawl.crawl.requests import CONDITIONS, FIRST_PART, NEW_COOKIES, REDIRECTS_SIZE
from sitecrawl.crawl.traffic import PUT_OFF
from sitecrawl.extensions.network import bind_address, check_address, client_of
from sitecrawl.extensions.signal_manager import is_heard
from sitecrawl.extensions.watch import Watch
from sitecrawl.frontier.urls.host import Host
from sitecrawl.http import addresses
from sitecrawl.page.items import Headers as Fields
from sitecrawl.page.items import pairs
from sitecrawl.pagestore.record import NOT_MODIFIED
from sitecrawl.urls.url import Url, parse

logger = logging.getLogger(__name__)

_MOST_TOLD: Final = 100
"""Most hosts for which advice is logged."""
_SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods (RFC 9110 §9.2.1)."""
_PORTS: Final = {"http": 80, "https": 443}
_FRAMING: Final = frozenset({b"connection", b"content-length", b"transfer-encoding", b"proxy-authorization"})
"""Request headers that the client sets itself."""


class DownloadHandler(BaseDownloadHandler):
    """See the module."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        if not is_asyncio_available():
            reactor = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
            raise OptionError(f"sitecrawl downloads on asyncio: set TWISTED_REACTOR to {reactor}")
        assert crawler.stats
        self._stats = crawler.stats
        self._max_size = limits.BODY_SIZE.read(settings)
        self._warn_size = settings.getint("DOWNLOAD_WARNSIZE")
        self._needs_all = settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self._timeout = limits.TOTAL_TIME.read(settings)
        self._keeps_levels = settings.getint("DEPTH_LIMIT") > 0 and configuration.order(settings).by_level
        self._retries = settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0
        self._bind = bind_address(settings.get("DOWNLOAD_BIND_ADDRESS"))
        self._client = client_of(crawler)
        self._hosts_told: set[str] = set()
        self._watch = Watch(crawler, self._client.pool.prune)

    @cached_property
    def _access(self) -> Access:
        """Made at the first fetch, because Scrapy only logs errors in making a handler."""
        return Crawl.of(self.crawler).access

    async def download_request(self, request: Request) -> Response:
        try:
            return await self._download(request)
        except (LimitExceeded, DownloadTimeoutError, DownloadCancelledError) as error:
            is_of_chain = isinstance(error, DownloadCancelledError) and REDIRECTS_SIZE in request.meta
            self._stats.inc_value(limits.REDIRECT_SIZE.stat if is_of_chain else STATS[type(error)])
            if isinstance(error, PutOff):
                request.meta[PUT_OFF] = True
            if isinstance(error, LimitExceeded):  # Scrapy says nothing of an `IgnoreRequest`
                logger.info("Given up: %s: %s", request, error)
            raise

    async def _download(self, request: Request) -> Response:
        url = _url(request)
        download = http.Download(self._client, self._sent(request, url))
        timeout = request.meta.get("download_timeout", self._timeout)
        shown = partial(self._heard, request, url)
        is_proxied = bool(self._access.proxy_of(url.host))
        response = _Arriving(self.crawler, request, download, self._warn_size, shown, is_proxied=is_proxied)
        try:
            again = not self._may_be_put_off(request)
            host = None if again else self._host_of(request)
            with self._watch.over(download, request.url, timeout, is_again=again, host=host):
                await download.run(max_size=self._size_limit(request), on_head=response.head, on_data=response.data)
            return response.made()
        except http.Enough:
            return response.stopped()
        except http.Truncated as error:
            if request.meta.get("download_fail_on_dataloss", self._needs_all):
                raise ResponseDataLossError(str(error)) from error
            return response.made(["dataloss"])
        except DownloadTimeoutError as error:
            if isinstance(error, IdleTimeout) or download.progress <= 0:
                await excuse(error, download)
            raise
        except http.HttpError as error:
            await excuse(error, download)
            raise self._told(url, for_scrapy(error)) from error
        finally:
            response.drop()  # an error keeps its traceback, and that the body's pieces, until a cycle is collected

    def _may_be_put_off(self, request: Request) -> bool:
        """Whether this is a first attempt that will be repeated if put off."""
        meta = request.meta
        is_first = not (meta.get("retry_times") or meta.get("dont_retry"))
        return is_first and bool(meta.get("max_retry_times", self._retries) > 0)

    def _host_of(self, request: Request) -> Host | None:
        """Host in the frontier whose seat the request has, if it may be put off before an answer: a request safe
        to repeat, with nothing that waits for it as for the last URL of a level.
        """
        crawl = Crawl.of(self.crawler)
        fetch = crawl.fetches.behind(request) if request.method in _SAFE else None
        return None if fetch is None or self._keeps_levels else fetch.visit.host

    def _heard(self, request: Request, url: Url, headers: Fields) -> Fields:
        """Keep the cookies that an answer sets; return its headers masked."""
        cookies = self._access.cookies
        before = cookies.changes
        shown = self._access.heard(url.href, url.host, headers)
        if cookies.changes != before:
            request.meta[NEW_COOKIES] = True
        return shown

    def _told(self, url: Url, error: Exception) -> Exception:
        """Log advice once a host, if there is any."""
        is_new = url.host not in self._hosts_told and len(self._hosts_told) < _MOST_TOLD
        if isinstance(error, NoTls) and HELPS in str(error) and is_new:
            self._hosts_told.add(url.host)
            logger.warning("No TLS with %s: %s", url.host, error)
        return error

    def _size_limit(self, request: Request) -> int:
        if FIRST_PART in request.meta:
            return NO_LIMIT
        size: int = request.meta.get("download_maxsize", self._max_size)
        spent: int = request.meta.get(REDIRECTS_SIZE, 0)
        return (size or NO_LIMIT) - spent

    def _sent(self, request: Request, url: Url) -> http.Request:
        proxy, proxy_login = self._proxy(request, url)
        may_connect = partial(check_address, self.crawler, request.url, url.host)
        if proxy is not None and (address := addresses.meant(url.host)):
            may_connect(address)  # what any other name means is up to the proxy
        return http.Request(
            method=request.method,
            target=url.target,
            host=url.host,
            endpoint=_endpoint(url.scheme, url.host),
            headers=self._access.sent(
                url.href,
                url.host,
                [(name, value) for name, value in pairs(request.headers) if name.lower() not in _FRAMING],
            ),
            body=request.body,
            proxy=proxy,
            proxy_login=proxy_login,
            bind=bind_address(request.meta.get("bindaddress")) or self._bind,
            may_connect=may_connect,
        )

    def _proxy(self, request: Request, url: Url) -> tuple[http.Proxy | None, bytes]:
        """Proxy of the request, by its host's sheet or its own, and the credentials for it."""
        of_sheet = self._access.proxy_of(url.host)
        if of_sheet is None:
            return _proxy(request.meta.get("proxy")), request.headers.get(b"Proxy-Authorization") or b""
        return _proxy(of_sheet), http.login_in(of_sheet)

    async def close(self) -> None:
        self._watch.stop()
        self._client.close()


class _Arriving:
    """A response under way: sends Scrapy's signals, and stops if a receiver says so."""

    def __init__(
        self,
        crawler: Crawler,
        request: Request,
        download: http.Download,
        warn_size: int,
        shown: Callable[[Fields], Fields],
        *,
        is_proxied: bool,
    ) -> None:
        self._crawler = crawler
        self._request = request
        self._download = download
        self._shown = shown
        self._is_proxied = is_proxied
        self._headers: Fields = ()
        self._started = monotonic()
        self._warn_size = request.meta.get("download_warnsize", warn_size) or NO_LIMIT
        self._enough: int = request.meta.get(FIRST_PART, NO_LIMIT)
        self._size = 0
        self._stop: StopDownload | None = None

    @property
    def _reader(self) -> http.ResponseReader:
        assert self._download.reader is not None
        return self._download.reader

    @property
    def _may_stop(self) -> bool:
        """Whether receivers may stop it; not a robots.txt, of which a part has other rules."""
        return FIRST_PART not in self._request.meta

    def head(self) -> None:
        if self._reader.status == NOT_MODIFIED and not any(name in self._request.headers for name in CONDITIONS):
            raise http.BadResponse("The answer is 304 Not Modified, and no version was named")  # no empty page
        self._request.meta["download_latency"] = monotonic() - self._started
        length = self._reader.length
        self._warn(length or 0)
        self._headers = self._shown(self._reader.headers)
        if is_heard(signals.headers_received, self._crawler.signals.sender):
            self._send(signals.headers_received, headers=_scrapys(self._headers), body_length=length)

    def data(self, data: bytes) -> None:
        self._size += len(data)
        self._warn(self._size)
        self._send(signals.bytes_received, data=data)
        if self._size > self._enough:
            raise http.Enough

    def _send(self, signal: object, **what: Any) -> None:
        answers = self._crawler.signals.send_catch_log(
            signal, request=self._request, spider=self._crawler.spider, **what
        )
        for receiver, answer in answers:
            if isinstance(answer, Failure) and isinstance(answer.value, StopDownload) and self._may_stop:
                name = getattr(receiver, "__qualname__", receiver)
                logger.debug("Download stopped for %s from signal handler %s", self._request, name)
                self._stop = answer.value
                raise http.Enough

    def _warn(self, size: int) -> None:
        if size > self._warn_size:
            logger.warning("%s brings more bytes than DOWNLOAD_WARNSIZE: %d", self._request, size)
            self._warn_size = NO_LIMIT

    def made(self, flags: list[str] | None = None) -> Response:
        """Scrapy's response from what has arrived."""
        reader = self._reader
        headers, body = _scrapys(self._headers), b"".join(reader.body)
        url = self._request.url.partition("#")[0]
        kind = _kind_of(headers, url, body)
        connection = self._download.connection
        assert connection is not None
        response = kind(
            url=url,
            status=reader.status,
            body=body,
            flags=flags,
            certificate=connection.certificate,
            ip_address=None if self._is_proxied else connection.address,
            protocol=f"HTTP/{reader.version}",
        )
        response.headers = headers  # which it would copy
        return response

    def drop(self) -> None:
        """Drop what has arrived."""
        if self._download.reader is not None:
            self._download.reader.body.clear()

    def stopped(self) -> Response:
        """Response of a stopped download. Raises the receiver's `StopDownload` if that asks for failure."""
        response = self.made(["download_stopped"])
        if self._stop is not None and self._stop.fail:
            self._stop.response = response
            raise self._stop
        return response


def _scrapys(fields: Fields) -> Headers:
    """`Headers(fields)` without its second normalisation of bytes."""
    headers = Headers()
    for name, value in fields:
        dict.setdefault(headers, name.title(), []).append(value)
    return headers


def _kind_of(headers: Headers, url: str, body: bytes) -> type[Response]:
    """Response class as Scrapy chooses it, by Content-Type if that is enough."""
    types = dict.get(headers, b"Content-Type")
    if types and not dict.get(headers, b"Content-Encoding") and (kind := _kind_of_type(types[-1])) is not Response:
        return kind
    return responsetypes.from_args(headers=headers, url=url, body=body)


_kind_of_type: Final = lru_cache(maxsize=1 << 8)(responsetypes.from_content_type)


# Requests


def _url(request: Request) -> Url:
    try:
        return parse(request.url, max_length=4 * len(request.url) + len("http://"))
    except InvalidUrl as error:
        raise UnsupportedURLSchemeError(str(error)) from error


@lru_cache(maxsize=1 << 12)
def _endpoint(scheme: str, name: str) -> http.Endpoint:
    port = _PORTS[scheme]
    if ":" in name and not name.endswith("]"):
        name, _, digits = name.rpartition(":")
        port = int(digits)
    return http.Endpoint(scheme == "https", name.strip("[]"), port)


def _proxy(proxy: str | None) -> http.Proxy | None:
    try:
        return http.Proxy.of(proxy) if proxy else None
    except ValueError as error:
        raise UnsupportedURLSchemeError(str(error)) from error
