"""CLOCK keeps what is asked for again, and never more than its capacity."""

from __future__ import annotations

from typing import Any

import pytest
from compiled_core import both_ways
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.seen.clock import Clock

both = both_ways("sitecrawl.frontier.seen.clock.native")

A, B, C, D = (bytes([i]) * 16 for i in range(4))
few_keys = st.lists(st.sampled_from([bytes([i]) * 16 for i in range(12)]), max_size=200)


class Textbook:
    """CLOCK as the paper words it: one slot a step, no shortcut."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.slots: list[list[Any]] = []
        self.hand = 0

    def touch(self, key: bytes) -> bool:
        for slot in self.slots:
            if slot[0] == key:
                slot[1] = True
                return True
        if len(self.slots) < self.capacity:
            self.slots.append([key, False])
            return False
        while self.slots[self.hand][1]:
            self.slots[self.hand][1] = False
            self.hand = (self.hand + 1) % self.capacity
        self.slots[self.hand] = [key, False]
        self.hand = (self.hand + 1) % self.capacity
        return False


def test_a_look_leaves_no_trace() -> None:
    """`in` neither marks a key nor counts."""
    clock = Clock(2)
    clock.touch(A)
    clock.touch(B)
    assert A in clock
    assert C not in clock
    clock.touch(C)
    assert A not in clock
    assert (clock.hits, clock.misses) == (0, 3)


def test_a_marked_key_gets_a_second_chance() -> None:
    """The hand passes over a key that was asked for since it last came by."""
    clock = Clock(2)
    clock.touch(A)
    clock.touch(B)
    clock.touch(A)
    clock.touch(C)
    assert A in clock
    assert B not in clock


def test_the_second_chance_is_used_up() -> None:
    """A key that is not asked for again leaves the second time the hand comes by."""
    clock = Clock(2)
    for key in (A, B, A, C, D):
        clock.touch(key)
    assert A not in clock
    assert C in clock
    assert D in clock


def test_all_marked_means_first_in_first_out() -> None:
    """When every key is marked, the hand goes all the way round and takes the one it started at."""
    clock = Clock(3)
    for key in (A, B, C, A, B, C, D):
        clock.touch(key)
    assert A not in clock
    assert len(clock) == 3


@pytest.mark.parametrize("capacity", [1, 2, 3, 7])
@given(keys=few_keys)
def test_it_is_the_clock_of_the_paper(capacity: int, keys: list[bytes]) -> None:
    """Hit for hit and key for key, the sweep at memory speed does what the textbook does."""
    clock, textbook = Clock(capacity), Textbook(capacity)
    for key in keys:
        assert clock.touch(key) == textbook.touch(key)
        assert {k for k in keys if k in clock} == {slot[0] for slot in textbook.slots}
        assert len(clock) == len(textbook.slots) <= capacity
    assert clock.hits + clock.misses == len(keys)


@given(keys=few_keys)
def test_with_room_for_all_a_key_is_missed_once(keys: list[bytes]) -> None:
    """Nothing is forgotten before there is need to."""
    clock = Clock(12)
    clock.touch_many(keys)
    assert clock.misses == len(set(keys)) == len(clock)


@given(capacity=st.integers(1, 8), batches=st.lists(few_keys, max_size=5))
def test_many_keys_are_touched_as_each_would_be(capacity: int, batches: list[list[bytes]]) -> None:
    """The same cache, the same counters; what was missed comes with the first place where it was."""
    one, many = Clock(capacity), Clock(capacity)
    for keys in batches:
        missed: dict[bytes, int] = {}
        for place, key in enumerate(keys):
            if not one.touch(key):
                missed.setdefault(key, place)
        assert many.touch_many(keys) == missed
        assert (many.hits, many.misses) == (one.hits, one.misses)
        assert [key in many for key in keys] == [key in one for key in keys]


def test_clear_forgets_keys_and_keeps_counters() -> None:
    """A cleared cache starts over, and its statistics go on."""
    clock = Clock(2)
    clock.touch_many([A, B, A])
    clock.clear()
    assert len(clock) == 0
    assert A not in clock
    assert [clock.touch(key) for key in (C, D, C, D)] == [False, False, True, True]
    assert (clock.hits, clock.misses) == (3, 4)


def test_a_cache_of_nothing_is_refused() -> None:
    """A capacity below 1 is an error, not a cache that never hits."""
    with pytest.raises(OptionError, match="1 or more"):
        Clock(0)
