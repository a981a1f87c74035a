"""A proxy that is down is told from a host behind it that is: nobody else is blamed for it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from http_clients import OK, Handler, answering, client, ends, get, serving
from waiting import PATIENCE

from sitecrawl.http import Client, Download, Endpoint, HttpError, Lacking, Proxy, Request, Want
from sitecrawl.http.proxies import _FIRST_PAUSE, _LONGEST_PAUSE, Proxies

HERE = "127.0.0.1"
PROXY, OTHER = Proxy("http", "127.0.0.8", 3128), Proxy("http", "127.0.0.9", 3128)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def breaking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As a forwarded port does that nobody listens behind."""
    await reader.read(1)


async def waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A proxy that answers for itself, and waits for the hosts behind it."""
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"OPTIONS * HTTP/1.1\r\n") and b"\r\nMax-Forwards: 0\r\n" in head:
        writer.write(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n")
    else:
        await reader.read()


@contextmanager
def refusing() -> Iterator[int]:
    """A port of which everybody is refused."""
    with closing(socket.socket()) as bound:
        bound.bind((HERE, 0))
        yield bound.getsockname()[1]


def through(port: int, *, secure: bool = False, name: str = HERE) -> Request:
    return get(80, "far.example", endpoint=Endpoint(secure, "far.example", 443), proxy=Proxy("http", name, port))


async def lacking(of: Client, request: Request) -> Want | None:
    """What is lacking where `request` fails; a silent one is ended once it is under way."""
    download = Download(of, request)
    task = asyncio.ensure_future(download.run(max_size=1000))
    if not await ends(task):
        download.end(TimeoutError("nothing came"))
    with pytest.raises((HttpError, TimeoutError)) as caught:
        await task
    return await download.lacks(caught.value)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(("handler", "want"), [(silent, Want.PROXIES), (breaking, Want.PROXIES), (waiting, None)])
def test_silence_behind_a_connection(handler: Handler, want: Want | None, *, secure: bool) -> None:
    """A proxy that says nothing to anything is down; one that answers for itself waits for a host, which is."""

    async def story() -> None:
        async with serving(handler) as port:
            # One that answers gets the time for it, however little of the processor there is.
            with client(patience=0.2 if handler is silent else PATIENCE) as ours:
                assert await lacking(ours, through(port, secure=secure)) is want

    asyncio.run(story())


@pytest.mark.parametrize("name", [HERE, "unknown.example"])
def test_a_proxy_that_cannot_be_connected_to(name: str) -> None:
    """The host behind it was not asked."""

    async def story() -> None:
        with refusing() as port, client() as ours:
            assert await lacking(ours, through(port, name=name)) is Want.PROXIES

    asyncio.run(story())


def test_what_a_proxy_says_is_the_hosts() -> None:
    """It is there: whom it cannot reach is to blame."""

    async def story() -> None:
        async with serving(answering(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")) as port:
            with client() as ours:
                assert await lacking(ours, through(port, secure=True)) is None

    asyncio.run(story())


@pytest.mark.parametrize("secure", [False, True])
def test_a_proxy_that_wants_a_password(*, secure: bool) -> None:
    """The host behind it was not asked, and it is left alone; without a proxy the same status is an answer."""
    shut = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"

    async def story() -> None:
        async with serving(answering(shut)) as port:
            with client() as ours:
                assert await lacking(ours, through(port, secure=secure)) is Want.PROXIES
                assert ours.proxies.left_alone(Proxy("http", HERE, port)) is Want.PROXIES
                assert (await Download(ours, get(port, HERE)).run(max_size=1000)).status == 407

    asyncio.run(story())


@pytest.mark.parametrize("direct", [True, False])
def test_one_of_several_ways(*, direct: bool) -> None:
    """While somebody is heard from by another proxy, or by none, only the one is lacking."""

    async def story() -> None:
        async with serving(answering(OK)) as other:
            with refusing() as port, client() as ours:
                way = get(other, HERE) if direct else through(other)
                await Download(ours, way).run(max_size=1000)
                assert await lacking(ours, through(port)) is Want.PROXY

    asyncio.run(story())


def test_it_is_left_alone() -> None:
    """What would go through a proxy that is down fails at once, and does not connect."""

    connected: list[object] = []

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        await breaking(reader, writer)

    async def story() -> None:
        async with serving(counted) as port:
            with client() as ours:
                assert await lacking(ours, through(port)) is Want.PROXIES
                before = len(connected)
                with pytest.raises(Lacking) as caught:
                    await Download(ours, through(port)).run(max_size=1000)
                assert caught.value.want is Want.PROXIES
                assert len(connected) == before

    asyncio.run(story())


class TestOutages:
    """How long proxies are left alone, on a clock that moves when it is told to."""

    now = 1000.0

    def fail(self, proxies: Proxies, proxy: Proxy = PROXY) -> Want | None:
        return asyncio.run(proxies.of_failure(proxy, stands=False))

    @pytest.fixture
    def proxies(self) -> Proxies:
        async def resolve(name: str) -> list[str]:
            return [name]

        return Proxies(resolve, ssl.create_default_context(), patience=1.0, clock=lambda: self.now)

    def test_longer_each_time(self, proxies: Proxies) -> None:
        """Twice as long, up to half a minute; what was under way before does not count."""
        seconds = []
        for _ in range(8):
            self.fail(proxies)
            self.fail(proxies)
            begun = self.now
            while proxies.left_alone(PROXY) is not None:
                self.now += _FIRST_PAUSE
            seconds.append(self.now - begun)
        assert seconds == [min(_FIRST_PAUSE * 2**n, _LONGEST_PAUSE) for n in range(8)]

    def test_it_answers_again(self, proxies: Proxies) -> None:
        """At once it may be asked, and the next outage begins with a short pause."""
        self.fail(proxies)
        assert proxies.left_alone(PROXY) is Want.PROXIES
        proxies.heard(PROXY)
        assert proxies.left_alone(PROXY) is None

    def test_all_are_down(self, proxies: Proxies) -> None:
        """A way that is down itself is none."""
        proxies.heard(PROXY)
        proxies.heard(OTHER)
        assert self.fail(proxies, PROXY) is Want.PROXY
        assert self.fail(proxies, OTHER) is Want.PROXIES
