"""Ports for servers that are told theirs: Redis takes 0 for none, and some come back on the port that they had.

A socket that is bound and does not listen holds a port: the system gives it to nobody who asks for any, whoever
connects is refused, and a server that is told to listen there may, since both have SO_REUSEADDR (Linux).
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class Port:
    """A port on all addresses of this machine, held until it is closed; with that `above` it by so many, if any."""

    def __init__(self, *, above: int = 0) -> None:
        self._sockets = ExitStack()
        with ExitStack() as unfit:  # held for as long as it takes to find another one
            while not self._holds(above):
                unfit.push(self._sockets.pop_all())

    def _holds(self, above: int) -> bool:
        self.number = self._hold(0)
        try:
            return not above or self._hold(self.number + above) > 0
        except (OSError, OverflowError):  # it is somebody's, or there is none
            return False

    def _hold(self, number: int) -> int:
        held = self._sockets.enter_context(socket.socket())
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("0.0.0.0", number))
        return int(held.getsockname()[1])

    def close(self) -> None:
        self._sockets.close()


@contextmanager
def held_port() -> Iterator[int]:
    """The number of one that is held meanwhile."""
    port = Port()
    try:
        yield port.number
    finally:
        port.close()
