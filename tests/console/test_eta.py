"""How long a crawl may take yet."""

from __future__ import annotations

import pytest

from sitecrawl.console.status_line import TimeLeft


def told(*samples: tuple[float, int, int], most: int = 0) -> str:
    """What is said after the last of them."""
    left = TimeLeft()
    for sample in samples:
        left.update(*sample)
    return left.words(*samples[-1], most)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([(0, 0, 100)], ""),
        ([(0, 0, 100), (9, 50, 50)], ""),
        ([(0, 0, 100), (100, 0, 100)], ""),
        ([(0, 0, 100), (100, 100, 0)], ""),
        ([(0, 0, 700), (100, 100, 600)], "0:10:00 left"),
        ([(0, 0, 650), (100, 100, 600)], "0:10:00 to 0:20:00 left"),
        ([(0, 0, 600), (100, 100, 600)], "0:10:00 or more left"),
        ([(0, 0, 1), (100, 100, 600)], "0:10:00 or more left"),
        ([(0, 0, 1), (100, 1000, 9)], ""),
        ([(0, 0, 5), (1000, 0, 800), (1100, 100, 700)], "0:11:40 left"),
    ],
)
def test_two_times(samples: list[tuple[float, int, int]], words: str) -> None:
    """The first is that of what waits, the second that at which it would be gone; of the last five minutes."""
    assert told(*samples) == words


def test_a_limit_of_pages_ends_it() -> None:
    """Whatever is found, the crawl does not go beyond it."""
    assert told((0, 0, 1), (100, 100, 600), most=160) == "0:01:00 left"
    assert told((0, 0, 650), (100, 100, 600), most=10_000) == "0:10:00 to 0:20:00 left"


def test_few_samples_are_kept() -> None:
    """A line that is redrawn four times a second costs no memory."""
    left = TimeLeft()
    for quarter in range(100_000):
        left.update(quarter / 4, quarter, 1)
    assert len(left._samples) <= 65
