"""Each cache keeps what its paper says, and never more than its capacity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.seen.cache import Cache
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.static import StaticCache

A, B, C, D = (bytes([i]) * 16 for i in range(4))
few_keys = st.lists(st.sampled_from([bytes([i]) * 16 for i in range(12)]), max_size=100)


@pytest.mark.parametrize("kind", [Clock, StaticCache])
class TestEveryCache:
    @given(keys=few_keys, capacity=st.integers(1, 8))
    def test_what_it_knows_was_touched_and_is_bounded(
        self, kind: type[Cache], keys: list[bytes], capacity: int
    ) -> None:
        """A hit is a key that came before; there are never more keys than room; every touch is counted."""
        cache, before = kind(capacity), set[bytes]()
        for key in keys:
            was_there = key in cache
            assert cache.touch(key) == was_there
            assert not was_there or key in before
            before.add(key)
            assert len(cache) <= capacity
        assert cache.hits + cache.misses == len(keys)

    @given(keys=few_keys)
    def test_with_room_for_all_a_key_is_missed_once(self, kind: type[Cache], keys: list[bytes]) -> None:
        """Nothing is forgotten before there is need to."""
        cache = kind(12)
        cache.touch_many(keys)
        assert cache.misses == len(set(keys)) == len(cache)

    @given(capacity=st.integers(1, 8), batches=st.lists(few_keys, max_size=5))
    def test_many_keys_are_touched_as_each_would_be(
        self, kind: type[Cache], capacity: int, batches: list[list[bytes]]
    ) -> None:
        """The same cache, the same counters; what was missed comes with the first place where it was."""
        one, many = kind(capacity), kind(capacity)
        for keys in batches:
            missed: dict[bytes, int] = {}
            for place, key in enumerate(keys):
                if not one.touch(key):
                    missed.setdefault(key, place)
            assert many.touch_many(keys) == missed
            assert (many.hits, many.misses) == (one.hits, one.misses)
            assert [key in many for key in keys] == [key in one for key in keys]

    def test_clear_forgets_keys_and_keeps_counters(self, kind: type[Cache]) -> None:
        """A cleared cache starts over, and its statistics go on."""
        cache = kind(2)
        cache.touch_many([A, B, A])
        cache.clear()
        assert len(cache) == 0
        assert A not in cache
        assert [cache.touch(key) for key in (C, D, C, D)] == [False, False, True, True]
        assert (cache.hits, cache.misses) == (3, 4)

    def test_a_cache_of_nothing_is_refused(self, kind: type[Cache]) -> None:
        """A capacity below 1 is an error, not a cache that never hits."""
        with pytest.raises(OptionError, match="1 or more"):
            kind(0)


def test_static_keeps_the_first() -> None:
    """Once it is full nothing comes in, however often it is asked for; what is popular has its place."""
    cache = StaticCache(2, [D])
    assert [cache.touch(key) for key in (A, B, B, A, D, D)] == [False, False, False, True, False, True]
    cache.clear()
    assert [cache.touch(key) for key in (B, B, D, D)] == [False, True, False, True]
