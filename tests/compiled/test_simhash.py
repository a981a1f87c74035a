"""The SimHash in C is that of its twin, whatever the text. What a SimHash has to be is in tests/page/test_simhash.py,
which runs over both.
"""

from __future__ import annotations

import random
import sys
import tracemalloc

import pytest
from compiled_core import in_c, with_any_character
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.page.simhash import _MAX_WORDS, _simhash_in_python

SPACES = [chr(code) for code in range(0x10000) if chr(code).isspace()]  # beyond there is none


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


def simhash(native: Native, text: str) -> int | None:
    """As `sitecrawl.page.simhash` asks."""
    return native.simhash(text if text.isascii() else text.lower())


@given(st.text())
def test_any_text(native: Native, text: str) -> None:
    """Letters of all scripts, controls and NULs among them."""
    assert simhash(native, text) == _simhash_in_python(text)


@pytest.mark.parametrize("place", range(18))
def test_any_character_at_any_place(native: Native, place: int) -> None:
    """Whether that is plain, ends a word, or is of another script."""
    for text in with_any_character(place):
        assert simhash(native, text) == _simhash_in_python(text), ascii(text)


@given(st.lists(st.text("aZ09é中İΣ\0", max_size=70) | st.sampled_from(SPACES), max_size=60).map("".join))
def test_words_between_spaces_of_all_kinds(native: Native, text: str) -> None:
    """Both split at the same characters, and hash words of all lengths alike."""
    assert simhash(native, text) == _simhash_in_python(text)


def test_every_character_ends_a_word_or_does_not() -> None:
    """The C knows the white space of this Python: all of it, and nothing else."""
    native = in_c()
    planes = [range(start, start + 0x1000) for start in range(0, 0x11000, 0x1000)]
    for plane in planes:
        text = "".join(f"a{chr(code)}b" for code in plane if not 0xD800 <= code < 0xE000)
        for start in range(0, len(text), 3 * _MAX_WORDS // 2):  # at most so many words are looked at
            part = text[start : start + 3 * _MAX_WORDS // 2]
            assert simhash(native, part) == _simhash_in_python(part), f"at {ord(part[1]):x}"


def test_a_word_of_any_length(native: Native) -> None:
    """CityHash64 goes by the length of what it hashes: all its ways are those of the package `cityhash`."""
    for length in (*range(70), 127, 128, 129, 191, 192, 193, 1000, 100_000):
        for seed in range(5):
            word = "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789-", k=length))
            assert simhash(native, word) == _simhash_in_python(word), (length, seed)


@pytest.mark.parametrize("kinds", [1, 3, 5000])
def test_any_number_of_words(native: Native, kinds: int) -> None:
    """As many of them as are looked at, one fewer and one more; all alike, which makes the greatest counts."""
    for words in (0, 1, 2, 3, 4, 63, 64, 65, 1022, 1023, 1024, 1025, 5000):
        text = " ".join(f"w{n % kinds}" for n in range(words))
        assert simhash(native, text) == _simhash_in_python(text), words


def test_an_enormous_text(native: Native) -> None:
    """Only its beginning is looked at, whether it has any words or one."""
    for text in ("word " * 2_000_000, " " * 10_000_000, "x" * 10_000_000):
        assert simhash(native, text) == _simhash_in_python(text)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("other", ["\ud800", "a \udfff b", b"bytes", None, Text("text")])
def test_what_it_does_not_know(native: Native, other: object) -> None:
    """Half a surrogate has no UTF-8: the twin is asked, which may raise, and nothing is left of the error here."""
    assert native.simhash(other) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["One two three " * 500, "zwölf Boxkämpfer " * 500, "\ud800" * 500])
def test_nothing_is_kept(native: Native, text: str) -> None:
    """No memory after a thousand calls more than after the first, and no reference to the text."""
    text = text.lower()
    native.simhash(text)
    references = sys.getrefcount(text)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            native.simhash(text)
        assert (
            tracemalloc.get_traced_memory()[0] - before < 8000
        )  # a few objects of whatever else runs, not a thousand
    finally:
        tracemalloc.stop()
    assert sys.getrefcount(text) == references
