"""When an answer that drips is cut off."""

from __future__ import annotations

from collections import Counter

import pytest

from sitecrawl.extensions.watch import HOPELESS, PATIENCE, SHORT, Running


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
    running = Running(set(), download, "http://a.example/", 0.0, drips)
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
    running = Running(set(), download, "http://a.example/", 0.0, None)
    download.arrived = 300
    assert not running.drips(1.0, 100.0)
    assert not any(running.drips(0.0, 100.0) for _ in range(60))
    assert [running.drips(1.0, 100.0) for _ in range(2)] == [False, True]


def test_no_least_rate() -> None:
    download = Arriving()
    running = Running(set(), download, "http://a.example/", 0.0, None)
    download.arrived = 300
    assert not any(running.drips(1.0, 0.0) for _ in range(60))


def test_where_all_have_dripped_twice() -> None:
    """A first attempt is put off, a second fails. After three in a row the others of the host have less time, until
    one comes whole."""
    drips: Counter[str] = Counter()

    def asked(host: str, *, again: bool = True) -> tuple[str, int]:
        download = Arriving()
        running = Running(set(), download, f"http://{host}/", 0.0, drips if again else None)
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
    Running(set(), Arriving(), "http://a.example/", 0.0, drips).__exit__(None, None, None)
    assert asked("a.example") == ("TooSlow", PATIENCE)
