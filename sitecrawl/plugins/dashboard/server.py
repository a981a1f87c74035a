"""Where the page is served: Twisted's server, which Scrapy has running anyway, on 127.0.0.1 alone unless a setting
says otherwise. What is served is made when the first connection comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.protocol import ServerFactory
from twisted.protocols.policies import WrappingFactory

from sitecrawl.plugins.dashboard.guard import Guard, host_of

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress
    from twisted.internet.protocol import Protocol
    from twisted.web.server import Site

_MAX_CONNECTIONS: Final = 100
"""Open at a time: any process on this machine may make some."""


class Server:
    """Serves what `site` makes, for those whom its guard admits, until `close`. `has_own_token`: it is new, and
    somebody has to be told. Raises `twisted.internet.error.CannotListenError`.
    """

    def __init__(
        self, site: Callable[[Guard], Site], token: str, port: int, address: str, *, has_own_token: bool
    ) -> None:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

        self._connections = _Connections(_Later(lambda: site(self._guard)))
        listen: Any = reactor.listenTCP
        self._listening: Any = listen(port, self._connections, interface=address)
        self.port: int = self._listening.getHost().port
        self._guard = Guard(token, self.port, address)
        where = f"http://{host_of(address)}:{self.port}"
        self.url = f"{where}/{token}/"
        is_told = has_own_token and not self._guard.is_open
        self.told = self.url if is_told else f"{where}/SITECRAWL_DASHBOARD_TOKEN/"
        """The address for the log: without a token that somebody has chosen, and keeps. The log goes elsewhere, too,
        where the page does.
        """

    async def close(self) -> None:
        """Take no more connections, and give those that are open a moment to take what was written."""
        if (stopped := self._listening.stopListening()) is not None:
            await maybe_deferred_to_future(stopped)
        for _ in range(10):
            if not self._connections.protocols:
                return
            await asyncio.sleep(0.05)
        self._connections.drop()


class _Later(ServerFactory):
    """The site, once somebody comes."""

    def __init__(self, make: Callable[[], Site]) -> None:
        self._make = make
        self._site: Any = None

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:  # noqa: N802 - Twisted's names
        if self._site is None:
            self._site = self._make()
            self._site.doStart()
        protocol: Protocol | None = self._site.buildProtocol(addr)
        return protocol

    def stopFactory(self) -> None:  # noqa: N802
        if self._site is not None:
            self._site.doStop()


class _Connections(WrappingFactory):
    """As many as may be open at a time; further ones are closed at once."""

    def buildProtocol(self, addr: IAddress | None) -> Any:  # noqa: N802
        return super().buildProtocol(addr) if len(self.protocols) < _MAX_CONNECTIONS else None

    def drop(self) -> None:
        for connection in tuple(self.protocols):
            connection.transport.abortConnection()
