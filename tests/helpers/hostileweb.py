"""A host that does to its clients whatever a host can do, on loopback, byte by byte.

A *trick* gets the connection and the path that was asked for, and does as it likes; then the connection is closed.
Of a TLS handshake nothing has been read, and the path is empty.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import socket
import socketserver
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from functools import cache

import brotli  # type: ignore[import-untyped]
from threaded import Threaded
from waiting import FOREVER, PATIENCE

CHUNK = b"x" * 65536
CHUNKED = b"400\r\n" + b"x" * 1024 + b"\r\n"
BOMB_SIZE = 300 << 20

Trick = Callable[[socket.socket, str], None]


class HostileWeb(Threaded):
    """Plays `trick` on `address` until `close`; counts the connections that came."""

    def __init__(self, trick: Trick, address: str, port: int = 0) -> None:
        self.trick = trick
        self.connections = 0
        self._closing = threading.Event()
        self._server = _Server((address, port), _handler(self))
        self.port = self._server.server_address[1]
        self.root = f"http://{address}:{self.port}"
        self.serve(self._server, 0.05)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True


def _handler(web: HostileWeb) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            web.connections += 1
            self.request.settimeout(PATIENCE)
            with contextlib.suppress(OSError):
                web.trick(self.request, _path(self.request))

    return Handler


def _path(connection: socket.socket) -> str:
    """The path that the client asks for; empty where it begins a TLS handshake."""
    if connection.recv(1, socket.MSG_PEEK) == b"\x16":
        return ""
    asked = b""
    while b"\r\n\r\n" not in asked:
        data = connection.recv(65536)
        if not data:
            raise ConnectionResetError
        asked += data
    return asked.split(None, 2)[1].decode("latin-1")


def head(*lines: str, status: str = "200 OK", content_type: str = "text/html") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *lines, "", ""]).encode()


def whole(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return head(f"Content-Length: {len(body)}", *lines, status=status) + body


NO_ROBOTS = whole(b"", status="404 Not Found")


def pages(answers: dict[str, bytes | Trick], otherwise: bytes = NO_ROBOTS) -> Trick:
    """Each path's own answer."""

    def trick(connection: socket.socket, path: str) -> None:
        answer = answers.get(path, otherwise)
        if callable(answer):
            answer(connection, path)
        else:
            connection.sendall(answer)

    return trick


def only_page(trick: Trick | bytes) -> Trick:
    """No robots.txt, and `trick` for whatever else is asked for."""

    def either(connection: socket.socket, path: str) -> None:
        if path == "/robots.txt":
            connection.sendall(NO_ROBOTS)
        elif callable(trick):
            trick(connection, path)
        else:
            connection.sendall(trick)

    return either


# Too much


def forever(*parts: bytes, pause: float = 0.0) -> Trick:
    """The first part once, the others again and again."""

    def trick(connection: socket.socket, path: str) -> None:
        connection.sendall(parts[0])
        for part in itertools.cycle(parts[1:]):
            connection.sendall(part)
            time.sleep(pause)

    return trick


@cache
def bomb(coding: str) -> bytes:
    """`BOMB_SIZE` zeros, in a body of some KB."""
    if coding == "br":
        coder = brotli.Compressor(quality=5)
        return b"".join(coder.process(part) for part in _zeros()) + coder.finish()
    if coding == "gzip, gzip":
        return gzip.compress(bomb("gzip"))
    packer = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    return b"".join(packer.compress(part) for part in _zeros()) + packer.flush()


def _zeros() -> Iterable[bytes]:
    return itertools.repeat(b"\0" * (1 << 20), BOMB_SIZE >> 20)


def bombs() -> Trick:
    """A page that links to a bomb in every coding, and to bodies that were packed too often, or in too many parts."""
    codings = {f"/{number}": coding for number, coding in enumerate(("gzip", "deflate", "br", "gzip, gzip"))}
    found: dict[str, bytes | Trick] = {}
    for path, coding in codings.items():
        found[path] = whole(bomb(coding), f"Content-Encoding: {coding}")
    found["/"] = linking(*codings, "/often", "/empty")
    found["/empty"] = whole(gzip.compress(b"") * 100_000, "Content-Encoding: gzip")
    found["/often"] = whole(gzip.compress(b"page"), f"Content-Encoding: {', '.join(['gzip'] * 5000)}")
    return pages(found)


def linking(*urls: str) -> bytes:
    return whole("".join(f'<a href="{url}">x</a>' for url in urls).encode())


def million_links() -> bytes:
    return whole(b"".join(b"<a href=%x>" % min(number, 200) for number in range(1_000_000)))


def many_agents() -> bytes:
    """A robots.txt of 500 KB in which 15,000 crawlers have 15,000 rules each."""
    names = b"".join(b"User-agent: n%d\n" % number for number in range(15_000))
    return whole(names + b"Disallow: /x\n" * 15_000 + b"\nUser-agent: sitecrawl\nDisallow: /secret\n")


# Elsewhere


def moved(location: str) -> bytes:
    return whole(b"", f"Location: {location}", status="302 Found")


def chain(connection: socket.socket, path: str) -> None:
    """Every URL leads to the next one."""
    connection.sendall(moved(f"/{int(path[1:] or 0) + 1}"))


def large_chain(connection: socket.socket, path: str) -> None:
    """The same, with 5 MB each time."""
    connection.sendall(whole(bytes(5 << 20), f"Location: /{int(path[1:] or 0) + 1}", status="302 Found"))


# Faults


def silent(connection: socket.socket, path: str) -> None:
    """Nothing, until the client has gone."""
    connection.settimeout(FOREVER)
    connection.recv(1)


def then_silent(start: bytes) -> Trick:
    def trick(connection: socket.socket, path: str) -> None:
        connection.sendall(start)
        silent(connection, path)

    return trick


def reset(connection: socket.socket, path: str) -> None:
    """The connection is torn down instead of closed."""
    connection.sendall(head("Content-Length: 100") + b"some")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
