"""Texts that are nearly equal have SimHashes that are nearly equal: by the Python, and by the C."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from cityhash import CityHash64
from compiled_core import both_ways
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.page.markup import elements
from sitecrawl.page.simhash import MAX_DISTANCE, distance, simhash

WORDS = [f"word{n}" for n in range(5000)]

both = both_ways("sitecrawl.page.simhash.native")


def text(seed: int, length: int = 400) -> list[str]:
    return random.Random(seed).choices(WORDS, k=length)


def textbook(words: list[str]) -> int:
    """Charikar's definition: a vote of all features on every bit."""
    hashes = [CityHash64(word) for word in words]
    features = [one ^ one >> 63 ^ other << 1 & (1 << 64) - 1 for one, other in pairwise(hashes)]
    votes = [sum(1 if feature >> bit & 1 else -1 for feature in features) for bit in range(64)]
    return sum(1 << bit for bit, vote in enumerate(votes) if vote > 0)


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=60))
def test_it_is_the_textbooks(words):
    """Counted all at once, bits come out as counted one by one."""
    assert simhash(" ".join(words)) == textbook(words)


@pytest.mark.parametrize("seed", range(5))
def test_one_word_more(seed):
    """A word that is put into a page's text changes few bits."""
    words = text(seed, 1500)
    assert distance(simhash(" ".join(words)), simhash(" ".join([*words[:700], "new", *words[700:]]))) <= MAX_DISTANCE


def test_different_texts_are_far_apart():
    """Texts that share no sentence differ in about half of the bits."""
    hashes = [simhash(" ".join(text(seed))) for seed in range(40)]
    apart = [distance(one, other) for n, one in enumerate(hashes) for other in hashes[:n]]
    assert min(apart) > 10 * MAX_DISTANCE / 3
    assert 28 < sum(apart) / len(apart) < 36


def test_layout_and_case_do_not_count():
    """Only the words count, not their case nor the space between them."""
    assert simhash("One  two\n\tthree") == simhash("one two three")


@pytest.mark.parametrize("empty", ["", " \n\t"])
def test_a_text_without_words(empty):
    """A text without words has the hash 0."""
    assert simhash(empty) == 0


def test_a_single_word():
    """A text of one word is known by it."""
    assert simhash("alone") == CityHash64("alone")


def test_a_long_text_is_told_apart_by_its_beginning():
    """What stands far behind is not looked at, so a text of any length takes bounded time."""
    assert simhash(" ".join([*WORDS, "one"])) == simhash(" ".join([*WORDS, "other"]))


def test_the_text_of_a_page():
    """Markup, titles and comments are not part of the text."""
    html = b"<title>T</title><body><!-- no --><p class=x>One</p><div>two</div>"
    assert elements(html, 100).text.split() == ["One", "two"]


@given(st.binary(max_size=300))
def test_bytes_that_are_no_page(html):
    """Any bytes have a text and a hash."""
    assert 0 <= simhash(elements(html, 100).text) < 1 << 64
