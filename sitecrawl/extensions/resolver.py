"""Addresses of hosts: by c-ares on the event loop, unless the project chose another resolver of Twisted's.

`getaddrinfo` blocks a thread while a name server is silent: a page with some links to such names would take all
threads. `Resolver` also says why a name has no address: because there is no such name (the host's fault), or no name
server answers (not its fault). With another resolver, `sitecrawl.http.blame` infers that from other names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, Final, Self, cast

from aiodns import DNSResolver
from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, DNSError
from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver, dnscache
from twisted.internet import interfaces
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.base import ReactorBase
from zope.interface import implementer

from sitecrawl import http

_NO_SUCH_NAME: Final = frozenset({ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND})
"""Codes of c-ares for names without an address."""
_FIRST_WAIT: Final = 2.0
"""Seconds to wait for a name server of unknown speed. Each further try waits twice as long."""
_TRIES: Final = 5
_SHARE: Final = 4
"""Divisor: this part of the requests under way may wait for slow names."""


class _CAres:
    """Look-ups by /etc/hosts and the name servers of /etc/resolv.conf. `servers`: others instead, as in
    `127.0.0.1:5353`. Make and use it while a loop runs.
    """

    def __init__(self, servers: Sequence[str] | None = None) -> None:
        self._resolver = DNSResolver(servers, timeout=_FIRST_WAIT, tries=_TRIES)

    async def ask(self, name: str) -> Sequence[str]:
        """Addresses of `name` in the order for trying (RFC 6724)."""
        try:
            found = await self._resolver.getaddrinfo(name)
        except UnicodeError as error:
            raise http.UnknownHost(f"{name} is no name: {error}") from error
        except DNSError as error:
            if error.args[0] in _NO_SUCH_NAME:
                raise http.UnknownHost(f"No address is known for {name}") from error
            raise http.Unresolved(f"No name server says anything of {name}: {error.args[-1]}", stated=True) from error
        return list(dict.fromkeys(node.addr[0].decode("ascii") for node in found.nodes))

    async def close(self) -> None:
        await self._resolver.close()


class Resolver(CachingHostnameResolver):
    """Scrapy's resolver; `look_up` uses c-ares."""

    def __init__(self, reactor: ReactorBase, cache_size: int, most_slow: int = 1) -> None:
        super().__init__(reactor, cache_size)
        self.names = http.Names(self._ask, _ask_anew, cache_size=cache_size, most_slow=most_slow)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> Self:
        settings = crawler.settings
        cache_size = settings.getint("DNSCACHE_SIZE") if settings.getbool("DNSCACHE_ENABLED") else 0
        return cls(reactor, cache_size, max(1, settings.getint("CONCURRENT_REQUESTS") // _SHARE))

    def install_on_reactor(self) -> None:
        super().install_on_reactor()
        cast(Any, self.reactor).addSystemEventTrigger("before", "shutdown", self.names.close)

    @cached_property
    def _c_ares(self) -> _CAres:
        """c-ares, made at the first look-up while the loop runs."""
        return _CAres()

    async def _ask(self, name: str) -> Sequence[str]:
        return await self._c_ares.ask(name)


async def _ask_anew(name: str) -> Sequence[str]:
    """Ask a c-ares without a cache; the usual one caches answers for their lifetime."""
    c_ares = _CAres()
    try:
        return await c_ares.ask(name)
    finally:
        await c_ares.close()


async def look_up(name: str, *, fresh: bool = False) -> http.Found:
    """All addresses of `name`, in the resolver's order: see `http.client.LookUp`."""
    from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

    resolver = reactor.nameResolver
    if isinstance(resolver, Resolver):
        return await resolver.names.look_up(name, fresh=fresh)
    found = _Addresses()
    with _without(name) if fresh else nullcontext():
        is_fresh = name not in dnscache
        resolver.resolveHostName(found, name)
        addresses = await found.future
    if not addresses:
        raise http.Unresolved(f"No address is known for {name}", stated=False)
    return http.Found(addresses, is_fresh)


def condemn(name: str) -> None:
    """See `http.Names.condemn`."""
    from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

    if isinstance(resolver := reactor.nameResolver, Resolver):
        resolver.names.condemn(name)


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Drop `name` from the cache; restore it if there is no new answer."""
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
        """Ignore the resolution, which cannot be cancelled."""

    def addressResolved(self, address: interfaces.IAddress) -> None:  # noqa: N802 - Twisted's name
        if isinstance(address, IPv4Address | IPv6Address) and address.host not in self._found:
            self._found.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802 - Twisted's name
        if not self.future.done():
            self.future.set_result(self._found)
