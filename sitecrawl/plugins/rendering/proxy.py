"""The network of one page in the browser: an HTTP proxy on loopback, of whose requests another part has the answers.

Why a proxy, and no interception in the browser: all that a page does comes here, whoever in the browser asks
(workers, frames, redirects, preloads), and the browser itself looks up no name and connects to nothing. Each page has
its own, so what comes is this page's. TLS ends here, too, under a key by which the proxy is any host to the browser:
it is made anew for each run, and the browser is told to believe this one and no other. What hosts show themselves is
the HTTP client's business.

Requests are HTTP/1.1, one after the other on a connection. WebSockets are refused: what they say is not stored.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http.client import responses
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sitecrawl.page.items import Headers

_LIFETIME: Final = timedelta(days=365)
_MAX_HEAD: Final = 256 << 10
"""Bytes of a request's line and headers."""
_MAX_BODY: Final = 1 << 20
"""Bytes of a request's body."""
_OF_CONNECTION: Final = frozenset(
    {b"connection", b"proxy-connection", b"keep-alive", b"te", b"upgrade", b"proxy-authorization", b"content-length"}
)
_OF_MESSAGE: Final = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"upgrade"})
_NO_BODY: Final = frozenset({204, 304})


class Asked(NamedTuple):
    """A request of the browser."""

    method: str
    url: str
    headers: Headers
    """Without those of the connection."""
    body: bytes


class ProxyAnswer(NamedTuple):
    """An answer to the browser."""

    status: int
    headers: Headers = ()
    body: bytes = b""


class _NoRequest(Exception):
    """Bytes that are no request, or too long for one."""


class Proxy:
    """See the module. `answer` must not raise."""

    def __init__(self, answer: Callable[[Asked], Awaitable[ProxyAnswer]], tls: ssl.SSLContext) -> None:
        self._answer = answer
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._changed = monotonic()

    async def open(self) -> str:
        """Begin to listen; gives the proxy's URL."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_MAX_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """End all connections, with whatever is under way."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    @property
    def silence(self) -> float:
        """Seconds for which nothing has been under way; 0 while something is."""
        return 0.0 if self._under_way else monotonic() - self._changed

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, ValueError, _NoRequest, asyncio.LimitOverrunError):
            pass  # the browser has gone, or is to
        except asyncio.CancelledError:
            pass  # `close`: asyncio would log it as nobody's error
        finally:
            self._serving.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, headers = await _head(reader)
        origin = ""
        if method == "CONNECT":
            origin = f"https://{target.removesuffix(':443')}"
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            await writer.start_tls(self._tls)
            method, target, headers = await _head(reader)
        while True:
            body = await _body(reader, headers)
            kept = [(name, value) for name, value in headers if name.lower() not in _OF_CONNECTION]
            answer = await self._answered(Asked(method, origin + target, kept, body), headers)
            writer.write(_message(answer, has_body=method != "HEAD"))
            await writer.drain()
            method, target, headers = await _head(reader)

    async def _answered(self, asked: Asked, headers: Headers) -> ProxyAnswer:
        if any(name.lower() == b"upgrade" for name, _ in headers):
            return ProxyAnswer(403)
        self._under_way += 1
        try:
            return await self._answer(asked)
        finally:
            self._under_way -= 1
            self._changed = monotonic()


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, Headers]:
    """Method, target and headers of the next request. Raises `EOFError` where there is none."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head[:-4].split(b"\r\n")
    method, _, rest = line.decode("latin-1").partition(" ")
    target, _, version = rest.rpartition(" ")
    if not target or not version.startswith("HTTP/1."):
        raise _NoRequest
    found = (each.partition(b":") for each in lines)
    return method, target, [(name.strip(), value.strip()) for name, _, value in found]


async def _body(reader: asyncio.StreamReader, headers: Headers) -> bytes:
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    length = int(lengths[0]) if lengths else 0
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in headers)
    if chunked or not 0 <= length <= _MAX_BODY:
        raise _NoRequest
    return await reader.readexactly(length)


def _message(answer: ProxyAnswer, *, has_body: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {responses.get(answer.status, '')}".encode()]
    lines += [name + b": " + value for name, value in answer.headers if name.lower() not in _OF_MESSAGE]
    if answer.status not in _NO_BODY:
        lines.append(b"Content-Length: %d" % len(answer.body))
    message = b"\r\n".join(line.replace(b"\r", b" ").replace(b"\n", b" ") for line in lines) + b"\r\n\r\n"
    return message + answer.body if has_body and answer.status not in _NO_BODY else message


class _Identity(NamedTuple):
    """What the proxy shows, and how the browser knows it."""

    tls: ssl.SSLContext
    spki: str
    """The SHA-256 of the public key, in base64."""


def new_identity() -> _Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sitecrawl")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
        .sign(key, hashes.SHA256())
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _Identity(_context(key, certificate), base64.b64encode(hashlib.sha256(public).digest()).decode())


def _context(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory(prefix="sitecrawl-") as folder:  # `ssl` reads files alone
        path = Path(folder, "proxy.pem")
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
        tls.load_cert_chain(path)
    return tls
