"""Gets one page what its browser asks for, as the crawl gets all else: by its download handler, with its limits, its
check of addresses and its headers, where robots.txt allows it. What came is kept, to be stored with the page.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from sitecrawl.base import limits
from sitecrawl.base.limits import AnyLimit
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawl.download_errors import InWant
from sitecrawl.crawl.fetch import SentAt, exchange_of
from sitecrawl.extensions.download_handler import DownloadHandler
from sitecrawl.http import Want
from sitecrawl.page.items import Exchange, Headers, pairs
from sitecrawl.plugins.rendering.options import RenderOptions
from sitecrawl.plugins.rendering.proxy import Asked, ProxyAnswer

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Requests of a page that are under way together; a browser has up to six a host."""
_REQUESTS: Final = "rendering/requests"
"""Counts what browsers asked for, beside the pages themselves."""
_KEPT: Final = "rendering/requests_kept"
"""Of these, those that were stored already, and not sent."""
_FORBIDDEN: Final = "rendering/forbidden"
"""Of these, those that robots.txt forbids."""
FAILED: Final = "rendering/requests_failed"
"""Of these, those that brought nothing."""
_BROWSERS: Final = "rendering/requests_of_browser"
"""Counts what browsers wanted for themselves, and did not get."""

_IDENTITY: Final = (b"user-agent", b"accept-language")
"""Headers that say who asks: the crawl's are sent, also by workers, whatever the browser would say."""
_NOT_SENT: Final = (b"host", b"sec-ch-ua", *_IDENTITY)
"""Beginnings of the names of headers that are the browser's own; its client hints would name another browser."""
_OF_THE_PAGE: Final = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"cookie",
        b"if-modified-since",
        b"if-none-match",
        b"proxy-authorization",
        b"referer",
    }
)
"""Headers that the page was asked for with, and its parts are not: the browser has its own."""
_PROXY: Final = ("proxy", "_auth_proxy", "bindaddress")
"""Keys of `Request.meta` that say by which way a page is fetched: its parts come the same."""
_PROXY_HEADER: Final = "Proxy-Authorization"
_REFUSED: Final = ProxyAnswer(403)
_NOTHING: Final = ProxyAnswer(502)


_MAX_SIZE: Final = 32 << 20
"""Bytes of all bodies."""
_MAX_BODY: Final = 4 << 20
_TYPES: Final = (
    "application/ecmascript",
    "application/font-",
    "application/javascript",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-javascript",
    "font/",
    "image/",
    "text/css",
    "text/javascript",
)
_OWN_FOR_EACH: Final = (b"*", b"cookie", b"origin")
"""Values of Vary with which an answer is for one page, or one site."""


class Kept:
    """What pages share: scripts, style sheets, fonts and images that are stored already, for the pages that come
    next. The longest unused go.

    A browser has a cache for that; ours begins every page with none, so that no page knows of another. What is kept
    here is asked for once in a run, as an archive wants it, and not for each page. It comes in when it has been
    stored: then it may be left out of what later pages bring. Not kept is what its sender wants kept by nobody, and
    what differs from page to page.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[str, ProxyAnswer] = OrderedDict()
        self._size = 0

    def get(self, url: str) -> ProxyAnswer | None:
        found = self._answers.get(url)
        if found is not None:
            self._answers.move_to_end(url)
        return found

    def add(self, exchange: Exchange) -> None:
        """What has been stored."""
        if exchange.url in self._answers or not _is_shared(exchange):
            return
        self._answers[exchange.url] = ProxyAnswer(exchange.status, exchange.headers, exchange.body)
        self._size += len(exchange.body)
        while self._size > _MAX_SIZE:
            self._size -= len(self._answers.popitem(last=False)[1].body)


@dataclass(frozen=True, slots=True)
class Network:
    """State that all pages of a crawl share."""

    handler: DownloadHandler
    allows: Callable[[str, Request], Awaitable[bool]]
    """Whether robots.txt allows a URL, on the way of a page's request."""
    kept: Kept
    shown: Callable[[str], Headers]
    """What a URL is sent besides, for others to see."""
    stats: StatsCollector
    options: RenderOptions
    max_size: int
    """Bytes of a body, 0 for no limit."""


