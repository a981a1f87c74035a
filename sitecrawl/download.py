"""Scrapy's HTTP/1.1 download handler with the limits that it does not have: addresses, headers, silence.

Where each limit sits:

- *Addresses* are checked where the connection is made, on the very address that is connected to, after DNS. So it
  does not matter what led there (a seed, a link, a redirect, robots.txt), how the host was written, or whether its
  name means another address than a moment ago. A connection that is kept alive was checked when it was made.
- *Headers* are counted line by line as they come, those of 1xx responses included, over one response, and so are the
  *chunks* of its body.
- *Silence* is looked for once a second over all downloads, which costs a page nothing: the time since the request,
  the end of the headers, or the last byte of the body.

Scrapy has the limits on the size of a body and on the total time; here they only get their stats.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
    _ScrapyAgent,
)
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.error import TimeoutError as ConnectTimeout
from twisted.internet.interfaces import IAddress, IReactorPluggableNameResolver
from twisted.internet.task import LoopingCall
from twisted.web._newclient import BODY
from twisted.web._newclient import Request as TxRequest
from twisted.web.client import URI, Agent, ResponseFailed
from twisted.web.http import _ChunkedTransferDecoder
from twisted.web.iweb import IResponse
from zope.interface import implementer

from sitecrawl import addresses, limits
from sitecrawl.errors import InvalidUrl
from sitecrawl.limits import NO_LIMIT, Limit
from sitecrawl.runtime import Runtime
from sitecrawl.url import parse

logger = logging.getLogger(__name__)

FIRST_PART: Final = "sitecrawl_first_part"
"""The key in `Request.meta` that says: the response may have any size, whoever asked will stop it."""

_LOOK_SECONDS: Final = 1.0
_PLAIN_HOST: Final = re.compile(r"[A-Za-z0-9._:-]+").fullmatch


class LimitExceeded(IgnoreRequest):
    """A response that went beyond a limit of docs/limits.md. To ask again would bring the same."""


class Interrupted(IgnoreRequest):
    """A download that was cut off because the crawl is being stopped: its URL stays in the frontier."""


class TooManyHeaders(LimitExceeded):
    """More header lines than SITECRAWL_MAX_HEADERS."""


class HeadersTooLarge(LimitExceeded):
    """More bytes of headers than SITECRAWL_MAX_HEADER_SIZE."""


class TooManyChunks(LimitExceeded):
    """A body in more pieces than SITECRAWL_MAX_CHUNKS."""


class PrivateAddress(LimitExceeded):
    """A host that no seed names and that is not on the public internet (SITECRAWL_ALLOW_PRIVATE)."""

    def __init__(self, url: str, address: str) -> None:
        super().__init__(f"{address} is no public address, and no seed names its host")
        self.url = url
        """What was asked for: after a redirect, where it led."""


class IdleTimeout(DownloadTimeoutError):
    """A host that was silent for SITECRAWL_MAX_IDLE_TIME."""


_STATS: Final[dict[type[Exception], Limit]] = {
    TooManyHeaders: limits.HEADERS,
    HeadersTooLarge: limits.HEADER_SIZE,
    TooManyChunks: limits.CHUNKS,
    PrivateAddress: limits.PRIVATE_ADDRESS,
    IdleTimeout: limits.IDLE_TIME,
    DownloadTimeoutError: limits.TOTAL_TIME,
    DownloadCancelledError: limits.BODY_SIZE,
}


class DownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https, limited. See the module."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        assert crawler.stats
        self._stats = crawler.stats
        self._allow_private = settings.getbool(limits.PRIVATE_ADDRESS.setting)
        self._max_idle = settings.getfloat(limits.IDLE_TIME.setting) or NO_LIMIT
        self._pool._factory = partial(  # type: ignore[assignment]  # noqa: SLF001 - as Scrapy does
            _Factory,
            max_lines=settings.getint(limits.HEADERS.setting) or NO_LIMIT,
            max_size=settings.getint(limits.HEADER_SIZE.setting) or NO_LIMIT,
            max_chunks=settings.getint(limits.CHUNKS.setting) or NO_LIMIT,
        )
        self._downloads: set[_Download] = set()
        self._patience = settings.getfloat("SITECRAWL_SHUTDOWN_TIME")
        self._cut_off_at = inf
        """When downloads are cut off, on the monotonic clock: the crawl is being stopped."""
        self._watch: AsyncioLoopingCall | LoopingCall = create_looping_call(self._look)

    async def download_request(self, request: Request) -> Response:
        try:
            return await self._download(request)
        except (LimitExceeded, DownloadTimeoutError, DownloadCancelledError) as error:
            self._stats.inc_value(_STATS[type(error)].stat)
            if isinstance(error, LimitExceeded):  # Scrapy says nothing of an `IgnoreRequest`
                logger.info("Given up: %s: %s", request, error)
            raise

    async def _download(self, request: Request) -> Response:
        if monotonic() >= self._cut_off_at:
            raise Interrupted("The crawl is being stopped")
        may_connect = partial(self._check, request)
        if "proxy" in request.meta and (address := _address(request.url)):
            may_connect(address)  # what a name means is up to the proxy
        download = _Download(
            self._max_idle,
            may_connect,
            contextFactory=self._contextFactory,
            bindAddress=self._bind_address,
            pool=self._pool,
            maxsize=0 if FIRST_PART in request.meta else self._default_maxsize,
            warnsize=self._default_warnsize,
            fail_on_dataloss=self._fail_on_dataloss,
            crawler=self._crawler,
            tls_verbose_logging=self._tls_verbose_logging,
        )
        self._downloads.add(download)
        if not self._watch.running:
            self._watch.start(min(_LOOK_SECONDS, self._max_idle / 4), now=False)
        try:
            with wrap_twisted_exceptions():
                return await maybe_deferred_to_future(download.begin(request))
        except Exception as error:
            reason = download.reason(error)
            if reason is error:
                raise
            raise reason from error
        finally:
            self._downloads.discard(download)

    def _check(self, request: Request, address: str) -> None:
        """Raises `PrivateAddress` if `request` may not lead to `address`."""
        if self._allow_private or addresses.is_public(address):
            return
        if _host(request.url) not in Runtime.of(self._crawler).seed_hosts:
            raise PrivateAddress(request.url, address)

    def _look(self) -> None:
        """End the downloads that have been silent for too long, and all of them when the crawl is to stop."""
        now = monotonic()
        slot = self._crawler.engine._slot if self._crawler.engine is not None else None  # noqa: SLF001 - nothing public says so
        if slot is not None and slot.closing is not None and self._cut_off_at == inf:
            self._cut_off_at = now + self._patience
        for download in list(self._downloads):
            if now >= self._cut_off_at:
                download.interrupt()
            else:
                download.look(now)

    async def close(self) -> None:
        if self._watch.running:
            self._watch.stop()
        await super().close()


def _address(url: str) -> str | None:
    """The IP address that stands in `url`, however it is written."""
    try:
        return addresses.literal(parse(url, max_length=4 * len(url)).host)
    except InvalidUrl:
        return None


def _host(url: str) -> str:
    """The host that Twisted connects to for `url`, written as in a seed: `http://0x7f.1:80/` has `127.0.0.1`."""
    host = URI.fromBytes(url.encode()).host.decode()  # type: ignore[no-untyped-call]
    if not _PLAIN_HOST(host):  # parsers differ on what else may stand there: it is no seed's
        return ""
    try:
        return parse(f"http://[{host}]/" if ":" in host else f"http://{host}/").host
    except InvalidUrl:
        return ""


class _Download(_ScrapyAgent):
    """One request under way."""

    def __init__(self, max_idle: float, may_connect: Callable[[str], None], **options: Any) -> None:
        super().__init__(**options)
        self._max_idle = max_idle
        self._may_connect = may_connect
        self._progress = -1
        self._last = monotonic()
        """When there was progress, as far as is known."""
        self._silent = False
        self._interrupted = False

    def begin(self, request: Request) -> Deferred[Response]:
        self._deferred = self.download_request(request)
        return self._deferred

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        agent = super()._get_agent(request, min(timeout, self._max_idle))
        if not request.meta.get("proxy"):  # a proxy is the user's choice
            factory = agent._endpointFactory  # noqa: SLF001 - Scrapy makes the agent, and takes no reactor for it
            factory._reactor = _CheckedReactor(factory._reactor, self._may_connect)  # noqa: SLF001
        return agent

    def look(self, now: float) -> None:
        """End the download if there has been nothing new for too long."""
        progress = self._received()
        if progress != self._progress:
            self._progress, self._last = progress, now
        elif now - self._last > self._max_idle:
            self._silent = True
            self._deferred.cancel()

    def interrupt(self) -> None:
        self._interrupted = True
        self._deferred.cancel()

    def _received(self) -> int:
        """Bytes of the body so far; -1 while the headers are not whole."""
        if self._txresponse is None:
            return -1
        reader = self._txresponse._bodyProtocol  # noqa: SLF001 - the one that counts
        return reader._bytes_received if reader is not None else 0  # noqa: SLF001

    def reason(self, error: Exception) -> Exception:
        """Why the download failed: `error`, or the limit of ours that is behind it."""
        cause = error.__cause__
        if self._interrupted:
            return Interrupted("The crawl is being stopped")
        if self._silent or isinstance(cause, ConnectTimeout):
            return IdleTimeout(f"Nothing came for {self._max_idle:g} seconds")
        if isinstance(cause, ResponseFailed):
            for failure in cause.reasons:
                if isinstance(failure.value, LimitExceeded):
                    return failure.value
        return error


@implementer(IReactorPluggableNameResolver)
class _CheckedReactor:
    """The reactor, for one request: it connects to no address that `may_connect` raises for."""

    def __init__(self, reactor: Any, may_connect: Callable[[str], None]) -> None:
        self._reactor = reactor
        self._may_connect = may_connect

    def connectTCP(self, host: str, *args: Any, **kwargs: Any) -> Any:  # noqa: N802 - Twisted's name
        self._may_connect(host)
        return self._reactor.connectTCP(host, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)


class _Chunks(_ChunkedTransferDecoder):
    """Hands on all chunks that came together as one: of one byte each, they would take Scrapy 10 us a byte."""

    def __init__(self, data_callback: Callable[[bytes], None], finish_callback: Callable[[bytes], None]) -> None:
        self._parts: list[bytes] = []
        self._data = data_callback
        self._end = finish_callback
        self.count = 0
        super().__init__(self._parts.append, self._finish)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        super().dataReceived(data)
        self._hand_on()

    def _finish(self, rest: bytes) -> None:
        self._hand_on()
        self._end(rest)

    def _hand_on(self) -> None:
        if self._parts:
            self.count += len(self._parts)
            data = b"".join(self._parts)
            self._parts.clear()
            self._data(data)


class _Parser(_LenientHTTPClientParser):
    """Counts the lines of a response's head, over all 1xx responses before it, and the chunks of its body."""

    _transferDecoders = {b"chunked": _Chunks}  # type: ignore[dict-item]  # noqa: N815, RUF012 - Twisted's
    max_lines: int
    max_chunks: int
    _lines = 0
    _left: int

    def limit(self, max_lines: int, max_size: int, max_chunks: int) -> None:
        self.max_lines = max_lines
        self.max_chunks = max_chunks
        self._left = self.MAX_LENGTH = max_size

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        self._lines += 1
        self._left -= len(line) + 1
        if self._lines > self.max_lines + 1:  # and the status line
            self._stop(TooManyHeaders(f"More than {self.max_lines} header lines"))
        if self._left < 0:
            self.lineLengthExceeded(line)
        super().lineReceived(line)

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        super().rawDataReceived(data)  # type: ignore[no-untyped-call]
        body: Any = self.bodyDecoder
        if isinstance(body, _Chunks) and body.count > self.max_chunks and self.state == BODY:
            self._stop(TooManyChunks(f"More than {self.max_chunks} chunks"))

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        self._stop(HeadersTooLarge("The headers are too large"))

    def _stop(self, error: LimitExceeded) -> None:
        # An orderly end waits for the peer, over TLS, and goes on reading what it sends.
        self.transport._producer.abortConnection()  # type: ignore[union-attr]  # noqa: SLF001 - as Scrapy does
        raise error


class _Protocol(_LenientHTTP11ClientProtocol):
    def __init__(self, quiescent_callback: Callable[..., Any], *limits: int) -> None:
        super().__init__(quiescent_callback)  # type: ignore[no-untyped-call]
        self._limits = limits

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        deferred: Deferred[IResponse] = super().request(request)
        parser: Any = self._parser
        if parser is not None:
            parser.__class__ = _Parser  # as Scrapy does
            parser.limit(*self._limits)
        return deferred


class _Factory(_LenientHTTP11ClientFactory):
    def __init__(self, *args: Any, max_lines: int, max_size: int, max_chunks: int) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        self._limits = max_lines, max_size, max_chunks

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:  # noqa: N802 - Twisted's name
        return _Protocol(self._quiescentCallback, *self._limits)
