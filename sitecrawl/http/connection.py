"""A connection, and the pool of idle ones by host."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import OrderedDict
from collections.abc import Hashable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple, Protocol, cast

from sitecrawl.http.errors import ConnectionLost, HttpError

MAX_IDLE: Final = 256
"""Most idle connections over all hosts."""
_IDLE_SECONDS: Final = 60.0
"""Seconds for which a connection may be idle."""


class Endpoint(NamedTuple):
    """Target of a connection."""

    secure: bool
    host: str
    """A name or an address, without brackets."""
    port: int

    @property
    def authority(self) -> str:
        return authority(self.host, self.port)


def authority(host: str, port: int) -> str:
    """Authority part of a URL (RFC 3986, section 3.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Reader(Protocol):
    """Takes the received bytes; its errors are raised to the caller."""

    @property
    def has_begun(self) -> bool:
        """Whether anything of the answer has come."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete."""

    def feed(self, data: bytes, /) -> None: ...

    def end(self) -> None:
        """Note the end of the connection before the answer is complete."""


class Connection(asyncio.Protocol):
    """A connection with one request at a time: `ask`, and await the result."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        """None before the connection is made and after it has ended."""
        self.address: IPv4Address | IPv6Address | None = None
        """The peer's address."""
        self.peer = ""
        """The peer's address as a text; empty without one."""
        self.certificate: bytes | None = None
        """The peer's certificate as DER; None without TLS."""
        self.received = 0
        """Bytes received over all responses."""
        self.used = False
        """Whether it has served an earlier request."""
        self.since = 0.0
        """Time at which it became idle, on the loop's clock."""
        self._reader: _Reader | None = None
        self._answer: asyncio.Future[None] | None = None

    def ask(self, request: bytes, reader: _Reader) -> asyncio.Future[None]:
        """Send `request`. The future completes when `reader` is complete, and fails as `reader` does, or with
        `ConnectionLost`.

        After cancelling it, `abort` the connection.
        """
        self._reader = reader
        self._answer = asyncio.get_running_loop().create_future()
        if self.transport is None:
            self._fail(ConnectionLost("The connection has ended"))
        else:
            self.transport.write(request)
        return self._answer

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and has received nothing unasked for, which would be taken for the next answer."""
        if self.transport is None or self.transport.is_closing():
            return False
        arrived = select.poll()
        arrived.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not arrived.poll(0)

    def abort(self) -> None:
        """Close at once. An orderly end would wait for the peer, over TLS, and read on."""
        if self.transport is not None:
            self.transport.abort()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Start TLS with the peer `host`. Raises `OSError`, and `ConnectionLost` if the connection has ended.

        After cancelling it, `abort` the connection.
        """
        if self.transport is not None and not self.transport.is_closing():
            loop = asyncio.get_running_loop()
            secured = await loop.start_tls(self.transport, self, context, server_hostname=host)
            tls = secured.get_extra_info("ssl_object") if secured is not None else None
            if tls is not None and self.transport is not None:
                self.transport, self.certificate = secured, tls.getpeercert(binary_form=True)
                return
        raise ConnectionLost("The connection ended before TLS had begun")

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self.address = ip_address(peer[0].partition("%")[0])
            self.peer = str(self.address)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self._reader is None:  # nobody asked
            self.abort()
            return
        try:
            self._reader.feed(data)
        except Exception as error:  # noqa: BLE001 - it is the asker's
            self._fail(error)
            self.abort()
        else:
            if self._reader.is_whole:
                self._succeed()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._reader is None:
            return
        try:
            if not self._reader.has_begun:
                raise ConnectionLost(str(exc or "The connection ended without an answer"))
            self._reader.end()
        except HttpError as error:
            error.__cause__ = exc
            self._fail(error)
        else:
            self._succeed()

    def _succeed(self) -> None:
        answer, self._reader, self._answer = self._answer, None, None
        if answer is not None and not answer.done():
            answer.set_result(None)

    def _fail(self, error: Exception) -> None:
        answer, self._reader, self._answer = self._answer, None, None
        if answer is not None and not answer.done():
            answer.set_exception(error)


class Pool:
    """Idle connections by endpoint."""

    def __init__(self, max_idle: int = MAX_IDLE, seconds: float = _IDLE_SECONDS) -> None:
        self._max_idle = max_idle
        self._seconds = seconds
        self._idle: OrderedDict[Connection, Hashable] = OrderedDict()
        """The longest idle first."""
        self._by_key: dict[Hashable, list[Connection]] = {}

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, key: Hashable) -> Connection | None:
        """Take the connection to `key` that was used last, if it is still open."""
        while found := self._by_key.get(key):
            connection = found[-1]
            self._forget(connection)
            if connection.is_quiet:
                return connection
            connection.abort()
        return None

    def give(self, key: Hashable, connection: Connection, now: float) -> None:
        connection.used, connection.since = True, now
        self._idle[connection] = key
        self._by_key.setdefault(key, []).append(connection)
        while len(self._idle) > self._max_idle:
            self._drop(next(iter(self._idle)))

    def prune(self, now: float) -> None:
        """Close connections that have been idle for too long or have ended."""
        for connection in list(self._idle):
            if connection.transport is None or now - connection.since > self._seconds:
                self._drop(connection)

    def close(self) -> None:
        for connection in list(self._idle):
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._forget(connection)
        connection.abort()

    def _forget(self, connection: Connection) -> None:
        key = self._idle.pop(connection)
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]
