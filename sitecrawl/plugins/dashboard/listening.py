"""Where the page is served: Twisted's server, which Scrapy has running anyway, on 127.0.0.1 alone unless a setting
says otherwise. What is served is made when the first connection comes.

Any process on this machine can open as many as it likes. One that has not shown the token is a stranger: there are
`MAX_STRANGERS`, the oldest is dropped for a new one, and each has `HEAD_SECONDS` in all. So the operator, who shows
the token at once, is answered at once. Few are accepted in one turn of the loop: what a connection brings is read
before as many newer ones have come as would drop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.protocol import ServerFactory, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from sitecrawl.plugins.dashboard.guard import Guard, host_of

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress
    from twisted.internet.protocol import Protocol
    from twisted.python.failure import Failure
    from twisted.web.server import Site

MAX_CONNECTIONS: Final = 100
"""That have shown the token."""
MAX_STRANGERS: Final = 64
HEAD_SECONDS: Final = 10.0
"""Until a stranger has shown the token."""
ACCEPTED: Final = 16
"""Connections in one turn of the loop."""
BACKLOG: Final = 1024
"""Connections that wait for their turn: beyond them the kernel lets the operator wait for a second or more."""


class Server:
    """Serves what `site` makes, for those whom its guard admits, until `close`. `has_own_token`: it is new, and
    somebody has to be told. Raises `twisted.internet.error.CannotListenError`.
    """

    def __init__(
        self, site: Callable[[Guard], Site], token: str, port: int, address: str, *, has_own_token: bool
    ) -> None:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

        self._connections = Connections(_Later(lambda: site(self._guard)))
        listen: Any = reactor.listenTCP
        self._listening: Any = listen(port, self._connections, backlog=BACKLOG, interface=address)
        self._listening.numberAccepts = ACCEPTED
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
            if not len(self._connections):
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


class Connection(ProtocolWrapper):
    """One of them, a stranger at first."""

    factory: Connections
    _deadline: Any = None

    def makeConnection(self, transport: Any) -> None:  # noqa: N802 - Twisted's names
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

        call_later: Any = reactor.callLater
        self._deadline = call_later(HEAD_SECONDS, self.abort)
        super().makeConnection(transport)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        self._forget_deadline()
        super().connectionLost(reason)

    def trust(self) -> None:
        """It has shown the token."""
        self._forget_deadline()
        self.factory.trust(self)

    def abort(self) -> None:
        transport: Any = self.transport
        transport.abortConnection()

    def _forget_deadline(self) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()


class Connections(WrappingFactory):
    """All of them. Those of its `protocols` that are no strangers have shown the token."""

    protocol = Connection

    def __init__(self, wrapped: Any) -> None:
        super().__init__(wrapped)
        self._strangers: dict[Connection, None] = {}
        """The oldest first."""

    def __len__(self) -> int:
        return len(self.protocols)

    def registerProtocol(self, p: Connection) -> None:  # noqa: N802
        super().registerProtocol(p)
        self._strangers[p] = None
        if len(self._strangers) > MAX_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.abort()

    def unregisterProtocol(self, p: Connection) -> None:  # noqa: N802
        super().unregisterProtocol(p)
        self._strangers.pop(p, None)

    def trust(self, connection: Connection) -> None:
        """Once there are too many, those that come are not kept."""
        if connection in self._strangers:
            del self._strangers[connection]
            if len(self) - len(self._strangers) > MAX_CONNECTIONS:
                connection.abort()

    def drop(self) -> None:
        for connection in tuple(self.protocols):
            connection.abort()
