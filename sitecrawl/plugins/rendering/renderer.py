"""A page, rendered: its own proxy, its tab, what came of both, and the time that all of it may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import Response

from sitecrawl.base import limits
from sitecrawl.crawl.build import BrowserLoad, Crawl
from sitecrawl.crawl.download_errors import InWant
from sitecrawl.crawl.privates import is_closing
from sitecrawl.crawl.requests import host_of
from sitecrawl.extensions.download_handler import DownloadHandler
from sitecrawl.extensions.watch import Watch
from sitecrawl.http.errors import Ending
from sitecrawl.page.items import Exchange, Headers, pairs
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT, urn
from sitecrawl.plugins.rendering.browser import PICTURE_TYPE, Browser, Lost, NotRendered
from sitecrawl.plugins.rendering.courier import Courier, Kept, Network
from sitecrawl.plugins.rendering.options import RenderOptions, launch_options
from sitecrawl.plugins.rendering.proxy import Proxy, ProxyAnswer, new_identity

CONTENT_TYPE: Final = b"text/html; charset=utf-8"
"""Of a DOM."""
_LOST_ALONE: Final = 5
"""Times that a page is rendered again, alone, under which the browser ends."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A page that was rendered."""

    body: bytes
    """The DOM, as HTML in UTF-8."""
    parts: tuple[Exchange, ...]
    """What is to be stored with the page: the DOM, the picture, and all that was asked for."""
    urls: frozenset[str]
    """All that the page was given."""
    leads_to: str | None
    """Where a script wanted to go instead."""


class Renderer:
    """See the module. `allows` says whether robots.txt allows a URL, on the way of a page's request."""

    def __init__(
        self, crawler: Crawler, options: RenderOptions, allows: Callable[[str, Request], Awaitable[bool]]
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._options = options
        self._identity = new_identity()
        self._browser = Browser(crawler.stats, options, launch_options(crawler.settings), self._identity.spki)
        self._handler = DownloadHandler(crawler)
        self._access = Crawl.of(crawler).access
        self.kept = Kept()
        self._max_size = limits.DECODED_SIZE.read_most(crawler.settings)
        self._network = Network(self._handler, allows, self.kept, self._shown, crawler.stats, options, self._max_size)
        self._watch = Watch(crawler)
        self._seats = asyncio.Semaphore(options.pages)
        self._turn = asyncio.Lock()
        """Of who waits for seats: so no two wait for those that the other has."""
        self._wanted = 0
        """Pages that are being rendered, or wait for that."""

    def _shown(self, url: str) -> Headers:
        return self._access.shown(url, host_of(url))

    async def render(self, request: Request, response: Response, started: float) -> Outcome:
        """`response`, without content codings, came for `request`, which was sent at `started`, in Unix seconds.

        What is lost with other pages, or for the first time, is rendered again, with no other page in the browser:
        so a page is to blame for the browser's end only where it was alone in it, again and again.

        Raises `NotRendered`, `NoBrowser`, `InWant`, `Interrupted` and `DownloadTimeoutError`.
        """
        self._wanted += 1
        try:
            for lost in count():
                async with self._seat(alone=lost > 0):
                    try:
                        return await self._in_time(request, response, started)
                    except Lost:
                        self._stats.inc_value("rendering/lost")
                        if lost >= _LOST_ALONE or is_closing(self._crawler):
                            raise
        finally:
            self._wanted -= 1
        raise AssertionError

    @asynccontextmanager
    async def _seat(self, *, alone: bool) -> AsyncIterator[None]:
        async with AsyncExitStack() as seats:
            async with self._turn:
                for _ in range(self._options.pages if alone else 1):
                    await seats.enter_async_context(self._seats)
            yield

    def load(self) -> BrowserLoad:
        """What there is to do now."""
        shown = min(self._wanted, self._options.pages)
        return BrowserLoad(shown, self._wanted - shown, self._browser.memory)

    async def _in_time(self, request: Request, response: Response, started: float) -> Outcome:
        await self._browser.begin()
        rendering = _Rendering()
        try:
            with self._watch.over(rendering, request.url, self._options.seconds):
                return await rendering.run(self._rendered(request, response, started))
        except DownloadTimeoutError:
            self._stats.inc_value(limits.RENDER_TIME.stat)
            raise

    async def _rendered(self, request: Request, response: Response, started: float) -> Outcome:
        headers = [(name, value) for name, value in pairs(response.headers) if name.lower() not in _SPENT]
        courier = Courier(self._network, request, ProxyAnswer(response.status, headers, response.body))
        proxy = Proxy(courier.answer, self._identity.tls)
        try:
            rendered = await self._browser.render(request, await proxy.open(), lambda: proxy.silence)
        except NotRendered:
            self._excuse(courier)
            raise
        finally:
            await proxy.close()
        self._excuse(courier)
        body = rendered.content.encode("utf-8", "replace")
        if len(body) > self._max_size:
            self._stats.inc_value(limits.RENDER_SIZE.stat)
            raise NotRendered(f"its DOM has {len(body):,} bytes")
        url = request.url.partition("#")[0]
        parts = [_part(RENDERED, url, CONTENT_TYPE, body, started)]
        if rendered.picture is not None:
            parts.append(_part(SCREENSHOT, url, PICTURE_TYPE, rendered.picture, started))
        return Outcome(body, (*parts, *courier.exchanges), frozenset(courier.urls), rendered.leads_to)

    @staticmethod
    def _excuse(courier: Courier) -> None:
        """Raise `InWant` for a page that lacks a part because of this machine or its network."""
        if courier.want is not None:
            raise InWant(courier.want, "This machine could not get what a page is made of")

    async def close(self) -> None:
        self._watch.stop()
        await self._browser.close()
        await self._handler.close()


_SPENT: Final = frozenset({b"content-encoding", b"content-length"})
"""Headers that describe a body as it came."""


class _Rendering:
    """A rendering under way, for `Watch`. A page may be silent for as long as its time is."""

    def __init__(self) -> None:
        self._looks = count()
        self._ending = Ending()

    @property
    def progress(self) -> int:
        return next(self._looks)

    @property
    def arrived(self) -> int:
        return 0  # a page may do nothing, too

    def end(self, error: Exception) -> None:
        self._ending.end(error)

    async def run(self, work: Awaitable[Outcome]) -> Outcome:
        outcome: Outcome = await self._ending.wait(asyncio.ensure_future(work))
        return outcome


def _part(kind: str, url: str, content_type: bytes, body: bytes, started: float) -> Exchange:
    return Exchange(urn(kind, url), started, 0.0, 200, (), [(b"Content-Type", content_type)], body)
