"""The site that `server` serves: what is answered is `Backend`'s business; who is answered, `Guard`'s. Here are the
limits on what a local process may send: small bodies, no endless requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from importlib.resources import files
from typing import Any, Final, NamedTuple

from scrapy.utils.defer import deferred_from_coro
from twisted.web.http import Request as HttpRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.plugins.dashboard.actions import Actions
from sitecrawl.plugins.dashboard.guard import HEADERS, Guard
from sitecrawl.plugins.dashboard.metrics import CONTENT_TYPE, exposition
from sitecrawl.plugins.dashboard.monitor import Monitor

_FILES: Final = {
    "": ("index.html", "text/html"),
    "app.js": ("app.js", "text/javascript"),
    "style.css": ("style.css", "text/css"),
}
"""Of the folder `static`, by path."""
_LAST: Final = 2.5
"""Seconds for which the end waits until who looks at the page has the last figures: it asks every second."""


class _HttpAnswer(NamedTuple):
    """What goes back."""

    body: bytes
    content_type: str
    status: int = 200


class Backend:
    """Answers those who may ask about one running crawl. A path has neither token nor first slash."""

    def __init__(self, monitor: Monitor, actions: Actions) -> None:
        self._monitor = monitor
        self._actions = actions
        self._is_over = asyncio.Event()
        """All last figures are there, those of other workers, too."""
        self._was_told = asyncio.Event()
        """How the crawl ended."""

    async def get(self, path: str) -> _HttpAnswer:
        if path in _FILES:
            name, kind = _FILES[path]
            content = files("sitecrawl.plugins.dashboard").joinpath("static", name).read_bytes()
            return _HttpAnswer(content, f"{kind}; charset=utf-8")
        monitor = self._monitor
        if path not in {"overview", "metrics"}:
            return _error("There is nothing here", 404)
        monitor.asked_at = time.monotonic()
        if not monitor.ending:
            await monitor.refresh()
        if monitor.ending:  # meanwhile, too
            await self._is_over.wait()
        if path == "metrics":
            return _HttpAnswer(self._metrics().encode(), CONTENT_TYPE)
        answer = _json(monitor.overview())
        if monitor.ending:
            self._was_told.set()
        return answer

    def _metrics(self) -> str:
        monitor = self._monitor
        return exposition(
            monitor.figures,
            monitor.meter,
            paused=self._actions.paused,
            wants=monitor.wants,
            spider=monitor.spider,
            workers=monitor.workers(),
        )

    def post(self, path: str, fields: dict[str, Any]) -> _HttpAnswer:
        directory, _, name = path.partition("/")
        try:
            done = self._actions.act(name if directory == "act" else "", fields)
        except KeyError:
            return _error("There is no such action", 404)
        except SitecrawlError as error:
            return _error(str(error), 400)
        self._monitor.tables.forget()
        self._monitor.look()
        return _json({"done": done})

    async def last_look(self) -> None:
        """The crawl has ended: let whoever looks at the page know."""
        self._is_over.set()
        if self._monitor.is_watched():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._was_told.wait(), _LAST)


def _json(value: Any, status: int = 200) -> _HttpAnswer:
    """A response of strict (no NaN), ASCII JSON."""
    return _HttpAnswer(json.dumps(value, allow_nan=False).encode(), "application/json", status)


def _error(message: str, status: int) -> _HttpAnswer:
    return _json({"error": message}, status)


logger = logging.getLogger(__name__)

_MAX_BODY: Final = 1 << 20
"""Bytes: a thousand seeds."""
_TIMEOUT: Final = 15.0
"""Seconds without a byte after which a connection is closed."""


def site_of(backend: Backend, guard: Guard) -> Site:
    """All of `backend`, for those whom `guard` admits."""
    return _Site(_Page(backend, guard), timeout=_TIMEOUT)


class _Request(Request):
    """A request whose body is small, or which is no request."""

    def process(self) -> None:
        if self.path == b"*":  # which Twisted answers itself, and says who it is
            self.path = b"/"
        super().process()

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's names
        super().gotLength(length)
        if length is not None and length > _MAX_BODY:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        if self.content is not None and self.content.tell() + len(data) > _MAX_BODY:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def _refuse(self) -> None:
        if self.channel is not None:
            self.channel.forceAbortClient()


class _Site(Site):
    requestFactory = _Request  # noqa: N815 - Twisted's name
    displayTracebacks = False  # noqa: N815

    def log(self, request: HttpRequest) -> None:
        """Nothing: the path has the token in it."""


class _Page(Resource):
    """All paths."""

    isLeaf = True  # noqa: N815

    def __init__(self, backend: Backend, guard: Guard) -> None:
        super().__init__()
        self._backend = backend
        self._guard = guard

    def render(self, request: _Request) -> int:
        for name, value in HEADERS.items():
            request.setHeader(name, value)
        request.responseHeaders.removeHeader(b"Server")
        method = request.method.decode("latin-1")
        path = self._guard.admit(method, request.path.decode("latin-1"), lambda name: _header(request, name))
        if path is None:
            _send(request, _HttpAnswer(b"", "text/plain", 404))
            return NOT_DONE_YET
        if method == "POST":
            _send(request, self._post(request, path))
        else:
            deferred_from_coro(self._get(request, path))
        return NOT_DONE_YET

    async def _get(self, request: Request, path: str) -> None:
        gone: list[object] = []
        request.notifyFinish().addErrback(gone.append)
        try:
            answer = await self._backend.get(path)
        except Exception as error:  # noqa: BLE001 - it is logged
            answer = _failed(error)
        if not gone:
            _send(request, answer)

    def _post(self, request: Request, path: str) -> _HttpAnswer:
        assert request.content is not None
        try:
            fields = json.loads(request.content.read())
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            return _HttpAnswer(b'{"error":"The body is no JSON object"}', "application/json", 400)
        try:
            return self._backend.post(path, fields)
        except Exception as error:  # noqa: BLE001 - it is logged
            return _failed(error)


def _failed(error: Exception) -> _HttpAnswer:
    """Log an exception; the response that reports it."""
    logger.error("The dashboard could not answer", exc_info=error)
    return _HttpAnswer(b'{"error":"The log says what went wrong"}', "application/json", 500)


def _send(request: Request, answer: _HttpAnswer) -> None:
    request.setResponseCode(answer.status)
    request.setHeader("Content-Type", answer.content_type)
    request.setHeader("Content-Length", str(len(answer.body)))
    request.write(answer.body)
    request.finish()


def _header(request: Request, name: str) -> str:
    """A header's value, a character for a byte; of one that came twice, what nobody admits."""
    values = request.requestHeaders.getRawHeaders(name.encode("ascii"), [])
    return b", ".join(values).decode("latin-1")  # whatever bytes they are: Twisted takes them for UTF-8
