"""What a section is worth, and its bytes on disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.sections import KEY_BYTES, WINDOW, Section, TrapState

KEY = bytes(8 + KEY_BYTES)
COUNTS = st.integers(0, 2**63)
NUMBERS = st.floats(0, 1e9)
QUEUE = DiskQueue(None, KEY, empty=True)  # type: ignore[arg-type]
"""Stands in where no entry is asked for."""


def section_of(shape: str = "/x/*", known: int = 100) -> Section:
    section = Section(KEY, shape, QUEUE)
    section.known = known
    return section


def fetched(good: int, bad: int, *, known: int = 100) -> Section:
    section = section_of(known=known)
    for number in range(good + bad):
        section.learn(good=number < good)
    section.weigh(good + bad)
    return section


@given(
    shape=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    counts=st.lists(COUNTS, min_size=6, max_size=6),
    numbers=st.lists(NUMBERS, min_size=5, max_size=5),
    trap=st.tuples(st.booleans(), COUNTS, st.integers(0, 255), COUNTS),
)
def test_a_section_comes_back_as_it_went(shape, counts, numbers, trap):
    """A section keeps its shape, its numbers and its trap state."""
    section = section_of(shape)
    section.known, section.own, section.fetched, section.good, section.queued, section.trap_like = counts
    section.recent, section.worth = numbers[:2]
    section.trap.novelty, section.trap.cost, section.trap.limit = numbers[2:]
    section.trap.demoted, section.trap.since, section.trap.reason, section.trap.tried = trap
    back = Section.unpack(KEY, section.pack(), QUEUE)
    for name in set(Section.__slots__) - {"trap", "queue"}:
        assert getattr(back, name) == getattr(section, name), name
    for name in TrapState.__slots__:
        assert getattr(back.trap, name) == getattr(section.trap, name), name


def test_what_is_in_memory_only_is_not_stored():
    """A section's queue on disk is counted without the requests that would die with the process."""
    section = section_of()
    section.queued, section.volatile = 5, 2
    back = Section.unpack(KEY, section.pack(), QUEUE)
    assert (back.queued, back.volatile) == (3, 0)


@given(st.binary(max_size=160))
def test_torn_section(data):
    """Any bytes are a section or a corrupt file, and no other error."""
    try:
        section = Section.unpack(KEY, data, QUEUE)
    except CorruptFile:
        return
    assert Section.unpack(KEY, section.pack(), QUEUE).shape == section.shape


def test_a_new_section_is_worth_a_try():
    """What nobody has fetched yet is hoped for as much as can be."""
    assert section_of().worth == 1.0


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 10**7), st.integers(0, 100))
def test_worth_is_a_share(good, bad, fetches, trap_like):
    """Whatever a section has brought, its worth is above 0 and at most 1."""
    section = section_of()
    section.good, section.fetched, section.trap_like = good, good + bad, trap_like
    section.weigh(fetches)
    assert 0 < section.worth <= 1


def test_yield_makes_worth():
    """Of sections that were fetched as often, the one that brought more good pages is worth more."""
    worths = [fetched(good, 200 - good).worth for good in (0, 50, 100, 150)]
    assert worths == sorted(worths)
    assert worths[0] < worths[-1] / 5


def test_doubt_makes_worth():
    """A few bad pages say less than many."""
    assert fetched(0, 3).worth > fetched(0, 30).worth > fetched(0, 300).worth


def test_looks_make_worth():
    """A section whose URLs look like a trap's is worth a tenth, and one of which some do is in between."""
    plain, some, all_of_it = section_of(), section_of(), section_of()
    some.trap_like, all_of_it.trap_like = 50, 100
    for section in (plain, some, all_of_it):
        section.weigh(1000)
    assert plain.worth > some.worth > all_of_it.worth
    assert all_of_it.worth == pytest.approx(plain.worth / 10)


def test_recent_yield_forgets():
    """After a window of bad pages the good ones of before count for little."""
    section = fetched(500, 0)
    assert section.recent == 1.0
    for _ in range(4 * WINDOW):
        section.learn(good=False)
    assert section.recent < 0.05


def test_novelty_is_an_average():
    """At first novelty is the mean of all fetches, later of about the last window."""
    trap = TrapState()
    for number, news in enumerate([4, 0, 2]):
        trap.learn(news, number)
    assert trap.novelty == pytest.approx(2.0)
    for number in range(3, 500):
        trap.learn(0, number)
    assert trap.novelty < 0.01
