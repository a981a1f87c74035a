"""What is new on a page: in made-up sites whose text is known word by word, with the tables in C and in Python."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import date, timedelta
from statistics import mean

import pytest
from compiled_core import both_ways

from sitecrawl.page.shingles import _MOST, LEVELS, SCALE, shingles
from sitecrawl.page.shown_text import (
    _FULL_LAYERS,
    _LARGEST,
    _MAX_ENTRIES,
    _VOTE_BYTES,
    _WORD_BYTES,
    ShownText,
    _Novelty,
)

VOCABULARY = [
    f"{a}{b}{c}" for a in "bcdfghjklmnprstvw" for b in "aeiou" for c in ("lor", "nit", "p", "ss", "ra", "x")
]
ZIPF = [1 / (rank + 9) for rank in range(len(VOCABULARY))]

way = both_ways("sitecrawl.page.shown_text.native")


class Site:
    """A host that shows texts, and words that occur as often as words do."""

    def __init__(self) -> None:
        self.random = random.Random(0)
        self.shown = ShownText()

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(VOCABULARY, ZIPF, k=count))

    def show(self, *texts: str) -> _Novelty:
        return self.shown.look(shingles(" ".join(texts)))


def share(found: Iterable[_Novelty]) -> float:
    return mean(one.share for one in found)


@pytest.mark.parametrize("words", [300, 1100, 3000])
def test_products_behind_a_menu(words: int) -> None:
    """Each of many products counts as new, however long the menu that stands before it."""
    site = Site()
    menu = site.words(words)
    found = [site.show(menu, site.words(60), f"product {number}") for number in range(200)][4:]
    assert share(found) > 0.7
    assert min(one.share for one in found) > 0.2
    assert mean(one.new for one in found) == pytest.approx(62, rel=0.3)


def test_a_menu_that_changes() -> None:
    """A new menu takes itself off, too."""
    site = Site()
    for _ in range(2):
        menu = site.words(1100)
        found = [site.show(menu, site.words(60)) for _ in range(100)]
    assert share(found[-20:]) > 0.7


def test_the_same_in_another_form() -> None:
    """A print view, a reply form with a quotation and a page's source bring little beside the article."""
    site = Site()
    menu = site.words(200)
    articles, prints, replies, sources = [], [], [], []
    for _ in range(100):
        sentences = [site.words(12) for _ in range(10)]
        marked = [f"[[{one}|{one}]]" if at % 9 == 0 else one for at, one in enumerate(" ".join(sentences).split())]
        articles.append(site.show(menu, ". ".join(sentences), "Reply Like Share " * 40))
        prints.append(site.show(*sentences))
        replies.append(site.show(menu, "Reply to this post:", f"> {sentences[0].upper()}", "Your name. Send"))
        sources.append(site.show(menu, "Edit", *marked, "Save page"))
    assert share(articles[4:]) > 0.7
    assert share(prints) < 0.02
    assert share(replies[4:]) < 0.05
    assert share(sources[4:]) < 0.25


@pytest.mark.parametrize("name", [2, 3, 6])
def test_lists_of_what_was_shown(name: int) -> None:
    """A facet's list says what the products' pages say, in another order, and so nothing new."""
    site = Site()
    menu = site.words(150)
    entries = [f"{site.words(name)} {number}.{number % 97} EUR add to cart" for number in range(100)]
    for entry in entries:
        site.show(menu, entry, site.words(80))
    lists = [site.show(menu, "filter by colour and size", *site.random.sample(entries, 24)) for _ in range(50)]
    assert share(lists[2:]) < 0.01


def test_empty_days() -> None:
    """The empty days of a calendar bring little, also where they are all that there is."""
    site = Site()
    menu, start = site.words(100), date(2026, 1, 1)
    days = []
    for number in range(400):
        day, before = start + timedelta(number), start + timedelta(number - 1)
        head = f"{day:%A %d %B %Y} previous day {before:%d %B} no events on this day"
        days.append(site.show(menu, head, *map(str, range(1, 32)), "add an event"))
    assert share(days[20:]) < 0.05
    assert mean(one.new for one in days[20:]) < 2


def samples(count: int) -> Iterator[bytes]:
    """Those of so many pages of 4,096 words that have no run in common."""
    source = random.Random(0)
    for _ in range(count):
        units = [source.getrandbits(64) for _ in range(_MOST)]
        levels = [min((one & -one).bit_length() - 1, LEVELS - 1) for one in range(1, _MOST + 1)]
        yield b"\0" + struct.pack(
            f"<{_MOST}Q", *((u & ~(7 << 32)) | n << 32 for u, n in zip(units, levels, strict=True))
        )


@pytest.fixture(scope="module")
def much(way: None) -> tuple[list[_Novelty], ShownText]:
    """What a host's first 100 such pages brought, and what it has shown then."""
    shown = ShownText()
    return [shown.look(sample) for sample in samples(100)], shown


def test_nothing_is_forgotten(much: tuple[list[_Novelty], ShownText]) -> None:
    """Of more text than the layers of one level hold, old pages bring nothing new, and new ones what they have."""
    found, shown = much
    shown = deepcopy(shown)
    assert shown.level == 1
    assert min(one.share for one in found) > 0.9
    assert sum(one.new for one in found) == pytest.approx(100 * SCALE * _MOST, rel=0.1)
    assert share(shown.look(sample) for sample in samples(20)) < 0.01


def test_what_it_takes(much: tuple[list[_Novelty], ShownText]) -> None:
    """A host of one page takes less than a kilobyte, and one of 400,000 words a quarter of a megabyte."""
    site = Site()
    site.show(site.words(500))
    assert site.shown.size < 700
    assert much[1].size < 250_000


def test_layers_grow_up_to_the_largest(much: tuple[list[_Novelty], ShownText]) -> None:
    """The first layers grow, and those that have a level of their own have all one size."""
    sizes = [len(layer) for layer in much[1]._layers]
    assert sizes[: _FULL_LAYERS - 1] == sorted(set(sizes[: _FULL_LAYERS - 1]))
    assert sizes[_FULL_LAYERS - 1 :] == [_WORD_BYTES * _LARGEST] * 2


def test_the_votes_are_bounded() -> None:
    """No host has more votes than `_MAX_ENTRIES`, whatever it shows again."""
    site = Site()
    pages = [site.words(4000) for _ in range(10)]
    for page in pages * 3:
        site.show(page)
    assert len(site.shown._votes) <= _MAX_ENTRIES * _VOTE_BYTES


def test_no_text() -> None:
    """A page without text brings nothing, and says nothing of what is common."""
    site = Site()
    assert site.show("") == _Novelty(0.0, 0)
    assert site.shown.size == 0
