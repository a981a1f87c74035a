"""One HTTP/1.1 request, and its form on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sitecrawl.http.connection import Endpoint
from sitecrawl.http.errors import HttpError
from sitecrawl.http.proxies import Proxy

_WITH_LENGTH: Final = frozenset({"POST", "PUT", "PATCH"})
_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_TARGET: Final = re.compile(r"[\x21-\x7e]+").fullmatch


@dataclass(slots=True)
class Request:
    """One request. `host` is the value of its Host header."""

    method: str
    target: str
    """Path and query."""
    host: str
    endpoint: Endpoint
    headers: Sequence[tuple[bytes, bytes]] = field(default=(), repr=False)
    """Headers, without those that frame a message."""
    body: bytes = field(default=b"", repr=False)
    proxy: Proxy | None = None
    proxy_login: bytes = field(default=b"", repr=False)
    """Value of Proxy-Authorization, sent to the proxy alone. For SOCKS its scheme must be Basic."""
    bind: tuple[str, int] | None = None
    """The local address to connect from."""
    may_connect: Callable[[str], None] = field(default=lambda _address: None)
    """Called with each IP address before connecting; its exception ends the download."""

    @property
    def has_tunnel(self) -> bool:
        """Whether the proxy tunnels the connection."""
        return self.proxy is not None and (self.endpoint.secure or self.proxy.is_socks)

    @property
    def to_proxy(self) -> list[tuple[bytes, bytes]]:
        """Headers for the proxy alone."""
        return [(b"Proxy-Authorization", self.proxy_login)] if self.proxy_login else []

    def __bytes__(self) -> bytes:
        """Serialise for the wire. Raises `HttpError` for what cannot be sent."""
        if not _METHOD(self.method) or not _TARGET(self.target):
            raise HttpError(f"{self.method!r} {self.target[:100]!r} is no request")
        asks_proxy = self.proxy is not None and not self.has_tunnel
        target = f"http://{self.host}{self.target}" if asks_proxy else self.target
        headers = [*self.headers, *(self.to_proxy if asks_proxy else ())]
        if not any(name.lower() == b"host" for name, _ in headers):
            headers.insert(0, (b"Host", self.host.encode()))
        if self.body or self.method in _WITH_LENGTH:
            headers.append((b"Content-Length", b"%d" % len(self.body)))
        return message_head(f"{self.method} {target} HTTP/1.1", headers) + self.body


def message_head(line: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    lines = b"".join([b"%b: %b\r\n" % pair for pair in headers])
    if lines.count(b"\n") != len(headers) or lines.count(b"\r") != len(headers):  # one stands in a value
        lines = b"".join([b"%b: %b\r\n" % (name, _one_line(value)) for name, value in headers])
    return b"%b\r\n%b\r\n" % (line.encode("ascii"), lines)


def _one_line(value: bytes) -> bytes:
    return b" ".join(value.split()) if b"\n" in value or b"\r" in value else value
