"""A web server on loopback for tests: pages from a dict or a function, and a log of who asked for what, when."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ports import Port
from threaded import Threaded


@dataclass
class Answer:
    """What the server says. `raw` replaces everything: bytes as they go over the wire."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass(frozen=True)
class Hit:
    """One request that came in."""

    method: str
    path: str
    host: str
    headers: Mapping[str, str]
    body: bytes
    begun: float
    ended: float


Page = Answer | str | bytes
Pages = Mapping[str, Page] | Callable[[str, str], Page | None]


class _ServerOnIPv6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class LocalWeb(Threaded):
    """Serves `pages` until `close`. A function gets the path and the Host header; None is a 404.

    With `conditional`, an ETag or a Last-Modified that the client names is answered with 304.
    """

    def __init__(
        self,
        pages: Pages,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        conditional: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.pages = pages
        self.conditional = conditional
        self.hits: list[Hit] = []
        self._held = Port()  # its number is nobody's on any address: a web on another one may have the same
        at = address, port or self._held.number
        self._server = (_ServerOnIPv6 if ":" in address else ThreadingHTTPServer)(at, _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        place = f"[{address}]:{self.port}" if ":" in address else f"{address}:{self.port}"
        self.root = f"http://{place}" if tls is None else f"https://{place}"
        if tls is not None:  # a handshake in the thread of its connection: who says nothing keeps nobody waiting
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.serve(self._server)

    def close(self) -> None:
        super().close()
        self._held.close()

    def answer(self, path: str, host: str) -> Answer:
        page = self.pages(path, host) if callable(self.pages) else self.pages.get(path)
        if page is None:
            return Answer(b"<title>404</title>", 404, {"Content-Type": "text/html"})
        if isinstance(page, Answer):
            return page
        return Answer(page.encode() if isinstance(page, str) else page, 200, {"Content-Type": "text/html"})

    def paths(self, *, robots: bool = False) -> list[str]:
        """The paths that were asked for, in their order."""
        return [hit.path for hit in self.hits if robots or hit.path != "/robots.txt"]


def _handler(web: LocalWeb) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def _serve(self) -> None:
            begun = time.monotonic()
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            host = self.headers.get("Host", "")
            answer = web.answer(self.path, host)
            if web.conditional and self._has(answer):
                answer = Answer(status=304, headers=answer.headers)
            # Before it is sent: whoever has the answer finds its request here, and what it asks next comes later.
            hit = Hit(self.command, self.path, host, dict(self.headers), body, begun, time.monotonic())
            web.hits.append(hit)
            try:
                self._send(answer)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _has(self, answer: Answer) -> bool:
            conditions = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
            return any(self.headers[asked] == answer.headers.get(name, "") for asked, name in conditions)

        def _send(self, answer: Answer) -> None:
            if answer.raw is not None:
                self.wfile.write(answer.raw)
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_POST = do_HEAD = do_PUT = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


def linked(*paths: str, title: str = "page") -> str:
    """A page that links to `paths`."""
    links = "".join(f'<a href="{path}">{path}</a>' for path in paths)
    return f"<!doctype html><title>{title}</title><body>{links}</body>"
