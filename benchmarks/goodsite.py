"""A good site that is drawn from a chance: its addresses, texts, titles and how its pages are listed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from webs import Page, to

_HEADS: Final = ("b", "br", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "v", "w")
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ou", "ee")
_TAILS: Final = ("b", "ck", "d", "l", "lm", "mber", "n", "nd", "nt", "r", "rk", "s", "st", "t", "ton", "x")
_LEXICON: Final = [head + vowel + tail for tail in _TAILS for vowel in _VOWELS for head in _HEADS]
_WEIGHTS: Final = list(accumulate(1 / (rank + 5) for rank in range(len(_LEXICON))))
"""Cumulated. Some words are in every text, as in any language."""


def chance(*key: object) -> random.Random:
    """Draws the same for the same key, always."""
    return random.Random(repr(key))


def prose(draw: random.Random, least: int = 60, most: int = 250) -> str:
    return " ".join(draw.choices(_LEXICON, cum_weights=_WEIGHTS, k=draw.randint(least, most)))


def word(draw: random.Random) -> str:
    return draw.choice(_LEXICON)


def slug(draw: random.Random, words: int = 3) -> str:
    return "-".join(draw.choices(_LEXICON, k=words))


def title(draw: random.Random) -> str:
    return " ".join(draw.choices(_LEXICON, k=draw.randint(2, 5))).capitalize()


class GoodSite:
    """A front page; articles that a paged index lists; a chain of stories, each of which names the next; and articles
    that only index pages with `noindex` list. Its contents are articles and stories.
    """

    def __init__(self, root: str, draw: random.Random, pages: int = 300) -> None:
        self.root = root
        self._draw = draw
        names = iter(dict.fromkeys(word(draw) for _ in range(100)))
        self._template = prose(draw, 10, 40)
        stories, tagged = pages // 3, pages // 7
        self.articles = self._urls(next(names), pages - stories - tagged)
        self._stories = self._urls(next(names), stories)
        self._tagged = self._urls(next(names), tagged)
        self.pages: dict[str, Page] = {}
        index, tags = self._index(next(names)), self._tags(next(names))
        self._menu = to([f"{root}/", index, self._stories[0], *tags[:3]])
        self._write()

    @property
    def contents(self) -> set[str]:
        return {*self.articles, *self._stories, *self._tagged}

    def _urls(self, name: str, number: int) -> list[str]:
        draw, root = self._draw, self.root
        styles: list[Callable[[int], str]] = [
            lambda n: f"{root}/{name}/{n}-{slug(draw)}",
            lambda n: f"{root}/{name}/{slug(draw)}-{word(draw)}-{n}/",
            lambda n: f"{root}/{name}/{2010 + n % 14}/{1 + n % 12}/{slug(draw)}-{n}",
            lambda n: f"{root}/{name}.php?id={n}",
            lambda n: f"{root}/{name}-{slug(draw)}-{n}.html",
            lambda n: f"{root}/{name}/{n}",
        ]
        style = draw.choice(styles)
        return [style(n + 1) for n in range(number)]

    def _index(self, name: str) -> str:
        """The pages of the list of articles; returns the first."""
        style = self._draw.choice(["{}/{}?page={}", "{}/{}/page/{}", "{}/{}-{}.html", "{}/{}.php?start={}0"])
        on_page = self._draw.randint(10, 20)
        urls = [style.format(self.root, name, n + 1) for n in range(-(-len(self.articles) // on_page))]
        for n, url in enumerate(urls):
            shown = self.articles[n * on_page : (n + 1) * on_page]
            self.pages[url] = Page("Archive", self._text(), to([*shown, *urls[max(0, n - 1) : n + 2]]))
        return urls[0]

    def _tags(self, name: str) -> list[str]:
        """Index pages that are not to be indexed themselves, and name one another."""
        urls = [f"{self.root}/{name}/{slug(self._draw, 2)}" for _ in range(-(-len(self._tagged) // 5))]
        for n, url in enumerate(urls):
            shown = self._tagged[n * 5 : n * 5 + 5]
            links = to([*shown, *urls[n + 1 : n + 3]])
            self.pages[url] = Page(f"Tag {n}", self._text(), links, noindex=True)
        return urls

    def _text(self) -> str:
        return f"{self._template} {prose(self._draw)}"

    def _write(self) -> None:
        """The pages that are read, and the front page; then everything gets the menu."""
        for article in self.articles:
            self._article(article, self._draw.sample(self.articles, min(3, len(self.articles))))
        for n, story in enumerate(self._stories):
            self._article(story, self._stories[n + 1 : n + 2])
        for article in self._tagged:
            self._article(article, [])
        self.pages[f"{self.root}/"] = Page(title(self._draw), self._text(), to(self.articles[:5]))
        for url, page in self.pages.items():
            self.pages[url] = page._replace(links=[*self._menu, *page.links])

    def _article(self, url: str, near: Sequence[str]) -> None:
        self.pages[url] = Page(title(self._draw), self._text(), to(near), content=url)
