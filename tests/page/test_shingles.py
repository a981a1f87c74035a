"""What two texts have in common, their samples have in common: by the Python, and by the C."""

from __future__ import annotations

import random

import pytest
from compiled_core import both_ways

from sitecrawl.page.shingles import _MOST, LEVELS, MAX_BYTES, SCALE, UNIT_BYTES, is_sample, shingles

both = both_ways("sitecrawl.page.shingles.native")


def words(count: int, seed: int = 0) -> list[str]:
    source = random.Random(seed)
    return [f"word{source.randrange(1_000_000)}" for _ in range(count)]


def units(sample: bytes) -> list[bytes]:
    return [sample[at : at + UNIT_BYTES] for at in range(1, len(sample), UNIT_BYTES)]


def test_one_word_in_so_many() -> None:
    """A word in `SCALE` is sampled, wherever it stands."""
    assert len(units(shingles(" ".join(words(4000))))) == pytest.approx(4000 / SCALE, rel=0.15)


@pytest.mark.parametrize("count", [10_000, 200_000])
def test_a_long_text(count: int) -> None:
    """Of a long text a part of the words that a short one would have, from its beginning to its end."""
    text = words(count)
    sample = shingles(" ".join(text))
    assert _MOST / 4 < len(units(sample)) <= _MOST
    assert len(sample) <= MAX_BYTES
    end = shingles(" ".join(text[-count // 3 :]))
    assert set(units(sample)) & set(units(end))


def test_a_word_that_changes() -> None:
    """A word that is put into a text changes the runs next to it, and no others."""
    text = words(2000)
    before, after = (units(shingles(" ".join(one))) for one in (text, [*text[:1000], "new", *text[1000:]]))
    assert len(set(before) ^ set(after)) < 10


def test_what_stands_there_often_counts_once() -> None:
    """A phrase that is said forty times is sampled as one that is said twice."""
    assert shingles("reply like share report " * 40) == shingles("reply like share report " * 4)


def test_marks_and_case_do_not_count() -> None:
    """Punctuation, markup and case make no other words."""
    text = words(400)
    marked = " ".join(f"[[{word.upper()}|" if at % 3 else f"“{word}”…" for at, word in enumerate(text))
    assert shingles(marked) == shingles(" ".join(text))


def test_scripts_without_spaces() -> None:
    """Of a text without spaces each letter is a word, so two that differ in one have most runs in common."""
    source = random.Random(0)
    text = "".join(chr(source.randrange(0x4E00, 0x9FA5)) for _ in range(800))
    one, other = (set(units(shingles(some))) for some in (text, text[:400] + "新" + text[401:]))
    assert len(one) > 60
    assert len(one ^ other) < 12


@pytest.mark.parametrize("text", ["", " \n", "…—!"])
def test_no_words(text: str) -> None:
    """A text without words has an empty sample, which is one."""
    assert shingles(text) == b"\0"
    assert is_sample(b"\0")


def test_what_is_a_sample() -> None:
    """What `shingles` gives is one, and what has another length or level is none."""
    sample = shingles(" ".join(words(20_000)))
    assert sample[0] > 0
    assert is_sample(sample)
    for other in (b"", sample[:-1], bytes([LEVELS]), sample + bytes(UNIT_BYTES), b"\0" + bytes(MAX_BYTES)):
        assert not is_sample(other)
