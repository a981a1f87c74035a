"""The addresses of a host, by Twisted's resolver: with its cache, its threads, and the project's choice of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from twisted.internet import interfaces
from twisted.internet.address import IPv4Address, IPv6Address
from zope.interface import implementer

from sitecrawl import http


async def resolve(name: str) -> Sequence[str]:
    """All addresses of `name`, in the resolver's order. Raises `http.UnknownHost`."""
    from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

    found = _Addresses()
    reactor.nameResolver.resolveHostName(found, name)
    return await found.future


@implementer(interfaces.IResolutionReceiver)
class _Addresses:
    def __init__(self) -> None:
        self.future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._found: list[str] = []

    def resolutionBegan(self, resolution: interfaces.IHostResolution) -> None:  # noqa: N802 - Twisted's name
        self._name = resolution.name

    def addressResolved(self, address: interfaces.IAddress) -> None:  # noqa: N802 - Twisted's name
        if isinstance(address, IPv4Address | IPv6Address) and address.host not in self._found:
            self._found.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802 - Twisted's name
        if self.future.done():
            return
        if self._found:
            self.future.set_result(self._found)
        else:
            self.future.set_exception(http.UnknownHost(f"No address is known for {self._name}"))
