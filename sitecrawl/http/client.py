"""HTTP requests over persistent connections.

A `Download` is one request under way. It looks up the host, asks `may_connect` about each address (a page must not
send the crawler anywhere), connects, through a proxy if there is one, and reads the response. It can be ended from
outside at any time, with an error that says why.

TLS starts after the connection is made, not with it: uvloop's `create_connection(ssl=...)` waits for two futures in
turn, and ending a download between them would leave the second one's error unretrieved and logged.

A kept connection that its peer has closed shows this only when it is used: a request without effects is then sent
again over a new one (RFC 9112, section 9.3.1).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import aiohappyeyeballs

from sitecrawl.http.addresses import literal
from sitecrawl.http.blame import PATIENCE, Blame, Want, is_no_route, is_silence, lacks_socket, own_want
from sitecrawl.http.connection import MAX_IDLE, Connection, Endpoint, Pool
from sitecrawl.http.errors import (
    ConnectionFailed,
    ConnectionLost,
    Ending,
    HttpError,
    Lacking,
    UnknownHost,
    Unresolved,
)
from sitecrawl.http.proxies import Proxies, Proxy
from sitecrawl.http.reader import ReadLimits, ResponseReader
from sitecrawl.http.request import Request, message_head
from sitecrawl.http.tls import Tls, bad_certificate

_STAGGER_SECONDS: Final = 0.25
"""Seconds after which the next address is tried beside the first (RFC 8305, section 5)."""
_CLOSING_SECONDS: Final = 0.01
"""Seconds in which the loop closes aborted connections."""
_SHUT_OUT: Final = 407
"""Status by which a proxy, and never a host, asks for credentials (RFC 9110, section 15.5.8)."""
_SHUTS_OUT: Final = "wants another name or password"
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Found(NamedTuple):
    """Result of looking up a name."""

    addresses: Sequence[str]
    """Addresses in the order of attempts."""
    is_fresh: bool = True
    """Whether the answer is a name server's, and not cached."""


class LookUp(Protocol):
    """Looks up names."""

    async def __call__(self, name: str, *, fresh: bool = False) -> Found:
        """Look up `name`; `fresh` bypasses the cache. Raises `UnknownHost` if there is no such name, and
        `Unresolved` if no server says.
        """


