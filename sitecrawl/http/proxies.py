"""Proxies: how they are asked, and whether one or the host behind it has failed.

An HTTP proxy is asked for a whole URL (RFC 9112, section 3.2.2), or for a tunnel to a host with TLS (RFC 9110,
section 9.3.6); an `https` one over TLS. A SOCKS 5 proxy makes a tunnel to any host (`sitecrawl.http.socks`). All of
them look up the host's name, also `socks5`, which elsewhere leaves that to the client.

Hosts are not blamed for their proxy. A proxy that cannot be connected to is down. One that is silent or breaks off
is probed by a request that only it can answer: OPTIONS with Max-Forwards: 0 (RFC 9110, section 7.6.2), or the SOCKS
greeting (RFC 1928, section 3). If it answers, the host is to blame. A proxy that wants other credentials, or speaks
no SOCKS where it should, counts as down.

A proxy that is down is left alone for a while, twice as long each time; requests through it fail at once until then.
While another way (another proxy or none) has worked lately, only this proxy is lacking (`Want.PROXY`), else all that
the crawl has (`Want.PROXIES`).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from sitecrawl.base.errors import how_to_install
from sitecrawl.base.pauses import DoublingPause
from sitecrawl.http.addresses import literal
from sitecrawl.http.blame import Want
from sitecrawl.http.connection import Connection, authority
from sitecrawl.http.errors import HttpError

_SOCKS: Final = ("socks5", "socks5h")
_PORTS: Final = {"http": 80, "https": 443} | dict.fromkeys(_SOCKS, 1080)


class Proxy(NamedTuple):
    """Address and protocol of a proxy."""

    scheme: str
    host: str
    """A name or an address, without brackets."""
    port: int

    @classmethod
    def of(cls, url: str) -> Proxy:
        """Parse `url`; http without a scheme. Raises `ValueError` with the reason."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in _PORTS:
            raise ValueError(f"A proxy is asked over {', '.join(_PORTS)}, and not over {parts.scheme}")
        if not parts.hostname:
            raise ValueError(f"{parts.scheme}:// without a host is no proxy")
        if parts.scheme in _SOCKS and find_spec("python_socks") is None:
            raise ValueError(f"A proxy of SOCKS takes a package: {how_to_install('socks')}")
        try:
            return cls(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])
        except ValueError:  # its words may have half of a password
            raise ValueError("A proxy's port is a number below 65536") from None

    @property
    def authority(self) -> str:
        return authority(self.host, self.port)

    @property
    def secure(self) -> bool:
        """Whether the connection to it uses TLS."""
        return self.scheme == "https"

    @property
    def is_socks(self) -> bool:
        return self.scheme in _SOCKS


def login_in(url: str) -> bytes:
    """Credentials in the proxy `url` as a header value (RFC 7617); empty without."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.username is None:
        return b""
    return b"Basic " + b64encode(f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode())


logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.5
"""First pause of a proxy that is down, in seconds."""
_LONGEST_PAUSE: Final = 30.0
_WAYS: Final = 8
"""Recently working ways that are remembered (count)."""


class Proxies:
    """See the module. `resolve` returns the addresses of a name, or raises an `HttpError`; `patience`: seconds to
    wait for a probed proxy, over `tls` if needed. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        resolve: Callable[[str], Awaitable[Sequence[str]]],
        tls: ssl.SSLContext,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._tls = tls
        self._patience = patience
        self._clock = clock
        self._ways: OrderedDict[Proxy | None, None] = OrderedDict()
        """Proxies (None: no proxy) that brought answers, the latest last."""
        self._down: dict[Proxy, DoublingPause] = {}
        """Pauses of proxies that are left alone."""
        self._asking: dict[Proxy, asyncio.Task[bool]] = {}

    def heard(self, way: Proxy | None) -> None:
        """Note an answer through the proxy `way`, or without one."""
        self._ways[way] = None
        self._ways.move_to_end(way)
        if len(self._ways) > _WAYS:
            self._ways.popitem(last=False)
        if way is not None and (outage := self._down.pop(way, None)) and outage.seconds > _FIRST_PAUSE:
            logger.warning("The proxy %s answers again", way.authority)

    def left_alone(self, proxy: Proxy) -> Want | None:
        """Return the want while `proxy` is left alone; None if it may be asked."""
        outage = self._down.get(proxy)
        return self._want(proxy) if outage is not None and self._clock() < outage.until else None

    async def of_failure(self, proxy: Proxy, *, stands: bool) -> Want | None:
        """Return the want if nothing came through `proxy`; None if the proxy works, so that the host is to blame.

        `stands`: there was a connection to it.
        """
        if stands and await self._is_there(proxy):
            self.heard(proxy)
            return None
        return self.unusable(proxy, "does not answer")

    def unusable(self, proxy: Proxy, why: str) -> Want:
        """Return the want if `proxy` lets nobody through; `why` says what it does instead."""
        self._suffer(proxy, why)
        return self._want(proxy)

    def _want(self, proxy: Proxy) -> Want:
        others = self._ways.keys() - self._down.keys() - {proxy}
        return Want.PROXY if others else Want.PROXIES

    def _suffer(self, proxy: Proxy, why: str) -> None:
        now, outage = self._clock(), self._down.get(proxy)
        if outage is not None and now < outage.until:
            return  # it was under way before
        if outage is not None and outage.seconds == _FIRST_PAUSE:  # of a moment's outage nobody need hear
            logger.warning("The proxy %s %s: what goes through it waits", proxy.authority, why)
        self._down[proxy] = DoublingPause.after(outage, now, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)

    async def _is_there(self, proxy: Proxy) -> bool:
        if (asking := self._asking.get(proxy)) is None:
            asking = self._asking[proxy] = asyncio.get_running_loop().create_task(self._ask(proxy))
            asking.add_done_callback(lambda _: self._asking.pop(proxy))
        return await asyncio.shield(asking)

    async def _ask(self, proxy: Proxy) -> bool:
        with suppress(TimeoutError, OSError, HttpError):
            async with asyncio.timeout(self._patience):
                return await self._answers(proxy)
        return False

    async def _answers(self, proxy: Proxy) -> bool:
        address = proxy.host if literal(proxy.host) else (await self._resolve(proxy.host))[0]
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, address, proxy.port)
        try:
            if proxy.secure:
                await connection.start_tls(self._tls, proxy.host)
            await connection.ask(_introduction(proxy), _AnyAnswer())
            return True
        finally:
            connection.abort()

    def close(self) -> None:
        for asking in self._asking.values():
            asking.cancel()


def _introduction(proxy: Proxy) -> bytes:
    if proxy.is_socks:
        return b"\x05\x01\x00"
    return b"OPTIONS * HTTP/1.1\r\nHost: %b\r\nMax-Forwards: 0\r\n\r\n" % proxy.authority.encode()


class _AnyAnswer:
    """Reads a connection until something has come."""

    has_begun = is_whole = False

    def feed(self, _data: bytes) -> None:
        self.has_begun = self.is_whole = True

    def end(self) -> None:
        """Note the end of the answer."""
