"""The tables of what was shown in C are those of their twin, whatever they hold and are asked for."""

from __future__ import annotations

import struct

import pytest
from compiled_core import in_c
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.page.shown_text import _BUCKET_BYTES, _compare_in_python, _Compared, _fill_in_python, _vote_in_python

RUNS = st.integers(0, (1 << 32) - 1) | st.sampled_from([0, 1, 7, 8, (1 << 32) - 1])
UNITS = st.lists(st.tuples(RUNS, RUNS), max_size=40).map(
    lambda units: b"".join(struct.pack("<II", *one) for one in units)
)


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


@given(st.lists(UNITS, max_size=4), UNITS, st.tuples(st.integers(0, 7), st.integers(-1, 3), st.integers(0, 3)))
def test_any_tables(native: Native, pages: list[bytes], asked: bytes, numbers: tuple[int, int, int]) -> None:
    """After the same pages both have the same bytes, and say the same of another page."""
    level, half, buckets = numbers
    layers = [[bytearray(40), bytearray(96)] for _ in range(2)]
    votes = [bytearray(buckets * _BUCKET_BYTES) for _ in range(2)]
    for number, units in enumerate(pages):
        _fill_in_python(layers[0][number % 2], units)
        native.shown_fill(layers[1][number % 2], units)
        _vote_in_python(votes[0], units)
        native.shown_vote(votes[1], units)
    assert layers[0] == layers[1]
    assert votes[0] == votes[1]
    for units in (asked, *pages):
        found = native.shown_compare(b"\0" + units, level, layers[1], votes[1], half)
        assert _compare_in_python(b"\0" + units, level, layers[0], votes[0], half) == _Compared(*found)


def test_what_is_voted_for_most_keeps_its_place(native: Native) -> None:
    """In a full bucket a run that each page has is not displaced by such as come and go."""
    votes = bytearray(_BUCKET_BYTES)
    for page in range(200):
        native.shown_vote(votes, struct.pack("<5I", 7, *(4 * page + other + 100 for other in range(4))))
    found = dict(struct.iter_unpack("<IB", votes))
    assert found[7] > 150


@pytest.mark.parametrize(
    "arguments",
    [
        (b"\0", 0, [bytearray()], bytearray(), 0),
        (b"\0", 0, [b"bytes"], bytearray(), 0),
        (b"\0", 0, [bytearray(8)] * 33, bytearray(), 0),
        (b"\0", 0, [], b"bytes", 0),
        (bytes(2 + 8 * 512), 0, [], bytearray(), 0),
        ("text", 0, [], bytearray(), 0),
    ],
)
def test_what_is_no_table(native: Native, arguments: tuple[object, ...]) -> None:
    """Other types and sizes are refused, and nothing is read or written beyond them."""
    with pytest.raises((TypeError, ValueError)):
        native.shown_compare(*arguments)  # type: ignore[arg-type]


def test_half_a_unit(native: Native) -> None:
    """What is too short for a run or a unit is not looked at."""
    layer = bytearray(8)
    native.shown_fill(layer, b"abc")
    assert layer == bytes(8)
    assert native.shown_compare(b"\0abcdefg", 0, [layer], bytearray(), 0)[:3] == (0, 0, 0)
