"""Chromium, driven by Playwright: started once it is wanted, and again when it has ended. What a page is shown and
may do is decided here and in the proxy.

Why no download handler that has the browser fetch pages (scrapy-playwright): it would follow redirects within the
browser, take whatever a page brings into memory without end, give the page's text in the place of what came over the
wire, and let the browser connect to any address. So the crawl fetches the page itself, as without a browser, and the
browser gets that, and all else, from the page's proxy (docs/rendering.md).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from sitecrawl.base import limits
from sitecrawl.base.display import size
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.plugins.rendering.options import RenderOptions

if TYPE_CHECKING:
    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, Page, Playwright, Route

logger = logging.getLogger(__name__)

_NOWHERE: Final = "http://127.0.0.1:9"
"""The proxy of all that is no page's: nobody is there (the port is that of RFC 863)."""
_ARGUMENTS: Final = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # names are the crawl's to look up
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the one way past a proxy
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--disable-gpu",
    "--mute-audio",
)
_NO_POPUPS: Final = "window.open = () => null;"
_NO_SERVICE_WORKERS: Final = """
if (navigator.serviceWorker) {
  const refused = navigator.serviceWorker.register.bind(navigator.serviceWorker);
  navigator.serviceWorker.register = (url) => fetch(url).catch(() => null).then(() => refused(url));
}
"""
"""None is registered, as Playwright has it; but its script comes into the archive: a replay asks for it."""
_SHADOWS: Final = Path(__file__).with_name("shadows.js").read_text(encoding="utf-8")
"""A function that gives the DOM with what is in shadow roots, where there are any."""
_QUIET: Final = 0.5
"""Seconds without a request after which a page is taken for done, as in Playwright's networkidle."""
_LOOK: Final = 0.05
_MEMORY_LOOK: Final = 0.5
"""Seconds between two looks: whether all is quiet, and how large the processes are."""
_CLOSING: Final = 5.0
"""Seconds for a page, or the browser, to close."""
_PICTURE: Final = {"format": "webp", "quality": 60}
_MAX_PICTURE: Final = 1 << 20
"""Bytes of a picture; a larger one is not kept."""
PICTURE_TYPE: Final = b"image/webp"
_FAILURES: Final = 3
"""In a row, after which browser and driver are started anew."""
_PAGE_SIZE: Final = os.sysconf("SC_PAGE_SIZE")


class NoBrowser(SitecrawlError):
    """The browser cannot be started."""


class NotRendered(SitecrawlError):
    """A page could not be rendered."""


class Crashed(NotRendered):
    """It crashed, or closed itself: another time it may not."""


class Lost(Crashed):
    """The browser has ended under it, or other pages have failed with it: that may be no fault of the page."""


@dataclass(slots=True)
class _Rendered:
    """The result of rendering a page."""

    content: str
    """The DOM as HTML."""
    leads_to: str | None = None
    """Where a script wanted to go instead."""
    picture: bytes | None = None


class _Visit:
    """A page on its way. `silence` gives the seconds for which its proxy has had nothing to do."""

    def __init__(self, url: str, page: Page, silence: Callable[[], float]) -> None:
        self.page = page
        self.silence = silence
        self.leads_to: str | None = None
        self._url = url
        self._has_begun = False

    async def begin(self) -> None:
        """Before anything is asked for."""
        self.page.on("popup", _close)  # one that a script finds a way to
        await self.page.add_init_script(_NO_POPUPS + _NO_SERVICE_WORKERS)
        await self.page.context.route("**", self._route)

    async def _route(self, route: Route) -> None:
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            frame = route.request.frame
        except Error:  # a popup that has no frame yet
            frame = None
        if frame is None or frame.page != self.page:
            await route.abort()
        elif not route.request.is_navigation_request() or frame != self.page.main_frame or self._begins():
            await route.continue_()
        else:  # there the browser stays (RFC 9110, section 15.3.5); an abort would put an error page in its place
            if route.request.url.partition("#")[0] != self._url and route.request.method == "GET":
                self.leads_to = route.request.url
            await route.fulfill(status=204)

    def _begins(self) -> bool:
        """Whether this is the page's first navigation: later ones are not followed."""
        begins, self._has_begun = not self._has_begun, True
        return begins


async def _close(page: Page) -> None:
    with contextlib.suppress(Exception):  # it may have gone
        await page.close()


