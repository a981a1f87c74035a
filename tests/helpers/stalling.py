"""A network between a worker and Redis that can be made to swallow everything, and then to break."""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import closing, suppress
from typing import Self


class Proxy:
    """Stands before a port of this machine, with a thread and an event loop of its own. It speaks `tls` if given."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self._to = port
        self._tls = tls
        self._stalled = threading.Event()
        self._started = threading.Event()
        self._over: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._transports: list[asyncio.Transport] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        return f"redis{'s' if self._tls else ''}://127.0.0.1:{self.port}/0"

    def stall(self) -> None:
        """From now on nothing gets through, in either direction."""
        self._stalled.set()

    def resume(self) -> None:
        """What was swallowed is gone, and so are the connections; new ones work."""
        self._stalled.clear()
        self._loop.call_soon_threadsafe(self._break)

    def _break(self) -> None:
        for transport in self._transports:
            transport.abort()
        self._transports.clear()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._over.wait()
        server.close()
        self._break()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
        self._transports += [writer.transport, there_writer.transport]  # type: ignore[list-item]
        await asyncio.gather(self._pass(reader, there_writer), self._pass(there_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if not self._stalled.is_set():
                    writer.write(data)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
