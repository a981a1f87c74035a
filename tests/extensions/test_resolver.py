"""c-ares, asked on the event loop, with a name server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from name_server import NO_SUCH_NAME, SILENCE, NameServer

from sitecrawl import http
from sitecrawl.extensions.resolver import _CAres

ADDRESSES = {
    "both.example": ["192.0.2.1", "2001:db8::1"],
    "four.example": ["192.0.2.4", "192.0.2.5"],
    "six.example": ["2001:db8::6"],
    "silent.example": SILENCE,
}


def asked(*names: str) -> list[Sequence[str] | type[BaseException]]:
    """What comes of each, or the kind of the error."""

    async def story(server: NameServer) -> list[Sequence[str] | type[BaseException]]:
        c_ares = _CAres([server.address])
        found = await asyncio.gather(*map(c_ares.ask, names), return_exceptions=True)
        await c_ares.close()
        return [type(one) if isinstance(one, BaseException) else one for one in found]

    with NameServer(lambda name: ADDRESSES.get(name, NO_SUCH_NAME)) as server:
        return asyncio.run(story(server))


def test_addresses_of_both_families() -> None:
    """A name has all of its addresses, each once; one that has IPv6 addresses alone has those."""
    both, four, six = asked("both.example", "four.example", "six.example")
    assert not isinstance(both, type)
    assert not isinstance(four, type)
    assert sorted(both) == ["192.0.2.1", "2001:db8::1"]
    assert sorted(four) == ["192.0.2.4", "192.0.2.5"]
    assert six == ["2001:db8::6"]


def test_why_a_name_leads_nowhere() -> None:
    """There is no such name, or it is none."""
    assert asked("no.example", "a" * 64 + ".example") == [http.UnknownHost, http.UnknownHost]


def test_the_systems_hosts_are_known() -> None:
    """/etc/hosts comes before any name server."""
    (found,) = asked("localhost")
    assert not isinstance(found, type)
    assert "127.0.0.1" in found


def test_a_name_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nobody answers is told apart from that there is no such name."""
    monkeypatch.setattr("sitecrawl.extensions.resolver._FIRST_WAIT", 0.05)
    monkeypatch.setattr("sitecrawl.extensions.resolver._TRIES", 1)
    assert asked("silent.example") == [http.Unresolved]
