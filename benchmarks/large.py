"""Large sites of one shape of URLs, alone and beside a small good site: each grows as a maze does, and has an end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from goodsite import GoodSite, chance, prose, slug, title
from madeup import HOME, ground
from traps import PLACES
from webs import MISSING, Page, to

ALONE: Final = ""
_LINKS: Final = 25
_SHOWN: Final = 3
"""Items of a list: so few that there are more lists than a section may bring forth."""

Linking = Callable[[int, int, random.Random], Iterable[int]]
"""Which pages a page links to: its number, how many there are, its chance."""


def _by_rank(number: int, pages: int, draw: random.Random) -> Iterable[int]:
    return (int(pages * draw.random() ** 2) for _ in range(_LINKS))


def _at_random(number: int, pages: int, draw: random.Random) -> Iterable[int]:
    return (draw.randrange(pages) for _ in range(_LINKS))


def _tree(number: int, pages: int, draw: random.Random) -> Iterable[int]:
    return range(4 * number + 1, min(4 * number + 5, pages))


def _chain(number: int, pages: int, draw: random.Random) -> Iterable[int]:
    return (n for n in (number - 1, number + 1) if 0 <= n < pages)


class LargeSite:
    """A front page that links to the first pages of many, and these to one another."""

    def __init__(self, root: str, seed: int, pages: int, linking: Linking) -> None:
        self.root = root
        self.pages = pages
        self._seed = seed
        self._linking = linking
        self._address = lru_cache(maxsize=None)(self._named)

    @property
    def contents(self) -> int:
        return self.pages

    def owns(self, url: str) -> bool:
        return url.startswith(f"{self.root}/")

    def page(self, url: str) -> Page:
        if url == f"{self.root}/":
            return self.front()
        number = int(url.rpartition("-")[2])
        draw = self.chance(number)
        near = [self._address(n) for n in self._linking(number, self.pages, draw)]
        return Page(title(draw), prose(draw), to([f"{self.root}/", *near]), content=url)

    def front(self) -> Page:
        return Page("Front page", prose(self.chance("front")), to(map(self._address, range(min(30, self.pages)))))

    def chance(self, key: object) -> random.Random:
        return chance(self._seed, key)

    def _named(self, number: int) -> str:
        return f"{self.root}/read/{slug(self.chance(f'name {number}'), 2)}-{number}"


class Lists(LargeSite):
    """Pages that only lists lead to, a few to a list, each list to the next; lists are no content."""

    def page(self, url: str) -> Page:
        if not url.startswith(f"{self.root}/list-"):
            return super().page(url)
        number = int(url.rpartition("-")[2])
        shown = range(number * _SHOWN, min((number + 1) * _SHOWN, self.pages))
        more = [self._list(number + 1)] if shown.stop < self.pages else []
        links = to([*map(self._address, shown), *more])
        return Page(f"List {number}", prose(self.chance(f"list {number}")), links)

    def front(self) -> Page:
        return super().front()._replace(links=to([self._list(0)]))

    def _list(self, number: int) -> str:
        return f"{self.root}/list-{number}"


_KINDS: Final[Mapping[str, tuple[type[LargeSite], int, Linking]]] = {
    "links by rank": (LargeSite, 8_000, _by_rank),
    "links at random": (LargeSite, 8_000, _at_random),
    "tree": (LargeSite, 6_000, _tree),
    "chain": (LargeSite, 2_000, _chain),
    "lists": (Lists, 9_000, lambda number, pages, draw: ()),
}
NAMES: Final = tuple(_KINDS)
WHERE: Final = (ALONE, *PLACES)


class Large:
    """A large site, `ALONE` or in one of `PLACES` beside a good one, a third of whose pages link to it."""

    def __init__(self, kind: str, place: str, seed: int, size: float = 1.0) -> None:
        self.name, self.place, self.seed = kind, place, f"{HOME}/"
        site, pages, linking = _KINDS[kind]
        draw = chance(seed, kind, place)
        self.large = site(ground(place, draw) if place else HOME, seed, int(pages * size), linking)
        self._door = to([f"{self.large.root}/"])
        good = GoodSite(HOME, draw, int(300 * size)) if place else None
        self._good_pages = good.pages if good else {}
        self._contents = self.large.contents + (len(good.contents) if good else 0)
        self._linking = {self.seed, *(url for url in self._good_pages if draw.random() < 1 / 3)}

    def contents(self) -> int:
        return self._contents

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        page = self._good_pages.get(url)
        if page is None:
            return self.large.page(url) if self.large.owns(url) else MISSING
        return page._replace(links=[*page.links, *self._door]) if url in self._linking else page
