"""The site that `server` serves: what is answered is `Backend`'s business; who is answered, `Guard`'s. Here are the
limits on what a local process may send: small bodies, no endless requests.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from scrapy.utils.defer import deferred_from_coro
from twisted.web.http import Request as HttpRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from sitecrawl.plugins.dashboard.backend import Backend, HttpAnswer
from sitecrawl.plugins.dashboard.guard import HEADERS, Guard

logger = logging.getLogger(__name__)

MAX_BODY: Final = 1 << 20
"""Bytes: a thousand seeds."""
TIMEOUT: Final = 15.0
"""Seconds without a byte after which a connection is closed."""


def site_of(backend: Backend, guard: Guard) -> Site:
    """All of `backend`, for those whom `guard` admits."""
    return _Site(_Page(backend, guard), timeout=TIMEOUT)


class _Request(Request):
    """A request whose body is small, or which is no request."""

    def process(self) -> None:
        if self.path == b"*":  # which Twisted answers itself, and says who it is
            self.path = b"/"
        super().process()

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's names
        super().gotLength(length)
        if length is not None and length > MAX_BODY:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        if self.content is not None and self.content.tell() + len(data) > MAX_BODY:
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
            _send(request, HttpAnswer(b"", "text/plain", 404))
            return NOT_DONE_YET
        if method == "POST":
            _send(request, self._post(request, path))
        else:
            deferred_from_coro(self._get(request, path))
        return NOT_DONE_YET

    async def _get(self, request: Request, path: str) -> None:
        fields = {_text(name): _text(values[-1]) for name, values in request.args.items()}
        gone: list[object] = []
        request.notifyFinish().addErrback(gone.append)
        try:
            answer = await self._backend.get(path, fields)
        except Exception as error:  # noqa: BLE001 - it is logged
            answer = _failed(error)
        if not gone:
            _send(request, answer)

    def _post(self, request: Request, path: str) -> HttpAnswer:
        assert request.content is not None
        try:
            fields = json.loads(request.content.read())
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            return HttpAnswer(b'{"error":"The body is no JSON object"}', "application/json", 400)
        try:
            return self._backend.post(path, fields)
        except Exception as error:  # noqa: BLE001 - it is logged
            return _failed(error)


def _failed(error: Exception) -> HttpAnswer:
    """What goes back after an exception, which is logged."""
    logger.error("The dashboard could not answer", exc_info=error)
    return HttpAnswer(b'{"error":"The log says what went wrong"}', "application/json", 500)


def _send(request: Request, answer: HttpAnswer) -> None:
    request.setResponseCode(answer.status)
    request.setHeader("Content-Type", answer.content_type)
    request.setHeader("Content-Length", str(len(answer.body)))
    request.write(answer.body)
    request.finish()


def _header(request: Request, name: str) -> str:
    """A header's value, a character for a byte; of one that came twice, what nobody admits."""
    values = request.requestHeaders.getRawHeaders(name.encode("ascii"), [])
    return b", ".join(values).decode("latin-1")  # whatever bytes they are: Twisted takes them for UTF-8


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
