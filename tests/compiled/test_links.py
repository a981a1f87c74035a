"""What the C does for each link of a page is what its twins do. What that has to be is in tests/seen/test_clock.py
and tests/frontier/test_link_credit.py, which run over both.
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
from sitecrawl.page.items import Link

KEYS = st.sampled_from([bytes([letter]) * 16 for letter in b"abcdefgh"])
AMOUNTS = st.sampled_from([0, 1, 10**17, (1 << 63) - 1, 1 << 64, -5])


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


def test_it_keeps_nothing(native: Native) -> None:
    """Neither memory nor references."""
    key, slots, marks, follow = bytes(16), {bytes(16): 700}, bytearray(1_000), 10**17
    known = {key: Link("", "", key=key)}

    def work() -> None:
        owed: dict[bytes, int] = {}
        counts: Counter[bytes] = Counter()
        for _ in range(3):
            native.owe(owed, counts, known, follow, follow)
            native.clock_mark(slots, marks, [key, key, b"unknown"], 0)
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
