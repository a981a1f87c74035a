"""What is kept of a unit follows what its fetches bring."""

from __future__ import annotations

import pytest

from sitecrawl.frontier.trap_state import TrapState


def test_novelty_is_an_average():
    """At first novelty is the mean of all fetches, later of about the last window."""
    trap = TrapState()
    for number, news in enumerate([4, 0, 2]):
        trap.learn(news, number)
    assert trap.novelty == pytest.approx(2.0)
    for number in range(3, 500):
        trap.learn(0, number)
    assert trap.novelty < 0.01
