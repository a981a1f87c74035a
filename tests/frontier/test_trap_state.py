"""What is kept of a unit follows what its fetches bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest

from sitecrawl.frontier.urls.trap_state import TrapState


def test_novelty_is_an_average() -> None:
    """At first novelty is the mean of all fetches, later of about the last window."""
    trap = TrapState()
    for number, news in enumerate([4, 0, 2]):
        trap.learn(news, number)
    assert trap.novelty == pytest.approx(2.0)
    for number in range(3, 500):
        trap.learn(0, number)
    assert trap.novelty < 0.01


def grown(trap: TrapState, known: Iterable[int], new: Callable[[int], int]) -> list[bool]:
    """Whether an end was in sight after each page with ten links to the unit, so many of them `new`."""
    seen = []
    for number in known:
        for _ in range(new(number)):
            trap.grow()
        trap.count(10 - new(number), number)
        seen.append(trap.falls)
    return seen


def saturating(known: int) -> int:
    """Of 1,000 pages that link to one another at random, fewer and fewer of the links are new."""
    return 10 * (1000 - known) // 1000


def test_what_saturates_has_an_end() -> None:
    """It is in sight before half of it is known."""
    assert all(grown(TrapState(), range(20, 800), saturating)[480:])


@pytest.mark.parametrize("new", [1, 5, 9, 10])
def test_what_goes_on_has_none(new: int) -> None:
    """A maze brings as much with its last page as with its first."""
    assert not any(grown(TrapState(), range(20, 8000), lambda known: new))


@pytest.mark.parametrize("seed", range(20))
def test_any_finite_graph_comes_to_its_end(seed: int) -> None:
    """Whatever its size and the links of its pages: once three quarters are known an end is in sight."""
    draw = Random(seed)
    pages, links = draw.randint(400, 5000), draw.randint(3, 30)
    trap, known, waiting = TrapState(), {0}, [0]
    while waiting:
        waiting.pop()
        fresh = 0
        for target in draw.sample(range(pages), links):
            if target not in known:
                known.add(target)
                waiting.append(target)
                trap.grow()
                fresh += 1
        trap.count(links - fresh, len(known))
        if len(known) > 0.75 * pages:
            assert trap.falls


def test_a_few_links_show_no_end() -> None:
    """Of 500 links 120 are new, and then 100: that happens by chance. Of ten times as many it does not."""
    for times, falls in (1, False), (10, True):
        trap = TrapState()
        for new, known in ((120, 100), (100, 150)):
            for _ in range(times * new):
                trap.grow()
            trap.count(times * (500 - new), known)
        assert trap.falls == falls


def test_an_end_is_forgotten_when_growth_goes_on() -> None:
    """A list that is known, and then a maze behind it: it is as it has been of late."""
    trap = TrapState()
    assert grown(trap, range(20, 800), saturating)[-1]
    assert not grown(trap, range(800, 8000), lambda known: 5)[-1]
    assert 400 <= 2**trap.fell_at <= 2048
    assert TrapState.unpack(trap.pack()).fell_at == trap.fell_at


def test_an_end_must_be_shown_anew() -> None:
    """What is held back is not set free for what was seen of it before."""
    trap = TrapState()
    assert grown(trap, range(20, 800), saturating)[-1]
    trap.begin_anew(800)
    assert not trap.falls
    assert TrapState.unpack(trap.pack()) is not trap
    assert TrapState.unpack(trap.pack()).pack() == trap.pack()


def test_what_was_counted_need_not_be_again() -> None:
    """Where nothing has come since links were counted last, to count none of them changes nothing."""
    draw = Random(1)
    always, sparing, known = TrapState(), TrapState(), 1
    for _ in range(20_000):
        step = draw.choices(("grow", "links", "known", "anew"), (60, 20, 20, 1))[0]
        known += step == "known"
        links = draw.randrange(40)
        for trap in (always, sparing):
            if step == "grow":
                trap.grow()
            elif step == "links":
                trap.count(links, known)
            elif step == "anew":
                trap.begin_anew(known)
        always.count(0, known)
        if sparing.counted != known:
            sparing.count(0, known)
        assert always.pack() == sparing.pack()
        assert always.is_stale == sparing.is_stale
