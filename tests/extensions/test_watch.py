"""When an answer that drips is cut off."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy.settings import Settings

from sitecrawl.extensions import watch
from sitecrawl.extensions.watch import HOPELESS, PATIENCE, SHORT, Watch, _Running
from sitecrawl.frontier.urls.host import Host


class Arriving:
    """A download of which so many bytes have come."""

    progress = 0
    arrived = 0

    error: Exception | None = None

    def end(self, error: Exception) -> None:
        self.error = error


def cut_after(*rates: int, drips: Counter[str] | None) -> int:
    """The second after which a download is cut off that brings so many bytes in each; 0 if it is not."""
    download = Arriving()
    running = _Running(set(), download, "http://a.example/", 0.0, drips)
    for second, rate in enumerate(rates, 1):
        download.arrived += rate
        if running.drips(1.0, 100.0):
            return second
    return 0


@pytest.mark.parametrize(("drips", "patience"), [(None, SHORT), (Counter(), PATIENCE)], ids=["first", "again"])
@pytest.mark.parametrize("rate", [0, 1, 99])
def test_a_drip(drips: Counter[str] | None, patience: float, rate: int) -> None:
    """The seconds begin with the first byte."""
    assert cut_after(300, *[rate] * 60, drips=drips) == 1 + patience


@pytest.mark.parametrize(
    "rates",
    [[0] * 60, [100] * 60, [300, 0] * 30, [300, *[1] * 14, 100] * 4, [10**6] * 20 + [0] * 18 + [10**6], [1]],
    ids=["no answer yet", "fast enough", "in bursts", "a stall", "a stall of much", "at its end"],
)
def test_no_drip(rates: list[int]) -> None:
    assert cut_after(*rates, drips=Counter()) == 0


def test_what_came_well_may_stall_for_as_long() -> None:
    """So no more time is thrown away than was lost."""
    assert cut_after(*[1000] * 20, *[0] * 60, drips=None) == 20 + 19


def test_a_look_that_comes_late_says_nothing() -> None:
    """Nobody here had time for what came."""
    download = Arriving()
    running = _Running(set(), download, "http://a.example/", 0.0, None)
    download.arrived = 300
    assert not running.drips(1.0, 100.0)
    assert not any(running.drips(0.0, 100.0) for _ in range(60))
    assert [running.drips(1.0, 100.0) for _ in range(2)] == [False, True]


def test_a_silence_while_nobody_listened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that stood for a minute has sent nothing in it, and read nothing: that much counts as one look."""
    now = 1_000.0
    monkeypatch.setattr(watch, "monotonic", lambda: now)
    engine = SimpleNamespace(_slot=None)
    crawler = SimpleNamespace(settings=Settings({"SITECRAWL_MAX_IDLE_TIME": 30}), engine=engine, crawling=True)
    download = Arriving()

    async def looks(*passed: float) -> int:
        nonlocal now
        looking = Watch(cast(Any, crawler))
        with looking.over(download, "http://a.example/", 0.0):
            looking.stop()  # looks are the test's alone
            for number, seconds in enumerate(passed, 1):
                now += seconds
                looking._look()
                if download.error is not None:
                    return number
        return 0

    assert asyncio.run(looks(1.0, 60.0, 60.0, *[1.0] * 60)) == 1 + 31
    assert ended(download) == "IdleTimeout"


def test_no_least_rate() -> None:
    download = Arriving()
    running = _Running(set(), download, "http://a.example/", 0.0, None)
    download.arrived = 300
    assert not any(running.drips(1.0, 0.0) for _ in range(60))


def test_where_all_have_dripped_twice() -> None:
    """A first attempt is put off, a second fails. After three in a row the others of the host have less time, until
    one comes whole."""
    drips: Counter[str] = Counter()

    def asked(host: str, *, again: bool = True) -> tuple[str, int]:
        download = Arriving()
        running = _Running(set(), download, f"http://{host}/", 0.0, drips if again else None)
        download.arrived, seconds = 300, 0
        while not running.drips(1.0, 100.0):
            seconds += 1
        running.cut_off("slow")
        return type(download.error).__name__, seconds

    assert asked("a.example", again=False) == ("PutOff", SHORT)
    assert [asked("a.example") for _ in range(HOPELESS + 2)] == [
        *[("TooSlow", PATIENCE)] * HOPELESS,
        *[("TooSlow", SHORT)] * 2,
    ]
    assert asked("b.example") == ("TooSlow", PATIENCE)
    _Running(set(), Arriving(), "http://a.example/", 0.0, drips).__exit__(None, None, None)
    assert asked("a.example") == ("TooSlow", PATIENCE)


