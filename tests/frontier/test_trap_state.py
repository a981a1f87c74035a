"""What is kept of a unit follows what its fetches bring."""

from __future__ import annotations

import pytest

from sitecrawl.frontier.trap_state import TrapState


def test_novelty_is_an_average():
    """At first novelty is the mean of all fetches, later of about the last window."""
    trap = TrapState()
    for number, news in enumerate([4, 0, 2]):
        trap.learn(news, 10, number)
    assert trap.novelty == pytest.approx(2.0)
    for number in range(3, 500):
        trap.learn(0, 10, number)
    assert trap.novelty < 0.01


def grown(trap: TrapState, sizes, news) -> bool:
    """Fetches of ten links each, `news(size)` of them new, while the unit gets larger."""
    for number, size in enumerate(sizes):
        trap.learn(news(size), 10, number)
        trap.measure(size)
    return trap.falls


def test_what_saturates_has_an_end():
    """Of 1,000 pages that link to one another at random, fewer and fewer of the links are new."""
    assert grown(TrapState(), range(20, 800), lambda size: 10 * (1000 - size) // 1000)


@pytest.mark.parametrize("links", [1, 9, 10])
def test_what_goes_on_has_none(links):
    """A maze brings as much with its last page as with its first."""
    assert not grown(TrapState(), range(20, 8000), lambda size: links)


def test_a_few_links_show_no_end():
    """Of 500 links 120 are new, and then 100: that happens by chance. Of ten times as many it does not."""
    for links, falls in (10, False), (100, True):
        trap = TrapState()
        for number in range(50):
            trap.learn(0.24 * links, links, number)
        trap.measure(100)
        for number in range(50, 100):
            trap.learn(0.2 * links, links, number)
        assert trap.falls == falls


def test_an_end_is_forgotten_when_growth_goes_on():
    """A list that is known, and then a maze behind it: it is as it has been of late."""
    trap = TrapState()
    assert grown(trap, range(20, 800), lambda size: 10 * (1000 - size) // 1000)
    assert not grown(trap, range(800, 8000), lambda size: 5)


def test_an_end_must_be_shown_anew():
    """What is held back is not set free for what was seen of it before."""
    trap = TrapState()
    assert grown(trap, range(20, 800), lambda size: 10 * (1000 - size) // 1000)
    trap.begin_anew(800)
    assert not trap.falls
    assert TrapState.unpack(trap.pack()).pack() == trap.pack()
