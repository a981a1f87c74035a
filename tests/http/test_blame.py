"""Whose fault it is that nothing came: told from what the kernel says, and from who else is heard."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from http_clients import OK, answering, client, fetch, get, serving, standing
from silence import silent
from waiting import PATIENCE, until_async

from sitecrawl.http import Download, Lacking, Want
from sitecrawl.http.blame import Blame, _Lifeline, is_no_route, is_silence, own_want

HERE = "127.0.0.1"


@pytest.mark.parametrize(
    ("code", "want"),
    [
        (errno.EMFILE, Want.FILES),
        (errno.ENFILE, Want.FILES),
        (errno.ENOMEM, Want.MEMORY),
        (errno.ENOBUFS, Want.BUFFERS),
        (errno.EADDRNOTAVAIL, Want.PORTS),
        (errno.EADDRINUSE, Want.PORTS),
        (errno.ECONNREFUSED, None),
        (errno.ENETUNREACH, None),
        (errno.ETIMEDOUT, None),
    ],
)
def test_what_the_kernel_says_is_lacking(code: int, want: Want | None) -> None:
    """By its number; and by its text, where several addresses have failed in several ways."""
    assert own_want(OSError(code, os.strerror(code)), HERE) is want
    other = os.strerror(errno.ECONNRESET)
    assert own_want(OSError(f"Multiple exceptions: {other}, {os.strerror(code)}"), HERE) is want


def test_an_address_that_no_port_would_help_to_reach() -> None:
    """Where this machine has no address of the kind, the want of one says nothing of its ports."""
    error = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    assert own_want(error, "255.255.255.255") is None


@pytest.mark.parametrize(
    ("code", "silence", "no_route"),
    [
        (errno.ENETUNREACH, True, True),
        (errno.ENETDOWN, True, True),
        (errno.EHOSTUNREACH, True, True),
        (errno.ETIMEDOUT, True, False),
        (errno.ECONNRESET, False, False),
        (errno.ECONNREFUSED, False, False),
    ],
)
def test_silence(code: int, silence: bool, no_route: bool) -> None:
    """A host that refuses or breaks off is heard; one that nothing comes from is not."""
    error = OSError(code, os.strerror(code))
    assert (is_silence(error), is_no_route(error)) == (silence, no_route)


@contextmanager
def room_for(files: int) -> Iterator[None]:
    """So many more files may be open than are now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull, "rb") as first_free:  # noqa: PTH123 - its number is what is wanted
        number = first_free.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_nobody_is_to_blame() -> None:
    """What is lacking is said, and when it is there again the same request succeeds."""

    async def story() -> None:
        async with serving(answering(OK)) as port:
            with client() as ours:
                with room_for(0):
                    download = Download(ours, get(port, HERE))
                    with pytest.raises(Lacking) as caught:
                        await download.run(max_size=10)
                    assert await download.lacks(caught.value) is Want.FILES
                    with pytest.raises(Lacking):  # nor can a name be looked up
                        await ours.resolve("unknown.example")
                assert (await fetch(ours, get(port, HERE))).status == 200

    asyncio.run(story())


def test_idle_connections_make_room() -> None:
    """Before anything is lacking, the connections are closed that only wait for another request."""

    async def story() -> None:
        async with serving(answering(OK, OK)) as port, serving(answering(OK)) as other:
            with client() as ours:
                await fetch(ours, get(port, HERE))
                (idle,) = standing(ours)
                with room_for(0):
                    assert (await fetch(ours, get(other, HERE))).status == 200
                await until_async(lambda: idle.transport is None, "the idle connection is closed")

    asyncio.run(story())


def test_an_address_of_ours_that_there_is_not() -> None:
    """The kernel has no port to connect from: that is no host's fault."""

    async def story() -> None:
        async with serving(answering(OK)) as port:
            with client() as ours:
                with pytest.raises(Lacking) as caught:
                    await fetch(ours, get(port, HERE, bind=("192.0.2.1", 0)))
                assert caught.value.want is Want.PORTS

    asyncio.run(story())


async def nobody(party: str) -> bool:
    return False


async def everybody(party: str) -> bool:
    return True


def lifeline(ask: Callable[[str], Awaitable[bool]], story: Callable[[_Lifeline], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story(_Lifeline(ask, 1.0))

    asyncio.run(whole())


def test_three_are_everybody() -> None:
    """Where nobody has ever been heard, two silent hosts may well be down; however often they are."""

    async def story(line: _Lifeline) -> None:
        assert not await line.is_cut("a", stated=False)
        assert not await line.is_cut("a", stated=False)
        assert not await line.is_cut("b", stated=False)
        assert await line.is_cut("c", stated=False)
        line.heard("d")
        assert not line.was_heard("a")
        assert line.was_heard("d")

    lifeline(nobody, story)


def test_what_is_stated_needs_no_others() -> None:
    """Kernel or name server know that nothing gets through."""

    async def story(line: _Lifeline) -> None:
        assert await line.is_cut("a", stated=True)

    lifeline(nobody, story)


def test_a_sign_after_it_clears_the_network() -> None:
    """Whoever is heard from after a silence shows that it is the host's."""

    async def story(line: _Lifeline) -> None:
        line.heard("other")
        silence = asyncio.ensure_future(line.is_cut("a", stated=True))
        await asyncio.sleep(0)
        line.heard("third")
        assert not await silence

    lifeline(nobody, story)


def test_those_who_answered_are_asked() -> None:
    """Where nobody is heard by himself: one who is still there clears the network."""

    async def story(line: _Lifeline) -> None:
        line.heard("other")
        for party in ("a", "b", "c", "d"):
            assert not await line.is_cut(party, stated=True)

    lifeline(everybody, story)


def test_nobody_answers_any_more() -> None:
    """The silent host and two who had answered, and do not, are everybody."""

    async def story(line: _Lifeline) -> None:
        line.heard("one")
        line.heard("two")
        assert await line.is_cut("a", stated=False)

    lifeline(nobody, story)


def test_the_own_silence_is_no_witness() -> None:
    """A crawl of one host knows of nobody else: when that is silent it is its own fault, unless that is stated."""

    async def story(line: _Lifeline) -> None:
        line.heard("a")
        assert not await line.is_cut("a", stated=False)

    lifeline(everybody, story)


@pytest.mark.parametrize(("answered", "want"), [(False, Want.ANSWER), (True, Want.NETWORK)])
def test_dead_hosts_or_a_dead_network(*, answered: bool, want: Want) -> None:
    """Three silent addresses may be either while none has ever answered, also if names can be looked up."""

    async def story() -> None:
        blame = Blame(everybody, 0.1)
        blame.names.heard("a.example")
        with silent("127.0.0.9") as port:
            if answered:
                blame.answered("127.0.0.9", port)
            asked = (blame.of_silence("a.example", f"192.0.2.{n}", stated=False) for n in (1, 2, 3))
            assert want in await asyncio.gather(*asked)
        blame.close()

    asyncio.run(story())


def test_a_host_is_asked_by_being_connected_to() -> None:
    """One that refuses is there as well."""

    async def story() -> None:
        blame = Blame(nobody, 1.0)
        with socket.create_server((HERE, 0)) as there:
            blame.answered(HERE, there.getsockname()[1])
            assert await blame.of_silence("a.example", "192.0.2.1", stated=False) is None
            there.settimeout(PATIENCE)
            there.accept()[0].close()
        for party in ("192.0.2.2", "192.0.2.3", "192.0.2.4"):  # nobody listens there any more
            assert await blame.of_silence("a.example", party, stated=False) is None
        blame.close()

    asyncio.run(story())
