"""Connections of the dashboard: those that have shown the token come first.

Any process on this machine can open as many as it likes. One that has not shown the token is a stranger: there are
`MAX_STRANGERS`, the oldest is dropped for a new one, and each has `HEAD_SECONDS` in all. So the operator, who shows
the token at once, is answered at once. Few are accepted in one turn of the loop: what a connection brings is read
before as many newer ones have come as would drop it.
"""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.protocol import connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure

MAX_CONNECTIONS: Final = 100
"""That have shown the token."""
MAX_STRANGERS: Final = 64
HEAD_SECONDS: Final = 10.0
"""Until a stranger has shown the token."""
ACCEPTED: Final = 16
"""Connections in one turn of the loop."""
BACKLOG: Final = 1024
"""Connections that wait for their turn: beyond them the kernel lets the operator wait for a second or more."""


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
