"""Ways through proxies: which there are, over TLS, and through a tunnel of SOCKS."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from certificates import certificate
from http_clients import OK, Handler, answering, client, ends, fetch, get, serving, standing
from socks_server import Socks, pipe
from waiting import PATIENCE

from sitecrawl.http import ConnectionFailed, Download, Endpoint, HttpError, Lacking, Proxy, Request, Want, login_in
from sitecrawl.http import proxies as module

LOGIN = b"Basic " + base64.b64encode(b"me:word")
Run = Callable[[Coroutine[object, object, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """On either loop: each has a TLS of its own."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def running(story: Coroutine[object, object, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(story, PATIENCE))

    return running


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    return context


@asynccontextmanager
async def host_and_proxy(
    make: Callable[[int], Handler], tls: ssl.SSLContext | None, *, secure: bool, over_tls: bool = False
) -> AsyncIterator[tuple[int, int]]:
    """Ports of a host that answers three times a connection, and of the proxy that `make` gives for it."""
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(serving(answering(OK, OK, OK), tls if secure else None))
        yield host, await stack.enter_async_context(serving(make(host), tls if over_tls else None))


def far(proxy: Proxy, *, secure: bool = False, **given: object) -> Request:
    """A request to a host that only the proxy knows."""
    return get(80, "unknown.example", endpoint=Endpoint(secure, "unknown.example", 80), proxy=proxy, **given)


async def _says_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


# Which there are


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("proxy.example:3128", "http", "proxy.example", 3128),
        ("http://proxy.example", "http", "proxy.example", 80),
        ("HTTPS://me:word@Proxy.example/", "https", "proxy.example", 443),
        ("socks5://[::1]", "socks5", "::1", 1080),
        ("socks5h://127.0.0.1:9050", "socks5h", "127.0.0.1", 9050),
    ],
)
def test_named_by_a_url(url: str, scheme: str, host: str, port: int) -> None:
    """With the scheme's port, where it names none."""
    assert Proxy.of(url) == Proxy(scheme, host, port)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("socks4://a:1", "not over socks4"),
        ("ftp://a", "not over ftp"),
        ("http://", "without a host"),
        ("http://me:se/cret@a", "port is a number"),
        ("socks5://a:70000", "port is a number"),
    ],
)
def test_none_of_ours(url: str, why: str) -> None:
    """It says why, and nothing of a password."""
    with pytest.raises(ValueError, match=why) as caught:
        Proxy.of(url)
    assert "se" not in str(caught.value).split()


def test_socks_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    assert Proxy.of("http://a").scheme == "http"
    with pytest.raises(ValueError, match=r"pip install 'scrapy-sitecrawl\[socks\]'"):
        Proxy.of("socks5://a")


# Over TLS


