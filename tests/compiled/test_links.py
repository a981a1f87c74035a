"""What the C does for each link of a page is what its twins do. What that has to be is in tests/seen/test_clock.py,
tests/frontier/test_link_credit.py and tests/frontier/test_order.py, which run over both.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter

import pytest
from compiled_core import in_c
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.frontier.seen.clock import _mark_in_python
from sitecrawl.frontier.urls.link_credit import _owe_in_python
from sitecrawl.frontier.urls.order import _raised_in_python
from sitecrawl.page.items import Link

KEYS = st.sampled_from([bytes([letter]) * 16 for letter in b"abcdefgh"])
AMOUNTS = st.sampled_from([0, 1, 10**17, (1 << 63) - 1, 1 << 64, -5])
RANKS = st.binary(min_size=12, max_size=12) | st.integers(0, 130).map(
    lambda number: bytes(6) + (0xFFFF - number).to_bytes(2, "big") + b"last"
)
LARGEST = (1 << 63) - 1


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


@given(st.lists(KEYS, unique=True), st.lists(KEYS), st.integers(0, 9))
def test_marks(native: Native, held: list[bytes], keys: list[bytes], start: int) -> None:
    """They stop at the same key, and have marked the same slots."""
    slots = {key: slot for slot, key in enumerate(held)}
    mine, twins = bytearray(8), bytearray(8)
    start = min(start, len(keys))
    assert native.clock_mark(slots, mine, keys, start) == _mark_in_python(slots, twins, keys, start)
    assert mine == twins


@given(st.lists(st.tuples(st.dictionaries(KEYS, st.booleans()), AMOUNTS, AMOUNTS, st.booleans()), max_size=4))
def test_what_pages_owe(native: Native, pages: list[tuple[dict[bytes, bool], int, int, bool]]) -> None:
    """The same sums and counts, in the same order."""
    mine: tuple[dict[bytes, int], Counter[bytes]] = {}, Counter()
    twins: tuple[dict[bytes, int], Counter[bytes]] = {}, Counter()
    for links, follow, nofollow, counts in pages:
        known = {key: Link("", "", nofollow=said, key=key) for key, said in links.items()}
        native.owe(mine[0], mine[1] if counts else None, known, follow, nofollow)
        _owe_in_python(twins[0], twins[1] if counts else None, known, follow, nofollow)
    assert list(mine[0].items()) == list(twins[0].items())
    assert list(mine[1].items()) == list(twins[1].items())


@given(RANKS, st.integers(-9, LARGEST) | st.integers(0, 62).flatmap(lambda bits: st.integers(1 << bits, 2 << bits)))
def test_ranks(native: Native, rank: bytes, credit: int) -> None:
    """Of any bytes and any credit of 63 bits."""
    credit = min(credit, LARGEST)
    assert native.raised_rank(rank, credit) == _raised_in_python(rank, credit)


def test_the_classes_begin_where_the_twins_do(native: Native) -> None:
    """At each power of two, and at each power times the root of two."""
    for bits in range(1, 126):
        root = int((1 << bits) ** 0.5)
        for credit in range(max(root - 2, 0), min(root + 3, LARGEST + 1)):
            for number in (2 * credit.bit_length() - 2, 2 * credit.bit_length() - 1, 2 * credit.bit_length()):
                rank = bytes(6) + (0xFFFF - max(number, 0)).to_bytes(2, "big") + bytes(4)
                assert native.raised_rank(rank, credit) == _raised_in_python(rank, credit)


def test_what_is_no_link(native: Native) -> None:
    """Wrong input is an error in both, and never a crash."""
    with pytest.raises(AttributeError):
        native.owe({}, None, {b"": None}, 1, 1)
    with pytest.raises(TypeError):
        native.owe({}, [], {}, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        native.owe({b"": "text"}, None, {b"": Link("", "")}, 1, 1)  # type: ignore[dict-item]
    with pytest.raises(IndexError):
        native.clock_mark({b"": 8}, bytearray(8), [b""], 0)
    with pytest.raises(TypeError):
        native.clock_mark({}, bytearray(8), [[]], 0)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="12 bytes"):
        native.raised_rank(b"short", 1)
    with pytest.raises(OverflowError):
        native.raised_rank(bytes(12), 1 << 63)


def test_it_keeps_nothing(native: Native) -> None:
    """Neither memory nor references."""
    key, slots, marks, follow = bytes(16), {bytes(16): 700}, bytearray(1_000), 10**17
    known = {key: Link("", "", key=key)}
    rank = bytes(6) + b"\xff\xff" + bytes(4)

    def work() -> None:
        owed: dict[bytes, int] = {}
        counts: Counter[bytes] = Counter()
        for _ in range(3):
            native.owe(owed, counts, known, follow, follow)
            native.clock_mark(slots, marks, [key, key, b"unknown"], 0)
            native.raised_rank(rank, follow)
        with pytest.raises(AttributeError):
            native.owe(owed, counts, {key: None}, follow, follow)

    work()
    gc.collect()
    references = sys.getrefcount(key), sys.getrefcount(follow), sys.getrefcount(known[key])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2_000):
        work()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 10_000
    assert (sys.getrefcount(key), sys.getrefcount(follow), sys.getrefcount(known[key])) == references
