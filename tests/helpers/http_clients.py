"""The HTTP client, and small servers on loopback that it asks."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import waiting

from sitecrawl.http import (
    Client,
    Download,
    Endpoint,
    Found,
    ReadLimits,
    Request,
    ResponseReader,
    Tls,
    UnknownHost,
    Verify,
)
from sitecrawl.http.blame import PATIENCE
from sitecrawl.http.client import LookUp
from sitecrawl.http.connection import Connection

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def look_up(name: str, *, fresh: bool = False) -> Found:
    if name == "unknown.example":
        raise UnknownHost(name)
    return Found(["127.0.0.9", "127.0.0.1"] if name == "two.example" else ["127.0.0.1"])


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server on 127.0.0.1 that has `handler` for each connection."""
    writers: list[asyncio.StreamWriter] = []
    handlers: list[asyncio.Task[Any]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.append(task)
        writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.wait_for(asyncio.gather(*handlers), waiting.PATIENCE)
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def ends(task: asyncio.Future[Any]) -> bool:
    """Whether it ends in the next turns of the event loop, in which server and client are: they have no need of time,
    and a busy machine has no less turns.
    """
    for _ in range(200):
        if task.done():
            break
        await asyncio.sleep(0.001)
    return task.done()


def answering(*answers: bytes, asked: list[bytes] | None = None) -> Handler:
    """A handler that gives one answer a request, and then closes."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            head = await reader.readuntil(b"\r\n\r\n")
            if asked is not None:
                asked.append(head)
            writer.write(answer)
            await writer.drain()

    return handler


def tls_context(verify: Verify) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if verify is Verify.OFF:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@contextmanager
def client(names: LookUp = look_up, patience: float = PATIENCE, verify: Verify = Verify.OFF) -> Iterator[Client]:
    ours = Client(names, Tls(tls_context, verify), ReadLimits(), patience=patience)
    try:
        yield ours
    finally:
        ours.close()


def get(port: int, host: str = "a.example", **given: object) -> Request:
    given = {"method": "GET", "target": "/x?y", "endpoint": Endpoint(False, host, port), **given}
    return Request(host=f"{host}:{port}", **given)  # type: ignore[arg-type]


async def fetch(of: Client, request: Request) -> ResponseReader:
    return await Download(of, request).run(max_size=1000)


def standing(of: Client) -> list[Connection]:
    """The idle connections whose ends have not been seen."""
    return [connection for connection in of.pool._idle if connection.transport is not None]