def test_over_tls_for_a_url(run: Run, tls: ssl.SSLContext) -> None:
    """The certificate that is kept is the host's, which has none."""
    asked: list[bytes] = []

    async def story() -> None:
        async with serving(answering(OK, asked=asked), tls) as port:
            with client() as ours:
                download = Download(ours, far(Proxy("https", "127.0.0.1", port), proxy_login=LOGIN))
                assert (await download.run(max_size=10)).status == 200
                assert download.connection is not None
                assert download.connection.certificate is None

    run(story())
    assert asked[0].startswith(b"GET http://unknown.example:80/x?y HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: " + LOGIN in asked[0]


def test_over_tls_for_a_tunnel_of_tls(run: Run, tls: ssl.SSLContext) -> None:
    """TLS within TLS; the next request goes over the same connection."""
    asked: list[bytes] = []

    def proxy(host: int) -> Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", host)
            await asyncio.gather(pipe(reader, behind), pipe(behind_reader, writer))

        return handle

    async def story() -> None:
        async with host_and_proxy(proxy, tls, secure=True, over_tls=True) as (_, port):
            with client() as ours:
                for _ in range(2):
                    reader = await fetch(ours, far(Proxy("https", "127.0.0.1", port), secure=True))
                    assert b"".join(reader.body) == b"ok"

    run(story())
    assert [line.partition(b"\r\n")[0] for line in asked] == [b"CONNECT unknown.example:80 HTTP/1.1"]


@pytest.mark.parametrize("secure", [False, True])
def test_one_without_tls_is_down(run: Run, *, secure: bool) -> None:
    """The host was not asked."""

    async def story() -> None:
        async with serving(_says_http) as port:
            with client(patience=0.2) as ours:
                download = Download(ours, far(Proxy("https", "127.0.0.1", port), secure=secure))
                with pytest.raises(HttpError) as caught:
                    await download.run(max_size=10)
                assert await download.lacks(caught.value) is Want.PROXIES

    run(story())


# SOCKS


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("secure", [False, True])
def test_a_tunnel_of_socks(run: Run, tls: ssl.SSLContext, scheme: str, *, secure: bool) -> None:
    """The proxy looks the name up, for either scheme; what it reads is the login; the tunnel is used again."""
    servers: list[Socks] = []

    def proxy(host: int) -> Handler:
        servers.append(Socks(host, login=(b"me", b"word")))
        return servers[0].handle

    async def story() -> None:
        async with host_and_proxy(proxy, tls, secure=secure) as (_, port):
            with client() as ours:
                for _ in range(2):
                    request = far(Proxy(scheme, "127.0.0.1", port), secure=secure, proxy_login=LOGIN)
                    assert b"Proxy-Authorization" not in bytes(request)
                    assert b"".join((await fetch(ours, request)).body) == b"ok"
                other = far(Proxy(scheme, "127.0.0.1", port), secure=secure, proxy_login=b"")
                with pytest.raises(Lacking):  # the tunnel that stands is somebody else's
                    await fetch(ours, other)

    run(story())
    assert servers[0].asked == [("unknown.example", 80)]


@pytest.mark.parametrize("name", [b"me:other", b"", b"m\xe9:word", b"x" * 256 + b":word"])
def test_shut_out(run: Run, name: bytes) -> None:
    """Another name or password, or none, or one that cannot be sent: the proxy is as good as down."""

    async def story() -> None:
        server = Socks(0, login=(b"me", b"word"))
        async with serving(server.handle) as port:
            with client() as ours:
                login = b"Basic " + base64.b64encode(name) if name else b""
                download = Download(ours, far(Proxy("socks5", "127.0.0.1", port), proxy_login=login))
                with pytest.raises(Lacking, match="another name or password") as caught:
                    await download.run(max_size=10)
                assert await download.lacks(caught.value) is Want.PROXIES

    run(story())


@pytest.mark.parametrize("reply", [1, 2, 3, 4, 5, 6])
def test_what_it_says_of_a_host_is_the_hosts(run: Run, reply: int) -> None:
    """Refused, unreachable, forbidden."""

    async def story() -> None:
        async with serving(Socks(0, reply=reply).handle) as port:
            with client() as ours:
                download = Download(ours, far(Proxy("socks5", "127.0.0.1", port)))
                with pytest.raises(ConnectionFailed, match="The proxy says of unknown") as caught:
                    await download.run(max_size=10)
                assert await download.lacks(caught.value) is None

    run(story())


def test_one_that_speaks_no_socks(run: Run) -> None:
    """It is named, and as good as down: no host behind it has been asked."""

    async def story() -> None:
        async with serving(_says_http) as port:
            with client() as ours:
                download = Download(ours, far(Proxy("socks5", "127.0.0.1", port)))
                with pytest.raises(Lacking, match=f"The proxy 127.0.0.1:{port} speaks no SOCKS 5") as caught:
                    await download.run(max_size=10)
                assert await download.lacks(caught.value) is Want.PROXIES
                assert not standing(ours)

    run(story())


async def _breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def _is_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def _waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """For the host, once it was asked for one."""
    await reader.readexactly(3)
    writer.write(b"\x05\x00")
    await reader.read()


@pytest.mark.parametrize(
    ("handler", "want"),
    [(_breaks_off, Want.PROXIES), (_is_silent, Want.PROXIES), (_waits, None)],
)
def test_silence(run: Run, handler: Handler, want: Want | None) -> None:
    """One that answers when it is greeted is there, and waits for the host."""

    async def story() -> None:
        async with serving(handler) as port:
            with client(patience=0.2 if handler is _is_silent else PATIENCE) as ours:
                download = Download(ours, far(Proxy("socks5", "127.0.0.1", port)))
                running = asyncio.ensure_future(download.run(max_size=10))
                if not await ends(running):
                    download.end(TimeoutError("nothing came"))
                with pytest.raises((HttpError, TimeoutError)) as caught:
                    await running
                assert await download.lacks(caught.value) is want
                assert not standing(ours)

    run(story())


@pytest.mark.parametrize(
    ("url", "login"),
    [
        ("http://proxy.example:3128", b""),
        ("http://me:word@proxy.example", b"Basic bWU6d29yZA=="),
        ("me:word@proxy.example:3128", b"Basic bWU6d29yZA=="),
        ("socks5://me:w%6Frd@proxy.example", b"Basic bWU6d29yZA=="),
        ("http://me@proxy.example", b"Basic bWU6"),
    ],
)
def test_who_asks(url: str, login: bytes) -> None:
    """Name and password in a proxy's URL are what it is told, as HTTP has them."""
    assert login_in(url) == login
