"""A SOCKS 5 server (RFC 1928, RFC 1929), for tests: `serving(Socks(...).handle)`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread

from http_clients import serving
from waiting import PATIENCE


async def pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Hand on what comes, until nothing more does."""
    with suppress(ConnectionError):
        while data := await source.read(4096):
            target.write(data)
            await target.drain()
    target.close()


@dataclass
class Socks:
    """Leads to `port` on loopback, whatever host is asked for; with `reply` it says something else than "granted"."""

    port: int
    login: tuple[bytes, bytes] | None = None
    reply: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        offered = await self._bytes(reader, 1)
        method = 2 if self.login else 0
        if method not in offered:
            writer.write(b"\x05\xff")
            return
        writer.write(bytes([5, method]))
        if self.login and not await self._lets_in(reader, writer):
            return
        await reader.readexactly(3)
        kind = (await reader.readexactly(1))[0]
        assert kind == 3, "a name is the proxy's to look up"
        name = await self._counted(reader)
        self.asked.append((name.decode(), int.from_bytes(await reader.readexactly(2))))
        writer.write(bytes([5, self.reply, 0, 1, 127, 0, 0, 1, 0, 0]))
        if self.reply == 0:
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", self.port)
            await asyncio.gather(pipe(reader, behind), pipe(behind_reader, writer))

    async def _lets_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readexactly(1)
        given = await self._counted(reader), await self._counted(reader)
        writer.write(bytes([1, given != self.login]))
        return given == self.login

    async def _bytes(self, reader: asyncio.StreamReader, skipped: int) -> bytes:
        await reader.readexactly(skipped)
        return await self._counted(reader)

    async def _counted(self, reader: asyncio.StreamReader) -> bytes:
        return await reader.readexactly((await reader.readexactly(1))[0])


@contextmanager
def served(server: Socks) -> Iterator[int]:
    """The port of one that runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    serves = serving(server.handle)
    try:
        yield asyncio.run_coroutine_threadsafe(serves.__aenter__(), loop).result(30)
    finally:
        asyncio.run_coroutine_threadsafe(serves.__aexit__(None, None, None), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()