class Client:
    """A client; close it in the end. `max_idle`: connections kept for further requests. `patience`: seconds to wait
    for probed hosts. `condemn` is called with a name whose silence is its own fault.
    """

    def __init__(
        self,
        look_up: LookUp,
        tls: Tls,
        limits: ReadLimits,
        *,
        max_idle: int = MAX_IDLE,
        patience: float = PATIENCE,
        condemn: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._look_up = look_up
        self._condemn = condemn
        self.tls = tls
        self.limits = limits
        self.pool = Pool(max_idle)
        self.blame = Blame(self._is_answered, patience)
        self.proxies = Proxies(self.resolve, tls.unchecked, patience)

    async def resolve(self, name: str) -> Sequence[str]:
        """The addresses of `name`. Raises as `LookUp` does, and `Lacking`."""
        try:
            found = await self._look_up(name)
        except (UnknownHost, Unresolved) as error:
            if (want := lacks_socket()) is not None:
                raise Lacking(want, str(error)) from error
            if isinstance(error, UnknownHost):
                self.blame.named(name)
            raise
        if found.is_fresh:
            self.blame.named(name)
        return found.addresses

    async def lacks_network(self, error: Exception, host: str, address: str) -> Want | None:
        """Want that caused `error`, an `HttpError` or the caller's own, of a request to `host`; None if the host is
        to blame.

        `address`: the one that was tried; empty before there was any.
        """
        if not _is_silence(error):
            return None
        if isinstance(error, Unresolved):
            stated = error.stated
        else:
            stated = isinstance(error.__cause__, OSError) and is_no_route(error.__cause__)
        want = await self.blame.of_silence(host, address, stated=stated)
        if want is None and isinstance(error, Unresolved):
            self._condemn(host)
        return want

    async def _is_answered(self, name: str) -> bool:
        try:
            await self._look_up(name, fresh=True)
        except UnknownHost:
            return True
        except Unresolved:
            return False
        return True

    def close(self) -> None:
        self.pool.close()
        self.blame.close()
        self.proxies.close()


class _Overlooked(Exception):
    """An invalid certificate ended a connection; the next one will ignore it."""


class Download:
    """A request under way. `connection`: the one it came over; `reader`: the response so far."""

    __slots__ = ("_address", "_client", "_ending", "_request", "_seeks_proxy", "connection", "reader")

    def __init__(self, client: Client, request: Request) -> None:
        self._client = client
        self._request = request
        self._ending = Ending()
        self._address = ""
        """The first address tried, or the one connected to; empty before."""
        self._seeks_proxy = False
        """Whether the connection is, or would have been, to the proxy."""
        self.connection: Connection | None = None
        self.reader: ResponseReader | None = None

    def end(self, error: Exception) -> None:
        """End the download: let `run` raise `error` now."""
        self._ending.end(error)

    @property
    def progress(self) -> int:
        """A number that grows with every byte that comes."""
        return self.connection.received if self.connection is not None else -1

    @property
    def arrived(self) -> int:
        """Bytes of the response that have come."""
        return self.reader.received if self.reader is not None else 0

    async def run(
        self,
        *,
        max_size: int,
        on_head: Callable[[], None] | None = None,
        on_data: Callable[[bytes], None] | None = None,
    ) -> ResponseReader:
        """Run the request; return the complete response. `max_size`: of its body, in bytes. The listeners are the
        `ResponseReader`'s.

        Raises an `HttpError`, what `may_connect` and the listeners raise, and the error given to `end`.
        """
        request = self._request
        message = bytes(request)
        key = (request.endpoint, request.proxy, request.proxy_login, request.bind)
        pool = self._client.pool
        while True:
            connection = pool.take(key) or await self._ending.wait(asyncio.ensure_future(self._connect()))
            self.connection = connection
            self._address = connection.peer or self._address
            self.reader = reader = ResponseReader(
                self._client.limits,
                max_size=max_size,
                has_body=request.method != "HEAD",
                on_head=on_head,
                on_data=on_data,
            )
            try:
                await self._ending.wait(connection.ask(message, reader))
            except ConnectionLost:
                if connection.used and request.method in _REPEATABLE and not request.body:
                    continue
                raise
            except BaseException:
                connection.abort()
                raise
            self._client.blame.answered(self._address, (request.proxy or request.endpoint).port)
            if request.proxy is not None and not request.has_tunnel and reader.status == _SHUT_OUT:
                connection.abort()
                raise self._unusable(request.proxy, _SHUTS_OUT)
            self._client.proxies.heard(request.proxy)
            if reader.is_reusable:
                pool.give(key, connection, asyncio.get_running_loop().time())
            else:
                connection.abort()
            return reader

    async def lacks(self, error: Exception) -> Want | None:
        """Want that made `run` raise `error`; None if the host is to blame.

        An `error` of the caller's own, by which it ended the download, counts as silence.
        """
        if isinstance(error, Lacking):
            return error.want
        proxy = self._request.proxy
        asked = (proxy or self._request.endpoint).host
        want = await self._client.lacks_network(error, asked, self._address)
        if want is None and proxy is not None and (self._seeks_proxy or _is_nothing(error)):
            return await self._client.proxies.of_failure(proxy, stands=not self._seeks_proxy)
        return want

    # Connecting

    async def _connect(self) -> Connection:
        while True:
            with suppress(_Overlooked):
                return await self._connect_once()

    async def _connect_once(self) -> Connection:
        request = self._request
        if request.proxy is None:
            connection = await self._reach(request.endpoint, request.may_connect)
        else:
            connection = await self._reach_proxy(request.proxy)
        try:
            if request.proxy is not None and request.endpoint.secure and not request.proxy.is_socks:
                await self._tunnel(connection, request.proxy)
            if request.endpoint.secure:
                await self._secure(connection, request.endpoint)
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _reach_proxy(self, proxy: Proxy) -> Connection:
        if (want := self._client.proxies.left_alone(proxy)) is not None:
            raise Lacking(want, f"The proxy {proxy.authority} does not answer")
        self._seeks_proxy = True
        connection = await self._reach(proxy, lambda _address: None)
        if proxy.secure:
            await self._secure(connection, proxy)
            connection.certificate = None  # it is the host's that is wanted
        self._seeks_proxy = False
        return connection

    async def _reach(self, endpoint: Endpoint | Proxy, may_connect: Callable[[str], None]) -> Connection:
        addresses = [endpoint.host] if literal(endpoint.host) else await self._client.resolve(endpoint.host)
        for address in addresses:
            may_connect(address)
        self._address = addresses[0]
        try:
            connection = await self._open_with_room(endpoint, addresses)
        except ConnectionRefusedError as error:
            self._client.blame.answered(addresses[0], endpoint.port)
            raise _failed(endpoint, error) from error
        except OSError as error:
            raise _failed(endpoint, error) from error
        self._client.blame.answered(connection.peer or addresses[0], endpoint.port)
        return connection

    async def _open_with_room(self, endpoint: Endpoint | Proxy, addresses: Sequence[str]) -> Connection:
        """Open a connection; if this machine lacks something, close idle ones and try again."""
        while True:
            try:
                return await self._open(endpoint, addresses)
            except OSError as error:
                if (want := own_want(error, addresses[0])) is None:
                    raise
                if not len(self._client.pool):
                    raise Lacking(want, f"{endpoint.authority}: {error}") from error
            self._client.pool.close()
            await asyncio.sleep(_CLOSING_SECONDS)

    async def _open(self, endpoint: Endpoint | Proxy, addresses: Sequence[str]) -> Connection:
        loop = asyncio.get_running_loop()
        bind = self._request.bind
        is_socks = isinstance(endpoint, Proxy) and endpoint.is_socks
        if len(addresses) == 1 and not is_socks:
            given: dict[str, Any] = {"host": addresses[0], "port": endpoint.port, "local_addr": bind}
        else:
            local = await loop.getaddrinfo(*bind, type=socket.SOCK_STREAM) if bind is not None else None
            infos = [_address_info(address, endpoint.port) for address in addresses]
            given = {
                "sock": await aiohappyeyeballs.start_connection(
                    infos, local_addr_infos=local, happy_eyeballs_delay=_STAGGER_SECONDS, interleave=1
                )
            }
        if is_socks:
            await self._socks_tunnel(given["sock"])
        opened: tuple[asyncio.Transport, Connection] = await loop.create_connection(Connection, **given)
        return opened[1]

    async def _socks_tunnel(self, connection: socket.socket) -> None:
        from sitecrawl.http.socks import NoSocks, ShutOut, tunnel  # noqa: PLC0415 - an extra

        self._seeks_proxy = False
        request = self._request
        assert request.proxy is not None
        try:
            await tunnel(connection, request.endpoint, request.proxy_login)
        except ShutOut as error:
            raise self._unusable(request.proxy, _SHUTS_OUT) from error
        except NoSocks as error:
            raise self._unusable(request.proxy, "speaks no SOCKS 5") from error
        self._client.proxies.heard(request.proxy)

    async def _tunnel(self, connection: Connection, proxy: Proxy) -> None:
        """Make a tunnel by CONNECT (RFC 9110, section 9.3.6)."""
        authority = self._request.endpoint.authority
        headers = [(b"Host", authority.encode()), *self._request.to_proxy]
        reader = ResponseReader(self._client.limits, has_body=False)
        await connection.ask(message_head(f"CONNECT {authority} HTTP/1.1", headers), reader)
        if reader.status == _SHUT_OUT:
            raise self._unusable(proxy, _SHUTS_OUT)
        self._client.proxies.heard(proxy)
        if not 200 <= reader.status < 300:
            raise ConnectionFailed(f"The proxy answers {reader.status} when asked for {authority}")

    def _unusable(self, proxy: Proxy, why: str) -> Lacking:
        return Lacking(self._client.proxies.unusable(proxy, why), f"The proxy {proxy.authority} {why}")

    async def _secure(self, connection: Connection, endpoint: Endpoint | Proxy) -> None:
        try:
            await connection.start_tls(self._client.tls.context(endpoint), endpoint.host)
        except ssl.SSLCertVerificationError as error:
            bad = bad_certificate(endpoint, error)
            if self._client.tls.overlooks(endpoint, bad):
                raise _Overlooked from bad
            raise bad from error
        except OSError as error:
            raise _failed(endpoint, error) from error


def _is_silence(error: Exception) -> bool:
    """Whether `error` means silence. An error of the caller's own does."""
    if isinstance(error, HttpError):
        cause = error.__cause__
        return isinstance(error, Unresolved) or (isinstance(cause, OSError) and is_silence(cause))
    return True


def _is_nothing(error: Exception) -> bool:
    """Whether an established connection was lost or stayed silent."""
    return isinstance(error, ConnectionLost) or _is_silence(error)


def _failed(endpoint: Endpoint | Proxy, error: OSError) -> ConnectionFailed:
    return ConnectionFailed(f"{endpoint.authority} cannot be connected to: {error}")


def _address_info(address: str, port: int) -> tuple[int, int, int, str, tuple[Any, ...]]:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)
