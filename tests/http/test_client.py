"""The client over real connections: kept, lost, refused, tunnelled."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from certificates import certificate
from http_clients import OK, answering, client, fetch, get, look_up, serving, standing
from socks_server import pipe
from waiting import PATIENCE, until_async

from sitecrawl.http import (
    ConnectionFailed,
    ConnectionLost,
    Download,
    Endpoint,
    Found,
    HttpError,
    Proxy,
    Request,
    ResponseReader,
    UnknownHost,
)
from sitecrawl.http.connection import Connection, Pool


def test_a_request_is_sent_as_it_was_given() -> None:
    """Its own Host counts, a body gets its length, and no value can add a line."""
    headers = [(b"User-Agent", b"us"), (b"X", b"a\r\nInjected: b")]
    assert bytes(get(80, headers=headers)) == (
        b"GET /x?y HTTP/1.1\r\nHost: a.example:80\r\nUser-Agent: us\r\nX: a Injected: b\r\n\r\n"
    )
    own = get(80, method="POST", headers=[(b"host", b"own")], body=b"abc")
    assert bytes(own) == b"POST /x?y HTTP/1.1\r\nhost: own\r\nContent-Length: 3\r\n\r\nabc"
    assert b"Content-Length: 0" in bytes(get(80, method="PUT"))


@pytest.mark.parametrize(
    "given", [{"method": "GET /\r\n"}, {"target": "/a b"}, {"target": "/\r\n"}, {"target": "/é"}]
)
def test_what_would_be_two_requests_is_none(given: dict[str, str]) -> None:
    """Neither method nor target may hold what ends a line."""
    with pytest.raises(HttpError, match="no request"):
        bytes(get(80, **given))


async def _connections(*answers: bytes, times: int) -> int:
    """How many connections `times` requests take, when a connection gives `answers`."""
    made = 0
    handler = answering(*answers)

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        await handler(reader, writer)

    async with serving(counted) as port:
        with client() as ours:
            for number in range(1, times + 1):
                assert b"".join((await fetch(ours, get(port))).body) == b"ok"
                if number % len(answers) == 0:
                    await until_async(lambda: not standing(ours), "the end of the connection has arrived")
    return made


def test_what_a_request_shows() -> None:
    """What lets it in is in its headers and its body, and none of these in an error or a debugger's window."""
    headers = [(b"Authorization", b"5ec2e7")]
    request = Request("POST", "/", "a", Endpoint(False, "a", 80), headers, b"pw=5ec2e7", proxy_login=b"5ec2e7")
    assert "5ec2e7" not in repr(request)
    assert "POST" in repr(request)


def test_a_connection_serves_many_requests() -> None:
    """As long as its peer keeps it."""
    assert asyncio.run(_connections(*[OK] * 5, times=5)) == 1


def test_a_connection_that_its_peer_has_closed_is_replaced() -> None:
    """Nothing is lost."""
    assert asyncio.run(_connections(OK, OK, times=5)) == 3


def test_a_connection_that_is_to_be_closed_serves_no_other() -> None:
    """RFC 9112, section 9.6."""
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert asyncio.run(_connections(*[closing] * 5, times=3)) == 3


async def _stale(method: str) -> int:
    """How often a request is received that comes just as its connection is closed."""
    seen = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        await reader.readuntil(b"\r\n\r\n")
        seen += 1
        if seen != 2:
            writer.write(OK)
            await reader.readuntil(b"\r\n\r\n")
            seen += 1  # and closes without an answer

    async with serving(handler) as port:
        with client() as ours:
            await fetch(ours, get(port))
            with suppress(ConnectionLost):
                await fetch(ours, get(port, method=method))
    return seen


def test_a_request_without_effects_is_sent_again() -> None:
    """The kept connection was closed while it was on its way; for anything else nobody can tell what has happened."""
    assert asyncio.run(_stale("GET")) == 3
    assert asyncio.run(_stale("POST")) == 2


def test_every_address_of_a_name_is_tried() -> None:
    """The first one answers nothing here."""

    async def run() -> str:
        async with serving(answering(OK)) as port:
            with client() as ours:
                download = Download(ours, get(port, "two.example"))
                await download.run(max_size=10)
            assert download.connection is not None
            return str(download.connection.address)

    assert asyncio.run(run()) == "127.0.0.1"


def test_nobody_is_connected_to_who_may_not_be() -> None:
    """One address that is refused is enough."""

    def refuse(address: str) -> None:
        if address.endswith(".9"):
            raise PermissionError(address)

    async def run() -> None:
        with client() as ours:
            await fetch(ours, get(9, "two.example", may_connect=refuse))

    with pytest.raises(PermissionError):
        asyncio.run(run())