class Clock:
    """An event loop of which a test says what time it is, and which has one alarm."""

    def __init__(self) -> None:
        self.now = self.rings = 0.0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, ring: Callable[..., None], *words: Any) -> None:
        self.rings, self._ring, self._words = when, ring, words

    def ring(self, late: float = 0.0) -> None:
        self.now = self.rings + late
        self._ring(*self._words)


class Busy(Host):
    """A host for which other URLs wait, until `others` is false."""

    others = True

    def puts_off(self) -> bool:
        return self.others and self.pace.puts_off(1)


def begun(
    usual: float, *, timeout: float = 60.0, min_rate: float = 100.0, beside: set[_Running] | None = None
) -> tuple[Clock, Arriving, Busy]:
    """A first attempt at a host that usually takes so long."""
    clock, download, host = Clock(), Arriving(), Busy(b"", "a.example")
    host.pace.took(usual)
    running = _Running(
        beside or set(), download, "http://a.example/", timeout, None, asked=host, puts_off=(5.0, min_rate)
    )
    running.begin(cast(asyncio.AbstractEventLoop, clock))
    return clock, download, host


def ended(download: Arriving) -> str:
    return type(download.error).__name__


def test_nothing_comes() -> None:
    """What brings nothing in five times the usual time is put off, and counts as that."""
    clock, download, host = begun(1.0)
    clock.ring()
    assert (clock.now, ended(download), host.pace.in_row) == (5.0, "NothingYet", 1)


def other(began: float) -> _Running:
    """Another download that is under way."""
    clock, running = Clock(), _Running(set(), Arriving(), "http://b.example/", 0.0, None)
    clock.now = began
    running.begin(cast(asyncio.AbstractEventLoop, clock))
    return running


def test_all_stand_still() -> None:
    """It is no fault of the URL if nothing else has begun for half of that time, either. That holds once."""
    clock, download, host = begun(1.0, beside={other(0.0), other(2.5)})
    clock.ring()
    assert (clock.now, download.error, host.pace.in_row) == (5.0, None, 0)
    clock.ring()
    assert (clock.now, ended(download), host.pace.in_row) == (15.0, "NothingYet", 1)


def test_others_go_on() -> None:
    """It is the URL that hangs."""
    clock, download, _ = begun(1.0, beside={other(0.0), other(2.6)})
    clock.ring()
    assert (clock.now, ended(download)) == (5.0, "NothingYet")


def test_nothing_else_waits() -> None:
    """It has its time, until something else waits, and in the end its time is over."""
    clock, download, host = begun(1.0, timeout=18.0)
    host.others = False
    for _ in range(3):
        clock.ring()
        assert download.error is None
    clock.ring()
    assert (clock.now, ended(download)) == (18.0, "DownloadTimeoutError")


def test_it_comes_slowly_from_the_start() -> None:
    """An answer that has begun is put off as soon when hardly anything more comes."""
    clock, download, _ = begun(1.0)
    download.arrived = 800
    clock.ring()
    assert download.error is None
    download.arrived += 499
    clock.ring()
    assert (clock.now, ended(download)) == (10.0, "PutOff")


def test_it_comes_well() -> None:
    """So it goes on, however long it takes; a stall after that may last as long as it came before."""
    clock, download, _ = begun(1.0, timeout=0.0)
    for _ in range(5):
        download.arrived += 100_000
        clock.ring()
    assert (clock.now, download.error) == (80.0, None)
    clock.ring()
    assert (clock.now, ended(download)) == (160.0, "PutOff")


def test_nobody_had_time_for_what_came() -> None:
    """An alarm that rings late says nothing."""
    clock, download, _ = begun(1.0)
    clock.ring(late=2.6)
    assert download.error is None
    clock.ring(late=0.1)
    assert ended(download) == "NothingYet"


def test_slow_answers_that_are_no_fault() -> None:
    """Where there is no least rate, what has begun is not put off."""
    clock, download, _ = begun(1.0, min_rate=0.0)
    download.arrived = 1
    for _ in range(3):
        clock.ring()
    assert download.error is None
