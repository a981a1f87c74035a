"""What a section is worth, and its bytes on disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.options import ENOUGH
from sitecrawl.frontier.urls.sections import KEY_BYTES, MAX_BROUGHT, SAMPLES, Section
from sitecrawl.frontier.urls.trap_state import TrapState

KEY = bytes(8 + KEY_BYTES)
COUNTS = st.integers(0, 2**63)
NUMBERS = st.floats(0, 1e9)
QUEUE = DiskQueue(None, KEY, empty=True)  # type: ignore[arg-type]
"""Stands in where no entry is asked for."""


def section_of(shape: str = "/x/*", known: int = 100) -> Section:
    section = Section(KEY, shape, QUEUE)
    section.known = known
    return section


@given(
    shape=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    counts=st.lists(COUNTS, min_size=5, max_size=5),
    numbers=st.lists(NUMBERS, min_size=8, max_size=8),
    lists=st.tuples(
        st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.booleans()), max_size=SAMPLES + 2),
        st.dictionaries(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), COUNTS, max_size=MAX_BROUGHT),
    ),
    trap=st.tuples(st.booleans(), COUNTS, st.integers(0, 255), COUNTS),
)
def test_a_section_comes_back_as_it_went(shape, counts, numbers, lists, trap):
    """A section keeps its shape, its numbers, what was fetched last, what it has brought and its trap state."""
    section = section_of(shape)
    section.known, section.own, section.fetched, section.good, section.queued = counts
    section.trials, section.successes, section.leads, section.turn, section.hope, section.worth = numbers[:6]
    section.trap.novelty = numbers[6]
    last, section.brought = lists
    section.circle = bytes([7]) * KEY_BYTES
    section.trap.demoted, section.trap.since, section.trap.reason, section.trap.tried = trap
    for url, good in last:
        section.remember(url, good=good)
    back = Section.unpack(KEY, section.pack(), QUEUE)
    assert list(back.fetched_last) == last[::-1][:SAMPLES]
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


@given(st.binary(max_size=220))
def test_torn_section(data):
    """Any bytes are a section or a corrupt file, and no other error."""
    try:
        section = Section.unpack(KEY, data, QUEUE)
    except CorruptFile:
        return
    assert Section.unpack(KEY, section.pack(), QUEUE).shape == section.shape


def test_recent_yield_forgets():
    """After a window of bad pages the good ones of before count for little."""
    section = section_of()
    for _ in range(500):
        section.learn(good=True)
    assert section.recent == pytest.approx(1.0)
    for _ in range(4 * ENOUGH):
        section.learn(good=False)
    assert section.recent < 0.05


def test_a_way_to_good_pages_is_no_waste():
    """An index that is no content itself has brought something, as long as it leads on."""
    section = section_of()
    for _ in range(100):
        section.learn(good=False, leads=0.9)
    assert section.recent == pytest.approx(0.9)


def test_what_is_untried_has_shown_nothing():
    """Others are paid for leading to a section as far as it has shown good pages."""
    section = section_of()
    assert section.shown == 0
    shown = []
    for _ in range(20):
        section.learn(good=True)
        shown.append(section.shown)
    assert shown == sorted(shown)
    assert 0.8 < shown[-1] < 1


def test_what_it_brings_is_bounded():
    """Of a thousand sections that it leads to, those that it leads to most are kept."""
    section = section_of()
    for number in range(1000):
        for _ in range(1 + 10 * (number < 5)):
            section.bring(number.to_bytes(KEY_BYTES, "big"))
    assert len(section.brought) <= 2 * MAX_BROUGHT
    assert {number.to_bytes(KEY_BYTES, "big") for number in range(5)} <= section.brought.keys()
    back = Section.unpack(KEY, section.pack(), QUEUE)
    assert len(back.brought) == MAX_BROUGHT
    assert back.brought.items() <= section.brought.items()
