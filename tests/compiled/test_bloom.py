"""The bits that the C sets and looks at are those of pybloom-live. What a filter has to be is in
tests/seen/test_bloom.py.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from compiled_core import in_c
from hypothesis import given
from hypothesis import strategies as st
from pybloom_live import BloomFilter

from sitecrawl.base.compiled import Native
from sitecrawl.frontier.seen.bloom import Layer

KEYS = st.lists(st.binary(min_size=16, max_size=16), max_size=20)
SHAPES = [(1, 0.5), (20, 0.1), (40, 0.001), (10_000, 0.01), (10_000, 0.0001), (10_000, 1e-12)]
"""Capacities and error rates by which numbers of 2 and 4 bytes come from each of the library's hash functions."""


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


@pytest.mark.parametrize("shape", SHAPES)
@given(added=KEYS, asked=KEYS)
@pytest.mark.usefixtures("native")
def test_bits(shape: tuple[int, float], added: list[bytes], asked: list[bytes]) -> None:
    """The same bits are set, and the same keys found."""
    twin, layer = BloomFilter(shape[0], shape[1]), Layer(BloomFilter(shape[0], shape[1]))
    twin.capacity = layer.filter.capacity = 1_000  # it refuses more than it was made for
    for key in added:
        layer.add(hexlify(key))
        twin.add(key.hex(), skip_check=True)
    assert layer.filter.bitarray == twin.bitarray
    assert layer.filter.count == twin.count
    assert [hexlify(key) in layer for key in added + asked] == [key.hex() in twin for key in added + asked]


def test_numbers_of_eight_bytes(native: Native) -> None:
    """They are for slices of 2^31 bits and more."""
    bits = bytearray(3)
    native.bloom_add(bits, (21).to_bytes(8, "little") + (9).to_bytes(8, "little"), 8, 2, 10)
    assert bits == bytearray([0b10, 0, 0b1000])
    assert native.bloom_has(bits, (1).to_bytes(8, "little") + (19).to_bytes(8, "little"), 8, 2, 10)
    assert not native.bloom_has(bits, bytes(16), 8, 2, 10)


@pytest.mark.parametrize(
    ("size", "slices", "slice_bits"), [(3, 1, 8), (4, 3, 1), (4, -1, 8), (4, 2, 13), (4, 1, 0), (4, 2, 1 << 62)]
)
def test_what_is_no_layer(native: Native, size: int, slices: int, slice_bits: int) -> None:
    """Nothing is read or written beyond the bits or the hash."""
    with pytest.raises(ValueError, match="no such layer"):
        native.bloom_add(bytearray(3), bytes(8), size, slices, slice_bits)
    with pytest.raises(TypeError):
        native.bloom_has(b"read-only", bytes(8), 4, 1, 8)


@pytest.mark.parametrize("other", [lambda hashes: lambda key: (number for number in hashes(key)), partial])
@pytest.mark.usefixtures("native")
def test_a_library_that_hashes_in_another_way(other: Callable[..., Any]) -> None:
    """Its own functions are asked then."""
    made = BloomFilter(100, 0.01)
    made.make_hashes = other(made.make_hashes)
    layer = Layer(made)
    layer.add(hexlify(b"one"))
    assert hexlify(b"one") in layer
    assert hexlify(b"two") not in layer
    assert made.count == 1