class Courier:
    """See the module. `page` is the request for the page, `answer` what came: the browser gets it for its first."""

    def __init__(self, network: Network, page: Request, answer: ProxyAnswer) -> None:
        self._network = network
        self._page = page
        self._answer: ProxyAnswer | None = answer
        self._origin = _origin(page.url)
        self._made = 0
        self._size = 0
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._told: set[AnyLimit] = set()
        self.exchanges: list[Exchange] = []
        """What came, in its order."""
        self.urls: set[str] = set()
        """All that the page has got, also of what is stored already."""
        self.want: Want | None = None
        """What this machine lacked for one of them."""

    async def answer(self, asked: Asked) -> ProxyAnswer:
        """For `Proxy`."""
        if self._answer is not None:
            first, self._answer = self._answer, None
            return first
        if _is_the_browsers(asked):
            self._network.stats.inc_value(_BROWSERS)
            return _REFUSED
        if self._made >= self._network.options.requests:
            return self._beyond(limits.RENDER_REQUESTS)
        self._made += 1
        self._network.stats.inc_value(_REQUESTS)
        return await self._got(asked)

    async def _got(self, asked: Asked) -> ProxyAnswer:
        stats = self._network.stats
        if asked.method == "GET" and (kept := self._network.kept.get(asked.url)) is not None:
            stats.inc_value(_KEPT)
            self.urls.add(asked.url)
            return kept
        try:
            request = self._request(asked)
            if not await self._network.allows(asked.url, self._page):
                stats.inc_value(_FORBIDDEN)
                return _REFUSED
            async with self._gate:
                return await self._fetched(asked, request)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the page has to do without
            stats.inc_value(FAILED)
            logger.debug("%s needs %s, which failed: %s", self._page, asked.url, error)
            if isinstance(error, InWant):
                self.want = error.want
            return _NOTHING

    async def _fetched(self, asked: Asked, request: Request) -> ProxyAnswer:
        left = self._network.options.size - self._size
        if left <= 0:
            return self._beyond(limits.RENDER_SIZE)
        request.meta["download_maxsize"] = min(left, request.meta["download_maxsize"])
        sent = SentAt()
        response = await self._network.handler.download_request(request)
        self._size += len(response.body)
        if self._size > self._network.options.size:  # others have come meanwhile
            return self._beyond(limits.RENDER_SIZE)
        self.urls.add(asked.url)
        exchange = exchange_of(request, response, sent, self._network.shown(asked.url))
        self.exchanges.append(exchange)
        return ProxyAnswer(exchange.status, exchange.headers, exchange.body)

    def _beyond(self, limit: AnyLimit) -> ProxyAnswer:
        if limit not in self._told:
            self._told.add(limit)
            self._network.stats.inc_value(limit.stat)
        return _REFUSED

    def _request(self, asked: Asked) -> Request:
        headers = [(name, value) for name, value in asked.headers if not name.lower().startswith(_NOT_SENT)]
        is_own = _origin(asked.url) == self._origin
        given = {name.lower() for name, _ in headers}
        for name, value in pairs(self._page.headers):
            lowered = name.lower()
            if lowered in _IDENTITY or (is_own and lowered not in _OF_THE_PAGE and lowered not in given):
                headers.append((name, value))
        meta: dict[str, Any] = {key: self._page.meta[key] for key in _PROXY if key in self._page.meta}
        meta["download_maxsize"] = self._page.meta.get("download_maxsize", self._network.max_size) or NO_LIMIT
        request = Request(asked.url, method=asked.method, headers=_scrapys(headers), body=asked.body, meta=meta)
        if (secret := self._page.headers.get(_PROXY_HEADER)) is not None:
            request.headers[_PROXY_HEADER] = secret
        return request


def _is_the_browsers(asked: Asked) -> bool:
    """Whether no page wants this, but the browser itself: Chromium asks a server of Google's what forms are about.

    A switch for each such feature would take the place of Playwright's own list of them. But a request that no site
    has begun says so (Fetch Metadata, `Sec-Fetch-Site`), and a page cannot make one: where it leads to, it began.
    """
    return (b"sec-fetch-site", b"none") in [(name.lower(), value) for name, value in asked.headers]


def _scrapys(headers: Headers) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return found


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _is_shared(exchange: Exchange) -> bool:
    if exchange.method != "GET" or exchange.status != 200 or len(exchange.body) > _MAX_BODY:
        return False
    types = _values(exchange, b"content-type")
    if not types or not types[0].decode("latin-1").startswith(_TYPES):
        return False
    if any(b"no-store" in value for value in _values(exchange, b"cache-control")):
        return False
    return not any(name in value for value in _values(exchange, b"vary") for name in _OWN_FOR_EACH)


def _values(exchange: Exchange, name: bytes) -> list[bytes]:
    return [value.strip().lower() for key, value in exchange.headers if key.lower() == name]
