"""Connections that are to become secure, to hosts that speak no TLS: each ends as a download that failed."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import uvloop
from http_clients import tls_context
from waiting import PATIENCE

from sitecrawl.http import (
    Client,
    ConnectionFailed,
    ConnectionLost,
    Download,
    Endpoint,
    Found,
    HttpError,
    Proxy,
    ReadLimits,
    Request,
    Tls,
    Verify,
)
from sitecrawl.http.connection import Connection, Pool

RESET = struct.pack("ii", 1, 0)
"""What `SO_LINGER` takes for a connection that is torn down instead of closed."""

Play = Callable[[socket.socket, Download], Any]
"""What a host does with a connection that was made to it."""
Report = Callable[..., tuple[Exception, list[str]]]


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def report(request: pytest.FixtureRequest) -> Report:
    """What a download from a host that plays something ends with, and what the loop complains of meanwhile."""

    def failing(play: Play, *, by_proxy: bool = False) -> tuple[Exception, list[str]]:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(_failing(play, by_proxy=by_proxy))

    return failing


async def _failing(play: Play, *, by_proxy: bool) -> tuple[Exception, list[str]]:
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: complaints.append(str(context)))
    with socket.create_server(("127.0.0.1", 0)) as server, closing(_client()) as client:
        server.settimeout(PATIENCE)
        at = server.getsockname()
        proxy = Proxy("http", *at) if by_proxy else None
        download = Download(client, Request("GET", "/", "a.example", Endpoint(True, *at), proxy=proxy))
        running = asyncio.create_task(download.run(max_size=10))
        await _turns(3)  # until the connection is asked for
        peer, _ = server.accept()
        with peer:
            ended = play(peer, download)
            if ended is not None:
                await ended
            with pytest.raises((HttpError, TimeoutError)) as error:
                await asyncio.wait_for(running, PATIENCE)
    found = error.value
    del running, download, error
    found.__traceback__ = found.__cause__ = found.__context__ = None  # they keep the futures
    await _turns(5)
    gc.collect()
    return found, complaints


def _client() -> Client:
    async def look_up(name: str, *, fresh: bool = False) -> Found:
        raise NotImplementedError

    return Client(look_up, Tls(tls_context, Verify.OFF), ReadLimits())


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(8))
def test_a_download_that_is_ended_in_any_turn_leaves_no_error(report: Report, turns: int) -> None:
    """The host speaks first, and no TLS, and the download is ended in the turn in which that is read, or near it."""

    async def end(download: Download) -> None:
        await _turns(turns)
        asyncio.get_running_loop().call_later(0.001, download.end, TimeoutError("enough"))
        time.sleep(0.005)  # noqa: ASYNC251 - the timer is due in this turn, after what has come is read

    def speak_first(peer: socket.socket, download: Download) -> Any:
        peer.sendall(b"220 ESMTP\r\n")
        return end(download)

    error, complaints = report(speak_first)
    assert isinstance(error, (TimeoutError, ConnectionFailed, ConnectionLost))
    assert complaints == []


async def _answer(peer: socket.socket, *answers: bytes) -> None:
    loop = asyncio.get_running_loop()
    peer.setblocking(False)
    for answer in answers:
        await loop.sock_recv(peer, 65536)
        await loop.sock_sendall(peer, answer)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    peer.close()


@pytest.mark.parametrize(
    ("answers", "by_proxy"),
    [
        ([], False),
        ([b"no TLS"], False),
        ([b"HTTP/1.1 200 OK\r\n\r\n"], True),
        ([b"HTTP/1.1 200 OK\r\n\r\nno TLS"], True),
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"no TLS"], True),
    ],
    ids=["nothing", "garbage", "a tunnel that ends", "a tunnel that begins with garbage", "garbage in a tunnel"],
)
def test_who_answers_no_tls_and_resets_has_failed(report: Report, answers: list[bytes], *, by_proxy: bool) -> None:
    """It is an error of the host, whatever was read before the connection ended, and nothing else is said."""
    error, complaints = report(lambda peer, download: _answer(peer, *answers), by_proxy=by_proxy)
    assert isinstance(error, (ConnectionFailed, ConnectionLost)), error
    assert complaints == []


@pytest.mark.parametrize("loop_factory", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_what_nobody_asked_for_is_no_answer(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """A host sends a second answer behind the first: the next request gets its own, on another connection."""

    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"

    async def ask(client: Client, server: socket.socket, answer: bytes) -> tuple[socket.socket, bytes]:
        download = Download(client, Request("GET", "/", "a.example", Endpoint(False, *server.getsockname())))
        running = asyncio.create_task(download.run(max_size=100))
        loop = asyncio.get_running_loop()
        peer, _ = await asyncio.wait_for(loop.sock_accept(server), PATIENCE)
        assert await asyncio.wait_for(loop.sock_recv(peer, 65536), PATIENCE)
        peer.sendall(head + answer)
        return peer, b"".join((await asyncio.wait_for(running, PATIENCE)).body)

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, closing(_client()) as client:
            server.setblocking(False)
            first, body = await ask(client, server, b"mine")
            with first:
                assert body == b"mine"
                first.sendall(head + b"evil")  # the loop has had no turn to see it
                second, body = await ask(client, server, b"next")
                second.close()
                assert body == b"next"

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_the_pool_gives_the_connection_that_was_used_last() -> None:
    """Those that have been idle for longest are the next that a host ends."""

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            loop, pool = asyncio.get_running_loop(), Pool()
            made = [(await loop.create_connection(Connection, *server.getsockname()))[1] for _ in range(3)]
            for now, connection in enumerate(made):
                pool.give("there", connection, float(now))
            assert [pool.take("there") for _ in range(4)] == [*reversed(made), None]
            for connection in made:
                connection.abort()

    asyncio.run(main())
