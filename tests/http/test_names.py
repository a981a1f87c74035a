"""Names that nobody answers for: what they cost others, counted in look-ups and places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from sitecrawl.http import Found, Lacking, Names, NotAnswered, UnknownHost, Unresolved, Want
from sitecrawl.http import names as rules
from sitecrawl.http.names import _FIRST_REST, _LONGEST_REST, _SLOW, _ZONE_PLACES, _labels


class Servers:
    """Name servers: names with `dead` in them are silent until `end`, all others are there; and a clock."""

    def __init__(self, most_slow: int = 2) -> None:
        self.now = 1000.0
        self.asked: list[str] = []
        self.names = Names(self.ask, self.ask, cache_size=100, most_slow=most_slow, clock=lambda: self.now)
        self._ended = asyncio.Event()

    async def ask(self, name: str) -> Sequence[str]:
        self.asked.append(name)
        if "dead" in name:
            await self._ended.wait()
            raise Unresolved(name, stated=True)
        if name.startswith("no."):
            raise UnknownHost(name)
        return ["192.0.2.1"]

    async def end(self) -> None:
        """Whoever waits hears that nobody answers."""
        self._ended.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def begin(self, *names: str) -> list[asyncio.Task[Found]]:
        return [asyncio.ensure_future(self.names.look_up(name)) for name in names]

    async def silent(self, *names: str) -> None:
        """All of them have been asked for, and were silent."""
        for name in names:
            (look_up,) = self.begin(name)
            await asyncio.sleep(0)
            await self.end()
            with pytest.raises(Unresolved):
                await look_up


def run(story: Callable[[Servers], Coroutine[Any, Any, None]]) -> None:
    async def made() -> None:
        servers = Servers()
        await story(servers)
        servers.names.close()

    asyncio.run(made())


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up is slow from the start."""
    monkeypatch.setattr(rules, "_SLOW", 0.0)


def test_downloads_that_wait_have_few_places() -> None:
    """Of fifty names whose servers are silent two have a download wait; the others' look-ups go on without."""

    async def story(servers: Servers) -> None:
        waiting = servers.begin(*(f"dead{number}.example" for number in range(50)))
        done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
        while len(left) > 2:
            done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert all(isinstance(one.exception(), Lacking) for one in done)
        assert len(servers.asked) == 50
        assert await servers.names.look_up("good.example") == Found(["192.0.2.1"])
        await servers.end()
        await asyncio.wait(left)
        assert {type(one.exception()) for one in left} == {Unresolved}

    run(story)


def test_a_zone_has_few_places() -> None:
    """So many look-ups of one zone are slow, and no other of it begins; those of other zones do."""

    async def story(servers: Servers) -> None:
        servers.begin(*(f"h{number}.dead.example" for number in range(_ZONE_PLACES)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        servers.now += _SLOW
        for number in range(100):
            with pytest.raises(Lacking) as lacking:
                await servers.names.look_up(f"x{number}.dead.example")
            assert lacking.value.want is Want.LOOKUPS
        assert len(servers.asked) == _ZONE_PLACES
        await servers.names.look_up("www.good.example")

    run(story)


def test_what_is_looked_up_is_there_for_who_comes_again() -> None:
    """One look-up a name, whoever asks meanwhile, and its addresses are kept."""

    async def story(servers: Servers) -> None:
        found = await asyncio.gather(*servers.begin(*["www.good.example"] * 10))
        assert [one.addresses for one in found] == [["192.0.2.1"]] * 10
        assert await servers.names.look_up("www.good.example") == Found(["192.0.2.1"], is_fresh=False)
        assert servers.asked == ["www.good.example"]
        await servers.names.look_up("www.good.example", fresh=True)
        assert len(servers.asked) == 2

    run(story)


def test_a_silent_name_is_not_asked_for_again() -> None:
    """For half a minute, then twice as long, once another name has been answered for since."""

    async def story(servers: Servers) -> None:
        await servers.silent("dead.example")
        await servers.silent("dead.example")  # nobody has answered: it may be the name server that is gone
        for rest in (_FIRST_REST, 2 * _FIRST_REST, 4 * _FIRST_REST, _LONGEST_REST, _LONGEST_REST):
            servers.now += 1
            with pytest.raises(UnknownHost):
                await servers.names.look_up("no.good.example")
            with pytest.raises(NotAnswered):
                await servers.names.look_up("dead.example")
            servers.now += rest
            await servers.silent("dead.example")

    run(story)


def test_so_is_everything_below_a_silent_label() -> None:
    """Of 300 names of a dead zone three are asked for; beside names that are heard of, it is a part of the zone."""

    async def story(servers: Servers) -> None:
        await servers.names.look_up("www.good.example")
        await servers.silent("a.dead.example", "b.dead.example", "c.dead.example")
        await servers.silent("a.dead.good.example", "b.dead.good.example", "c.dead.good.example")
        servers.now += 1
        await servers.names.look_up("ftp.good.example")
        asked = len(servers.asked)
        for number in range(300):
            for zone in ("dead.example", "dead.good.example"):
                with pytest.raises(NotAnswered, match=zone):
                    await servers.names.look_up(f"h{number}.{zone}")
        assert len(servers.asked) == asked
        await servers.names.look_up("mail.good.example")

    run(story)


def test_a_silence_that_is_its_own() -> None:
    """Whoever asked may have found so, where no other name was answered for."""

    async def story(servers: Servers) -> None:
        await servers.silent("dead.example")
        servers.names.condemn("dead.example")
        with pytest.raises(NotAnswered):
            await servers.names.look_up("dead.example")

    run(story)


def test_a_look_up_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked, and however long that would wait."""
    monkeypatch.setattr(rules, "_LONGEST", 0.0)

    async def story(servers: Servers) -> None:
        with pytest.raises(Unresolved):
            await servers.names.look_up("dead.example")

    run(story)


def test_labels_of_a_name() -> None:
    """Those of its zone, and so many below it, whatever is in front."""
    assert list(_labels("a.b.example.com")) == ["a.b.example.com", "b.example.com", "example.com"]
    assert list(_labels("example.com")) == ["example.com"]
    assert list(_labels("a.b.nosuch")) == ["a.b.nosuch", "b.nosuch"]
    deep = ".".join(map(str, range(50))) + ".example.com"
    assert list(_labels(deep)) == [
        deep, "46.47.48.49.example.com", "47.48.49.example.com", "48.49.example.com", "49.example.com", "example.com"
    ]  # fmt: skip