@pytest.mark.parametrize(("host", "error"), [("unknown.example", UnknownHost), ("127.0.0.9", ConnectionFailed)])
def test_who_cannot_be_reached_is_an_error(host: str, error: type[Exception]) -> None:
    """Which one says whose fault it is."""
    with client() as ours, pytest.raises(error):
        asyncio.run(fetch(ours, get(9, host)))


def test_a_download_ends_when_it_is_told_to() -> None:
    """While it connects and while it waits, with the error that it is given."""

    async def run(*, connects: bool) -> None:
        waits = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            waits.set()
            await reader.read()

        async def never(name: str, *, fresh: bool = False) -> Found:
            waits.set()
            await asyncio.Event().wait()
            return Found([])

        async with serving(silent) as port:
            with client(never if connects else look_up) as ours:
                download = Download(ours, get(port))  # by name
                running = asyncio.create_task(download.run(max_size=10))
                await asyncio.wait_for(waits.wait(), PATIENCE)
                download.end(TimeoutError("enough"))
                await running

    for connects in (False, True):
        with pytest.raises(TimeoutError, match="enough"):
            asyncio.run(run(connects=connects))


def test_a_proxy_is_asked_for_the_whole_url() -> None:
    """RFC 9112, section 3.2.2; it alone gets to know the password."""

    async def run() -> bytes:
        asked: list[bytes] = []
        async with serving(answering(OK, asked=asked)) as port:
            proxy = Proxy("http", "proxy.example", port)
            with client() as ours:
                await fetch(ours, get(80, "far.example", proxy=proxy, proxy_login=b"Basic x"))
        return asked[0]

    assert asyncio.run(run()) == (
        b"GET http://far.example:80/x?y HTTP/1.1\r\nHost: far.example:80\r\nProxy-Authorization: Basic x\r\n\r\n"
    )


async def _through_tunnel(folder: Path, answer: bytes) -> tuple[list[bytes], ResponseReader, bytes | None]:
    """What the proxy and the host behind it were asked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        if b" 200 " in answer:
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(pipe(reader, behind), pipe(behind_reader, writer))

    async with serving(answering(OK, asked=asked), context) as port, serving(proxy) as proxy_port:
        proxied = Proxy("http", "p.example", proxy_port)
        with client() as ours:
            download = Download(ours, get(port, endpoint=Endpoint(True, "a.example", port), proxy=proxied))
            reader = await download.run(max_size=10)
        assert download.connection is not None
        return [line.partition(b"\r\n")[0] for line in asked], reader, download.connection.certificate


def test_a_secure_host_is_asked_through_a_tunnel(tmp_path: Path) -> None:
    """RFC 9110, section 9.3.6: the proxy sees the host's name, and the host's certificate is kept."""
    asked, reader, found = asyncio.run(_through_tunnel(tmp_path, b"HTTP/1.1 200 Connection established\r\n\r\n"))
    assert asked[0].startswith(b"CONNECT a.example:")
    assert asked[1] == b"GET /x?y HTTP/1.1"
    assert b"".join(reader.body) == b"ok"
    _, begin, rest = (tmp_path / "both.pem").read_text().partition("-----BEGIN CERTIFICATE")
    assert found == ssl.PEM_cert_to_DER_cert(begin + rest)


def test_a_proxy_that_refuses_is_an_error(tmp_path: Path) -> None:
    """It says with which status."""
    with pytest.raises(ConnectionFailed, match="403"):
        asyncio.run(_through_tunnel(tmp_path, b"HTTP/1.1 403 Not there\r\nContent-Length: 0\r\n\r\n"))


class Transport:
    """Open until it is closed."""

    closed = False

    def __init__(self) -> None:
        self._socket, self._peer = socket.socketpair()

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self._socket

    def __del__(self) -> None:
        self._socket.close()
        self._peer.close()

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True


def idle() -> Connection:
    connection = Connection()
    connection.transport = Transport()  # type: ignore[assignment]
    return connection


def test_the_pool_is_bounded() -> None:
    """In number, the longest idle going first, and in time."""
    pool, connections = Pool(max_idle=2, seconds=10), [idle() for _ in range(3)]
    for now, connection in enumerate(connections):
        pool.give("key", connection, now)
    assert [c.transport.is_closing() for c in connections] == [True, False, False]  # type: ignore[union-attr]
    pool.prune(now=11.5)
    assert pool.take("key") is connections[2]
    assert pool.take("key") is None


def test_a_connection_that_has_ended_is_not_taken() -> None:
    """One before it may still stand."""
    pool, first, second = Pool(), idle(), idle()
    pool.give("key", first, 0)
    pool.give("key", second, 1)
    second.transport = None
    assert pool.take("other") is None
    assert pool.take("key") is first
