"""The addresses of a host, by Twisted's resolver: with its cache, its threads, and the project's choice of it.

Twisted says of a name that it leads to no address, and not why. `Resolver` does: whether there is no such name, which
is the host's fault, or no name server to ask, which is not. With another one, that has to be told from what becomes
of other names (`sitecrawl.http.blame`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final, cast

from scrapy.resolver import CachingHostnameResolver, dnscache
from scrapy.utils.datatypes import LocalCache
from twisted.internet import interfaces
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.base import ReactorBase
from twisted.internet.threads import deferToThreadPool
from zope.interface import implementer

from sitecrawl import http

_NO_SUCH_NAME: Final = frozenset(
    code
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY", "EAI_FAMILY")
    if (code := getattr(socket, name, None)) is not None
)
"""What `getaddrinfo` says where a name server has answered, and there is nothing."""


class Resolver(CachingHostnameResolver):
    """Scrapy's, on the system's name servers; asked by `look_up` it says why a name leads nowhere."""

    def __init__(self, reactor: ReactorBase, cache_size: int) -> None:
        super().__init__(reactor, cache_size)
        self._known: LocalCache[str, Sequence[str]] = LocalCache(cache_size)

    async def look_up(self, name: str, *, fresh: bool) -> http.Found:
        """See `http.client.LookUp`."""
        if not fresh and (known := self._known.get(name)) is not None:
            return http.Found(known, is_fresh=False)
        try:
            found = await self._ask(name)
        except UnicodeError as error:
            raise http.UnknownHost(f"{name} is no name: {error}") from error
        except OSError as error:
            if isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME:
                raise http.UnknownHost(f"No address is known for {name}") from error
            raise http.Unresolved(f"No name server says anything of {name}: {error}", stated=True) from error
        self._known[name] = found
        return http.Found(found)

    async def _ask(self, name: str) -> Sequence[str]:
        reactor = cast(Any, self.reactor)  # one with threads, as all are that Scrapy takes
        threads = reactor.getThreadPool()
        asked = deferToThreadPool(reactor, threads, socket.getaddrinfo, name, 0, 0, socket.SOCK_STREAM)
        infos = await asked.asFuture(asyncio.get_running_loop())
        return list(dict.fromkeys(str(info[4][0]) for info in infos))


async def look_up(name: str, *, fresh: bool = False) -> http.Found:
    """All addresses of `name`, in the resolver's order: see `http.client.LookUp`."""
    from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

    resolver = reactor.nameResolver
    if isinstance(resolver, Resolver):
        return await resolver.look_up(name, fresh=fresh)
    found = _Addresses()
    with _without(name) if fresh else nullcontext():
        is_fresh = name not in dnscache
        resolver.resolveHostName(found, name)
        addresses = await found.future
    if not addresses:
        raise http.Unresolved(f"No address is known for {name}", stated=False)
    return http.Found(addresses, is_fresh)


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Let what is known of `name` be asked for anew; where nothing comes, it is still known."""
    known = dnscache.pop(name, None)
    try:
        yield
    finally:
        if known is not None and name not in dnscache:
            dnscache[name] = known


@implementer(interfaces.IResolutionReceiver)
class _Addresses:
    def __init__(self) -> None:
        self.future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._found: list[str] = []

    def resolutionBegan(self, resolution: interfaces.IHostResolution) -> None:  # noqa: N802 - Twisted's name
        """It cannot be cancelled, so nobody keeps it."""

    def addressResolved(self, address: interfaces.IAddress) -> None:  # noqa: N802 - Twisted's name
        if isinstance(address, IPv4Address | IPv6Address) and address.host not in self._found:
            self._found.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802 - Twisted's name
        if not self.future.done():
            self.future.set_result(self._found)
