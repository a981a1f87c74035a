"""A server from which nothing comes back, not even that it is not there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager


@contextmanager
def silent(address: str) -> Iterator[int]:
    """A port of `address`, on loopback, whose system leaves every connection waiting: its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(closing(socket.socket()))
        server.bind((address, 0))
        server.listen(0)
        for _ in range(3):
            client = stack.enter_context(closing(socket.socket()))
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]