class Browser:
    """See the module. Calls may overlap."""

    def __init__(self, stats: StatsCollector, options: RenderOptions, launch: dict[str, Any], spki: str) -> None:
        self._stats = stats
        self._options = options
        self._launch = _launch(launch, spki)
        self._playwright: Playwright | None = None
        self._browser: PlaywrightBrowser | None = None
        self._starting = asyncio.Lock()
        self._failures = 0
        """In a row, of the browser that there is."""
        self._failed = 0
        """Pages that have failed, in all."""
        self._visits = 0
        """Pages that are shown."""
        self._guard: asyncio.Task[None] | None = None
        self._processes: dict[int, str] = {}
        """The browser's, as it last told them: their ids, and of what kind each is."""

    async def begin(self) -> None:
        """Have a browser. Raises `NoBrowser`."""
        async with self._starting:
            if self._browser is not None and self._browser.is_connected() and self._failures < _FAILURES:
                return
            if self._browser is not None:
                logger.warning("The browser has ended, or fails: it is started again")
                self._stats.inc_value("rendering/restarts")
                await self._end_browser()
            try:
                await self._start()
            except Exception as error:
                await self._end_browser()
                raise NoBrowser(_in_a_line(error)) from error

    async def render(self, request: Request, proxy: str, silence: Callable[[], float]) -> _Rendered:
        """The page that `proxy` has for `request`; `silence` says for how long it has had nothing to do.

        To be called after `begin`. Raises `Crashed` and `Lost`. Whoever cancels it has the page closed.
        """
        browser, failed = self._browser, self._failed
        if browser is None:
            raise Lost("The browser has ended")
        try:
            rendered = await self._visited(browser, request, proxy, silence)
        except Exception as error:
            self._failures += 1
            self._failed += 1
            is_there = await self._is_there(browser)  # it has told of all that died before
            failure = Crashed if is_there and self._failed == failed + 1 else Lost
            raise failure(_in_a_line(error)) from error
        self._failures = 0
        return rendered

    async def close(self) -> None:
        """Not while a page is being rendered."""
        async with self._starting:
            await self._end_browser()

    # The browser

    async def _start(self) -> None:
        from playwright.async_api import async_playwright  # noqa: PLC0415 - an extra

        self._failures = 0
        manager = async_playwright()
        self._playwright = await manager.start()
        _let_go(manager)
        self._browser = await self._playwright.chromium.launch(**self._launch)

    async def _is_there(self, browser: PlaywrightBrowser) -> bool:
        """Whether `browser` still answers. If not, it is restarted."""
        if self._browser is not browser:
            return False
        try:
            async with asyncio.timeout(_CLOSING):
                session = await browser.new_browser_cdp_session()
                await session.detach()
        except Exception:  # noqa: BLE001 - of Playwright, whose driver may have ended, too
            if self._browser is browser:
                self._failures = _FAILURES
            return False
        return True

    async def _end_browser(self) -> None:
        if self._guard is not None:
            self._guard.cancel()
        browser, playwright = self._browser, self._playwright
        self._browser = self._playwright = None
        self._processes = {}
        with contextlib.suppress(Exception):  # it may have ended
            if browser is not None:
                await asyncio.wait_for(browser.close(), _CLOSING)
        with contextlib.suppress(Exception):
            if playwright is not None:
                await asyncio.wait_for(playwright.stop(), _CLOSING)

    # A page

    async def _visited(
        self, browser: PlaywrightBrowser, request: Request, proxy: str, silence: Callable[[], float]
    ) -> _Rendered:
        url = request.url.partition("#")[0]
        context = await browser.new_context(**_context(request, proxy))
        self._visits += 1
        if self._guard is None or self._guard.done():
            self._guard = asyncio.ensure_future(self._watch_memory(browser))
        try:
            page = await context.new_page()
            visit = _Visit(url, page, silence)
            await visit.begin()
            await page.goto(url, wait_until="commit", timeout=1000 * self._options.seconds)
            return await self._look(visit)
        finally:
            self._visits -= 1
            await asyncio.shield(_end(context))

    async def _look(self, visit: _Visit) -> _Rendered:
        from playwright.async_api import TimeoutError as Late  # noqa: PLC0415 - an extra

        page = visit.page
        with contextlib.suppress(Late):  # an image that never comes is no reason to have no page
            await page.wait_for_load_state("load", timeout=1000 * self._options.wait)
        until = monotonic() + self._options.wait
        while visit.silence() < _QUIET and monotonic() < until:  # noqa: ASYNC110 - silence is no event
            await asyncio.sleep(_LOOK)
        content = await _content(page, until)
        picture = await self._picture(page) if self._options.screenshots else None
        return _Rendered(content, visit.leads_to, picture)

    async def _picture(self, page: Page) -> bytes | None:
        session = await page.context.new_cdp_session(page)
        answer = await session.send("Page.captureScreenshot", dict(_PICTURE))
        picture = base64.b64decode(answer["data"])
        if len(picture) <= _MAX_PICTURE:
            return picture
        self._stats.inc_value("rendering/screenshots_too_large")
        return None

    # Memory

    @property
    def memory(self) -> int:
        """Bytes that the browser's processes have."""
        return sum(_memory(pid, shared=kind == "browser") for pid, kind in self._processes.items())

    async def _watch_memory(self, browser: PlaywrightBrowser) -> None:
        """End processes of pages that have come to be too large: a page in one of them has crashed then."""
        with contextlib.suppress(Exception):  # the browser has ended
            session = await browser.new_browser_cdp_session()
            while self._visits and browser.is_connected():
                found = await session.send("SystemInfo.getProcessInfo")
                self._processes = {process["id"]: process["type"] for process in found["processInfo"]}
                for pid, kind in self._processes.items():
                    if kind == "renderer" and _memory(pid) > self._options.memory:
                        logger.info("A page takes more than %s of memory", size(self._options.memory))
                        self._stats.inc_value(limits.RENDER_MEMORY.stat)
                        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile, and others have not
                            os.kill(pid, signal.SIGKILL)
                await asyncio.sleep(_MEMORY_LOOK)
            self._guard = None  # before anything is waited for: a page that begins meanwhile has another one
            await session.detach()


