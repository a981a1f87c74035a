"""Webs that are made up: a good site beside a trap, sites without one that look like traps, and a laboratory."""

from __future__ import annotations

import random
from functools import cached_property
from itertools import count
from typing import Final

from goodsite import GoodSite, chance, prose, title, word
from traps import FOLDER, FOREIGN, HOST, Trap
from webs import MISSING, Page, host_of, path_of, to

HOME: Final = "http://www.example.com"


class Beside:
    """A good site and a trap, to which some of its pages link, or all of them."""

    def __init__(self, kind: type[Trap], place: str, seed: int, pages: int = 300) -> None:
        draw = chance(seed, kind.name, place)
        self.name, self.place, self.seed = kind.name, place, f"{HOME}/"
        self.good = GoodSite(HOME, draw, pages)
        self.trap = kind(ground(place, draw), draw, self.good)
        self._doors = to(self.trap.doors())
        everywhere = place != FOREIGN and draw.random() < 0.5
        some = {f"{HOME}/", *draw.sample(self.good.articles, draw.randint(1, 5))}
        self._linking = set(self.good.pages) if everywhere else some

    def contents(self) -> int:
        return len(self.good.contents | self.trap.contents)

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        page = self.good.pages.get(url)
        if page is None:
            return self.trap.page(url) if self.trap.owns(url) else MISSING
        return page._replace(links=[*page.links, *self._doors]) if url in self._linking else page


def ground(place: str, draw: random.Random) -> str:
    if place == FOLDER:
        return f"{HOME}/{word(draw)}{draw.choice(['', '/' + word(draw)])}"
    return f"http://{word(draw)}.example.{'com' if place == HOST else 'net'}"


class NoIndex:
    """Pages that are not to be indexed, and are all that there is."""

    name, place, seed = "noindex", "", f"{HOME}/"
    _body = ""

    def __init__(self, pages: int) -> None:
        self._pages = pages

    def contents(self) -> int:
        return self._pages

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        """`/` and `/list/n` list forty pages each, `/page/n` are these."""
        path = path_of(url)
        number = int(path.rpartition("/")[2] or 0)
        if path.startswith("/page/"):
            return self.leaf(url, number)
        shown = [f"{HOME}/page/{n}" for n in range(number * 40, min(number * 40 + 40, self._pages))]
        more = [f"{HOME}/list/{number + 1}"] if (number + 1) * 40 < self._pages else []
        return Page(f"List {number}", prose(chance("list", number)), to([*shown, *more]))

    def leaf(self, url: str, number: int) -> Page:
        draw = chance("leaf", number)
        return Page(title(draw), prose(draw), to([f"{HOME}/"]), noindex=True, content=url)


class OneBody(NoIndex):
    """An application that builds its pages in the browser: each comes with the same bytes."""

    name = "one body"

    def leaf(self, url: str, number: int) -> Page:
        return Page("Application", "Please switch JavaScript on", to([f"{HOME}/"]), content=url)


class Lab:
    """Good hosts, each with a calendar, every page of which is there again under `?sid=` and a new number."""

    name, place = "lab", ""

    def __init__(self, seed: int, hosts: int, pages: int) -> None:
        self._seed, self._hosts, self._pages = seed, hosts, pages
        self._visits = count(10_000)
        self.seed = f"{self._root(0)}/page/0"

    @cached_property
    def _names(self) -> list[str]:
        draw = chance("lab", self._seed)
        return [f"www.{word(draw)}{word(draw)}{n}.org" for n in range(self._hosts)]

    def _root(self, host: int) -> str:
        return f"http://{self._names[host]}"

    def contents(self) -> int:
        return self._hosts * self._pages

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        root, path = f"http://{host_of(url)}", path_of(url)
        kind, *numbers = path.partition("?")[0].strip("/").split("/")
        if kind == "calendar":
            return self._calendar(root, *map(int, numbers))
        return self._article(root, int(numbers[0]), copy="?" in path)

    def _calendar(self, root: str, months: int) -> Page:
        near = [f"{root}/page/0", *(f"{root}/calendar/{months + way}" for way in (-1, 1))]
        return Page("Calendar", f"{prose(chance(root))} {months}", to(near), trap=True)

    def _article(self, root: str, number: int, *, copy: bool) -> Page:
        draw, host = chance(self._seed, root, number), self._names.index(host_of(root))
        itself = f"{root}/page/{number}"
        near = {number + 1, 2 * number + 1, draw.randrange(self._pages)}
        links = [f"{root}/page/{n}" for n in sorted(near) if n < self._pages]
        links += [
            f"{self._root(draw.randrange(self._hosts))}/page/0",
            f"{self._root((host + 1) % self._hosts)}/page/0",
        ]
        marked = [f"{link}?sid={next(self._visits)}" for link in [*links, itself]]
        links = [*marked, f"{root}/calendar/24300"] if copy else [*links, *marked, f"{root}/calendar/24300"]
        return Page(title(draw), prose(draw), to(links), content=itself, identity=itself)
