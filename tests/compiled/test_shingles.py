"""The sample of shingles in C is that of its twin, whatever the text. What a sample has to be is in
tests/page/test_shingles.py, which runs over both.
"""

from __future__ import annotations

import random
import sys

import pytest
from compiled_core import in_c, with_any_character
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.page.shingles import _shingles_in_python

LETTERS = "aZ09_éİΣßก中ကក\u00a0\u2014\u10a0\u0dff\u0e00\u0eff\u0f00\u1080\u177f\u1800\u2bff\u2c00\u3000\uac00😀\0"


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


def shingles(native: Native, text: str) -> bytes | None:
    """As `sitecrawl.page.shingles` asks."""
    return native.shingles(text if text.isascii() else text.lower())


@given(st.text())
def test_any_text(native: Native, text: str) -> None:
    """Letters of all scripts, controls and NULs among them."""
    assert shingles(native, text) == _shingles_in_python(text)


@pytest.mark.parametrize("place", range(18))
def test_any_character_at_any_place(native: Native, place: int) -> None:
    """Whether that is plain, ends a word, or is of another script."""
    for text in with_any_character(place):
        assert shingles(native, text) == _shingles_in_python(text), ascii(text)


@given(st.lists(st.text(LETTERS, max_size=9) | st.integers().map(str), max_size=200).map(" ".join))
def test_words_of_all_kinds(native: Native, text: str) -> None:
    """Both part words at the same characters."""
    assert shingles(native, text) == _shingles_in_python(text)


@pytest.mark.deep
def test_every_character(native: Native) -> None:
    """Whether a character is a letter, a word or neither is the same for both, for each one there is."""
    for start in range(0, sys.maxunicode + 1, 0x400):
        codes = [code for code in range(start, start + 0x400) if not 0xD800 <= code < 0xE000]
        text = " ".join(f"{code % 40}{chr(code)}b" for code in codes)
        assert shingles(native, text) == _shingles_in_python(text), f"from {start:x} on"


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4, 5, 100, 4000, 5000, 100_000])
@pytest.mark.parametrize("kinds", [1, 8, 100_000])
def test_any_number_of_words(native: Native, words: int, kinds: int) -> None:
    """Texts with fewer words than a run, and with more than a sample has room for."""
    source = random.Random(words)
    text = " ".join(f"w{source.randrange(kinds)}" for _ in range(words))
    assert shingles(native, text) == _shingles_in_python(text)


@pytest.mark.parametrize("other", ["\ud800", b"bytes", None])
def test_what_it_does_not_know(native: Native, other: object) -> None:
    """Half a surrogate has no UTF-8: the twin is asked."""
    assert native.shingles(other) is None  # type: ignore[arg-type]


def test_nothing_is_kept(native: Native) -> None:
    """No reference to the text is kept."""
    text = "one two three " * 500
    references = sys.getrefcount(text)
    for _ in range(100):
        native.shingles(text)
    assert sys.getrefcount(text) == references
