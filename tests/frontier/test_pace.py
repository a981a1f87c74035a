"""What is usual for a host, and what is put off."""

from __future__ import annotations

from math import inf

import pytest

from sitecrawl.frontier.urls.pace import LEAST_PATIENCE, LONGEST_RUN, RUN, Pace


def paced(*seconds: float) -> Pace:
    """That of a host whose downloads took so long, one after the other."""
    pace = Pace()
    for one in seconds:
        pace.took(one)
    return pace


def test_nothing_is_usual_at_first() -> None:
    assert Pace().patience(5, 1) == inf
    assert paced(inf).patience(5, 1) == inf


@pytest.mark.parametrize("slow", [5.0, inf])
def test_a_slow_third_is_not_usual(slow: float) -> None:
    """Whatever it takes, and wherever it stands."""
    for third in ([0.1, 0.1, slow], [0.1, slow, 0.1], [slow, 0.1, 0.1]):
        assert 0.1 <= paced(0.1, *third * 100).usual < 0.13


def test_what_most_take_is_usual() -> None:
    """Then nothing is put off any more: a site that is slow as a whole comes as it did."""
    assert paced(0.1, *[5.0] * 50).usual == 5
    assert paced(0.1, *[0.1, 5.0, 5.0] * 150).usual == pytest.approx(5, rel=0.1)
    assert paced(5.0, *[0.1] * 50).usual == 0.1


def test_what_is_put_off_moves_what_is_usual() -> None:
    """Where all take longer than is usual, they have the time that they need before long."""
    pace, put_off = paced(0.1), 0
    while pace.patience(5, 1) <= 5:
        pace.took(inf)
        put_off += 1
    assert put_off < 30


def test_patience() -> None:
    """So many times what is usual, and never so little that a lost packet takes longer; none without a factor."""
    assert [paced(seconds).patience(5, 1) for seconds in (0.01, 1.0, 7.0)] == [LEAST_PATIENCE, 5, 35]
    assert paced(1.0).patience(0, 1) == inf


def test_so_many_in_a_row() -> None:
    """The host is asked ever more patiently and rarely, and at last has all the time that there is."""
    pace = paced(1.0)
    for seats in (1, 3):
        found = []
        for _ in range(LONGEST_RUN // RUN):
            found.append((pace.patience(5, seats), pace.pays(seats)))
            assert all(pace.puts_off(seats) for _ in range(RUN * seats))
        assert found == [(5 << doubled, 1 << doubled) for doubled in range(LONGEST_RUN // RUN)]
        assert not pace.puts_off(seats)
        pace.answered()