async def _end(context: BrowserContext) -> None:
    """Close a page's context, with the page and its popups."""
    with contextlib.suppress(Exception):  # it may have gone with the browser
        await asyncio.wait_for(context.close(), _CLOSING)


def _let_go(manager: object) -> None:
    """Have nobody told that Playwright's driver has ended: who stops a group of processes stops it, too, and asyncio
    would say so behind the summary. What it was to do fails, and is told of there. Playwright has no public name for
    it: where it is called otherwise, the line stands there as before.
    """
    client = getattr(manager, "_client", None) or getattr(manager, "_connection", None)
    end: asyncio.Future[None] | None = getattr(getattr(client, "_transport", None), "on_error_future", None)
    if end is not None:
        end.add_done_callback(lambda future: future.cancelled() or future.exception())


async def _content(page: Page, until: float) -> str:
    """The DOM. A page that is about to go elsewhere has none for a moment, until it hears that it may not."""
    from playwright.async_api import Error  # noqa: PLC0415 - an extra

    while True:
        try:
            with contextlib.suppress(Error):  # a script may stand in the way of this one
                if (content := await page.evaluate(_SHADOWS)) and isinstance(content, str):
                    return content
            return await page.content()
        except Error as error:
            if "navigating" not in error.message or monotonic() > until + _QUIET:
                raise
        await asyncio.sleep(_LOOK)


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


def _memory(pid: int, *, shared: bool = True) -> int:
    """Resident bytes of a process, with or without shared ones; 0 if it has ended or cannot be read."""
    try:
        _, resident, common = map(int, Path(f"/proc/{pid}/statm").read_text().split()[:3])
        return (resident if shared else resident - common) * _PAGE_SIZE
    except (OSError, IndexError, ValueError):
        return 0


def _launch(given: dict[str, Any], spki: str) -> dict[str, Any]:
    """Playwright's options. Its own default is to have no sandbox, which only root cannot have."""
    arguments = [*_ARGUMENTS, f"--ignore-certificate-errors-spki-list={spki}", *given.get("args", ())]
    return {
        "headless": True,
        "chromium_sandbox": os.geteuid() != 0,
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
        **given,
        "args": arguments,
        "proxy": {"server": _NOWHERE},
    }


def _context(request: Request, proxy: str) -> dict[str, Any]:
    """A profile of its own for the page, which ends with it: nothing of one page is known to another."""
    kwargs: dict[str, Any] = {
        "proxy": {"server": proxy},
        "service_workers": "block",
        "accept_downloads": False,
        "storage_state": {"cookies": _cookies(request), "origins": []},
    }
    if agent := request.headers.get("User-Agent"):
        kwargs["user_agent"] = agent.decode("latin-1")
    if language := request.headers.get("Accept-Language"):
        kwargs["locale"] = language.decode("latin-1").partition(",")[0].partition(";")[0].strip() or "en"
    return kwargs


def _cookies(request: Request) -> list[dict[str, Any]]:
    """Those that the page was asked for with, for what it asks of its own host."""
    given = (request.headers.get("Cookie") or b"").decode("latin-1")
    found = (pair.strip().partition("=") for pair in given.split(";"))
    host = urlsplit(request.url).hostname
    fields = {"domain": host, "path": "/", "expires": -1, "httpOnly": False, "secure": False, "sameSite": "Lax"}
    return [{"name": name, "value": value, **fields} for name, _, value in found if name]
