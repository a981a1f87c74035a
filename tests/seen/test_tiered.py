"""The tiers together: every key is new once, whatever the tiers' sizes, and a wrong yes costs no page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seen_helpers import MemorySet

from sitecrawl.base.errors import StorageError
from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.exact import RocksSet
from sitecrawl.frontier.seen.tiered import ExactSet, SeenSet

POOL = [bytes([i]) * 16 for i in range(50)]
A, B, C = POOL[:3]

Make = Callable[[], SeenSet]


class AlwaysYes(ScalableBloom):
    """The worst Bloom filter there is: all of its answers are yes."""

    def __init__(self) -> None:
        super().__init__(capacity=1, error_rate=0.5)

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        return [True] * len(keys)


def small_bloom() -> ScalableBloom:
    return ScalableBloom(capacity=1, error_rate=0.5)


BLOOMS: dict[str, Callable[[], ScalableBloom]] = {"always yes": AlwaysYes, "at 50%": small_bloom}


@pytest.fixture(params=BLOOMS)
def bloom(request: pytest.FixtureRequest) -> ScalableBloom:
    return BLOOMS[request.param]()


@pytest.fixture(params=["memory", "rocks"])
def exact(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExactSet]:
    made = MemorySet() if request.param == "memory" else RocksSet(tmp_path / "set", hash_name="h", spill=3)
    yield made
    made.close()


@pytest.fixture(params=[1, 2, 1000], ids="cache of {}".format)
def seen(request: pytest.FixtureRequest, bloom: ScalableBloom, exact: ExactSet) -> SeenSet:
    return SeenSet(Clock(request.param), bloom, exact)


class TestWithExactSet:
    def test_a_key_is_new_once(self, seen: SeenSet) -> None:
        """The first time a key is new, and never again, however many came between."""
        for key in POOL:
            assert seen.add_many([key]) == [True]
        for key in POOL:
            assert seen.add_many([key]) == [False]

    def test_new_keys_are_given_once_in_their_order(self, seen: SeenSet) -> None:
        """`add_new` gives the keys where `add_many` says True."""
        again = SeenSet(Clock(1), small_bloom(), MemorySet())
        for batch in ([POOL[3], POOL[1], POOL[3]], [], POOL[4:0:-1], POOL + POOL):
            new = [key for key, is_new in zip(batch, again.add_many(batch), strict=True) if is_new]
            assert seen.add_new(batch) == new

    def test_of_equal_keys_in_a_batch_the_first_is_new(self, seen: SeenSet) -> None:
        """A page that links twice to a page finds it once, also when the cache lost it in between."""
        assert seen.add_many([A, B, A, C, B, A]) == [True, True, False, True, False, False]

    def test_an_empty_batch_is_nothing(self, seen: SeenSet) -> None:
        """A page without links asks nothing."""
        assert seen.add_many([]) == []
        assert seen.contains_many([]) == []

    def test_a_look_does_not_add(self, seen: SeenSet) -> None:
        """What was only looked for is still new."""
        assert seen.contains_many([A, B, A]) == [False] * 3
        seen.add_many([B])
        assert seen.contains_many([A, B, A, B]) == [False, True, False, True]
        assert seen.add_many([A]) == [True]

    def test_every_answer_is_counted_once(self, seen: SeenSet) -> None:
        """Hits, negatives and look-ups add up to the questions; the rest of the look-ups were right."""
        rng = Random(1)
        for _ in range(40):
            seen.add_many(rng.choices(POOL, k=5))
        stats = seen.stats
        assert seen.figures().asked == 200
        assert stats.new == stats.bloom_negatives + stats.bloom_false_positives
        assert stats.new == seen.contains_many(POOL).count(True)


@pytest.mark.parametrize("bloom_name", BLOOMS)
@given(batches=st.lists(st.lists(st.sampled_from(POOL), max_size=20), max_size=20), cache=st.integers(1, 60))
def test_against_a_python_set(bloom_name: str, batches: list[list[bytes]], cache: int) -> None:
    """Any batches, any cache size: no difference to a set."""
    seen, reference = SeenSet(Clock(cache), BLOOMS[bloom_name](), MemorySet()), set[bytes]()
    for batch in batches:
        assert seen.contains_many(batch) == [key in reference for key in batch]
        expected = []
        for key in batch:
            expected.append(key not in reference)
            reference.add(key)
        assert seen.add_many(batch) == expected


class BrokenSet(MemorySet):
    """An exact set whose disk fails on demand."""

    fails: str = ""

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        if self.fails == "read":
            raise StorageError("the disk is gone")
        return super().contains_many(keys)

    def add_many(self, keys: Sequence[bytes]) -> None:
        if self.fails == "write":
            raise StorageError("the disk is full")
        super().add_many(keys)


@pytest.mark.parametrize("fails", ["read", "write"])
def test_a_key_that_could_not_be_added_is_still_new(fails: str) -> None:
    """The cache must not remember what the set never got: that would be a lost page."""
    exact = BrokenSet()
    seen = SeenSet(Clock(100), AlwaysYes(), exact)
    seen.add_many([A])
    exact.fails = fails
    with pytest.raises(StorageError):
        seen.add_many([A, B, C])
    exact.fails = ""
    assert seen.add_many([A, B, C]) == [False, True, True]


class Overlay(MemorySet):
    """An exact set that somebody else writes, as the frontier's table is."""

    def add_many(self, keys: Sequence[bytes]) -> None:
        """Nothing: the owner puts the keys in."""

    def put(self, keys: Sequence[bytes]) -> None:
        super().add_many(keys)


def test_the_exact_set_may_belong_to_somebody_else() -> None:
    """With an `add_many` that does nothing, the owner's own writes are what is seen."""
    table = Overlay()
    seen = SeenSet(Clock(1), small_bloom(), table)
    assert seen.add_many([A, B]) == [True, True]
    table.put([A, B])
    assert seen.add_many([A, B, C, A]) == [False, False, True, False]


def test_rebuild_fills_the_filter_from_the_exact_set() -> None:
    """After a crash the filter knows every key again, and nothing of what it knew before."""
    exact = MemorySet()
    exact.add_many(POOL[:40])
    bloom = ScalableBloom(capacity=1, error_rate=0.0001)
    bloom.add_many(POOL[45:])
    seen = SeenSet(Clock(1), bloom, exact)
    seen.rebuild(exact.keys(), len(exact))
    assert len(bloom) == 40
    assert seen.contains_many(POOL) == [True] * 40 + [False] * 10
    assert seen.stats.bloom_negatives == 10


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_gradual_rebuild_is_never_wrong(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """While the filter is filled again the exact set answers; then the filter knows every key, once."""
    monkeypatch.setattr("sitecrawl.frontier.seen.tiered._REBUILD_BATCH", batch)
    exact = MemorySet()
    exact.add_many(POOL[:20])
    bloom = small_bloom()
    seen = SeenSet(Clock(1), bloom, exact)
    seen.rebuild_gradually(POOL[:20], len(exact))
    for number, key in enumerate(POOL):
        assert seen.contains_many(POOL) == [True] * max(20, number) + [False] * (len(POOL) - max(20, number))
        assert seen.add_many([key]) == [number >= 20]
    assert not seen.is_filling
    assert len(bloom) == len(POOL)
    assert all(bloom.contains_many(POOL))


def test_it_says_what_it_consists_of() -> None:
    """One line for the log."""
    told = SeenSet(Clock(5), ScalableBloom(capacity=10, error_rate=0.01), MemorySet()).describe()
    assert told == "CLOCK cache of 5 URLs, Bloom filter pybloom-live at 0.01, exact set"
