"""Traps by construction. `KINDS` are all of them.

What is left open of one, such as how many links a page has and what its URLs look like, is drawn from a chance, so
that nothing can be fitted to one shape of it. A trap stands on a *ground*: a folder of the seed's host, another host
of its domain, or a foreign domain.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import ClassVar, Final

from goodsite import GoodSite, chance, prose, slug, title, word
from webs import MISSING, Anchor, Page, host_of, to

FOLDER, HOST, FOREIGN = PLACES = ("folder", "host", "foreign")


class Trap:
    """What stands on the ground at `root`. Its pages are the same at every visit where nothing else is said."""

    name: ClassVar[str] = ""
    places: ClassVar[Sequence[str]] = PLACES
    contents: frozenset[str] = frozenset()
    """What it has of its own that is worth having."""

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        self.root = root
        self.good = good
        self.fan = draw.randint(8, 20)
        """Links of a page."""
        self._salt = draw.getrandbits(64)
        self.visits = count()

    def owns(self, url: str) -> bool:
        return url == self.root or url.startswith((f"{self.root}/", f"{self.root}?"))

    def doors(self) -> list[str]:
        """What good pages link to."""
        return [f"{self.root}/"]

    def page(self, url: str) -> Page:
        draw = self.of(url)
        return Page(title(draw), prose(draw), to(self.links(url, draw)), trap=True)

    def links(self, url: str, draw: random.Random) -> list[str]:
        raise NotImplementedError

    def of(self, *key: object) -> random.Random:
        return chance(self._salt, *key)

    def path(self, url: str) -> str:
        return url[len(self.root) :] or "/"


class Maze(Trap):
    """Random words, as of the program Pyison: every page links to new ones in its folder."""

    name = "maze"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._depth = draw.randint(1, 4)
        self._ending = draw.choice(["", "", "/", ".html"])

    def links(self, url: str, draw: random.Random) -> list[str]:
        return [self.room(draw) for _ in range(self.fan)]

    def room(self, draw: random.Random) -> str:
        segments = [slug(draw, draw.randint(1, 3)) for _ in range(draw.randint(1, self._depth))]
        return f"{self.root}/{'/'.join(segments)}-{word(draw)}{self._ending}"


class TwoShapes(Trap):
    """Pages of one shape link to new ones of another, and these to new ones of the first."""

    name = "two shapes"
    shapes = 2

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._heads = [f"{word(draw)}{letter}" for letter in "xyz"[: self.shapes]]
        forms = ["/{}/{}", "/{}/{}.html", "/{}.php?id={}", "/{}/{}/", "/{}?{}=1", "/{}/all/{}"]
        self._forms = draw.sample(forms, self.shapes)

    def links(self, url: str, draw: random.Random) -> list[str]:
        path = self.path(url)
        now = next((n for n, head in enumerate(self._heads) if path.startswith(f"/{head}")), -1)
        near = (now + 1) % self.shapes
        return [self.root + self._forms[near].format(self._heads[near], slug(draw)) for _ in range(self.fan)]


class ThreeShapes(TwoShapes):
    """The same in a cycle of three."""

    name = "three shapes"
    shapes = 3


class Redirects(Trap):
    """Pages link to redirects alone, each of which leads to a new page."""

    name = "redirects"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._go = draw.choice(["/go/", "/out?to=", "/r-"])

    def page(self, url: str) -> Page:
        if self.path(url).startswith(self._go):
            return Page(status=302, location=f"{self.root}/{slug(self.of(url))}.html", trap=True)
        return super().page(url)

    def links(self, url: str, draw: random.Random) -> list[str]:
        return [f"{self.root}{self._go}{slug(draw)}" for _ in range(self.fan)]


class Calendar(Trap):
    """Months and days without end, each with a title of its own, and nothing on."""

    name = "calendar"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._form = draw.choice(["/{}/{}", "/{}/{}/", "/?year={}&month={}", "/month-{}-{}"])
        self._start = draw.randint(2019, 2026) * 12
        self._words = prose(draw)
        self._ways = draw.choice([(-1, 1), (1,)])
        self._step = draw.choice([1, 3, 7])

    def doors(self) -> list[str]:
        return [self._of(self._start)]

    def _of(self, months: int, day: int = 0) -> str:
        url = self.root + self._form.format(months // 12, months % 12 + 1)
        return url + ("&" if "?" in url else "" if url.endswith("/") else "/") + f"day={day}" if day else url

    def page(self, url: str) -> Page:
        year, month, *day = map(int, re.findall(r"\d+", self.path(url)))
        months = year * 12 + month - 1
        links = [self._of(months + way) for way in self._ways] + [f"{self.good.root}/"]
        if not day:
            links += [self._of(months, number) for number in range(1, 29, self._step)]
        date = "-".join(map(str, [year, month, *day]))
        return Page(f"Events on {date}", f"{self._words} {date}", to(links), trap=True)


class EmptyPages(Trap):
    """A list that is turned over past its end: the same words, and a link to the next."""

    name = "empty pages"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._words = prose(draw)
        self._form = draw.choice(["?page={}", "/?start={}0", "/page/{}"])
        self._numbered = draw.random() < 0.5

    def doors(self) -> list[str]:
        return [self._of(1)]

    def _of(self, number: int) -> str:
        return self.root + ("/list" if self.root.count("/") == 2 else "") + self._form.format(number)

    def page(self, url: str) -> Page:
        number = int(re.findall(r"\d+", self.path(url))[-1])
        number = number // 10 if "start" in url else number
        heading = f"List, page {number}" if self._numbered else "List"
        near = [self._of(n) for n in (1, number - 1, number + 1) if n > 0]
        return Page(heading, self._words, to([f"{self.good.root}/", *near]), trap=True)


class Shelf(Trap):
    """A shop whose products are worth having, and which addresses them in too many ways."""

    products = 100

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self.contents = frozenset(f"{root}#{n}" for n in range(self.products))
        self.canonical = draw.random() < 0.5

    def shown(self, path: str) -> Page:
        """What is at `path`, by the shop's own order; links are paths."""
        if path.startswith("/item/"):
            number = int(path.split("/")[2])
            draw = self.of("item", number)
            near = [f"/item/{draw.randrange(self.products)}" for _ in range(4)]
            return Page(
                title(draw),
                prose(draw),
                to(["/", *near]),
                content=f"{self.root}#{number}",
                identity=f"{self.root}{path}",
            )
        start = int(path.rpartition("/")[2]) if path.startswith("/list/") else 0
        shown = [f"/item/{n}" for n in range(start, min(start + 20, self.products))]
        turned = [f"/list/{n}" for n in (start - 20, start + 20) if 0 <= n < self.products]
        return Page(
            f"Products {start}",
            prose(self.of("list", start)),
            to(["/", *shown, *turned]),
            identity=f"{self.root}/list/{start}",
        )


class SessionQuery(Shelf):
    """Every link has a new session id, under a name that nobody knows."""

    name = "session in query"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._key = f"{word(draw)}{draw.choice(['', 'id', '_s'])}"
        self._digits = draw.choice(["0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz"])
        self._length = draw.randint(6, 14)

    def session(self) -> str:
        return "".join(self.of(next(self.visits)).choices(self._digits, k=self._length))

    def page(self, url: str) -> Page:
        path, session = self.plain(self.path(url)), self.session()
        page = self.shown(path)
        links = [Anchor(self.root + self.marked(link.url, session)) for link in page.links]
        return page._replace(links=links, canonical=self.root + path if self.canonical else "")

    def plain(self, path: str) -> str:
        return path.partition("?")[0]

    def marked(self, path: str, session: str) -> str:
        return f"{path}?{self._key}={session}"


class SessionPath(SessionQuery):
    """The same, and the id stands in the path."""

    name = "session in path"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        name = word(draw)
        self._before = draw.choice(["/(S({}))", "/{}", ""])
        self._after = f";{name}={{}}"

    def plain(self, path: str) -> str:
        path = path.partition(";")[0]
        if self._before and not path.startswith(("/item/", "/list/")) and path.count("/") > 1:
            path = "/" + path.split("/", 2)[2]
        return path

    def marked(self, path: str, session: str) -> str:
        return self._before.format(session) + path if self._before else path + self._after.format(session)


class Facets(Shelf):
    """Filters and sort orders of one list, in the order in which they were chosen."""

    name = "facets"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._keys = draw.sample(["brand", "color", "price", "size", "sort", "view", "rating", "stock"], 5)
        self._values = [word(draw) for _ in range(draw.randint(5, 9))]
        self._in_path = draw.random() < 0.4
        self._nofollow = draw.random() < 0.2

    def page(self, url: str) -> Page:
        path, chosen = self._chosen(self.path(url))
        page = self.shown(path)
        if path.startswith("/item/"):
            return page._replace(links=[Anchor(self.root + link.url) for link in page.links])
        links = [Anchor(self.root + link.url) for link in page.links]
        links += [Anchor(facet, self._nofollow) for facet in self._refined(path, chosen)]
        if chosen:
            shown = self.of(*sorted(chosen)).sample(range(self.products), 12)
            text = " ".join(f"product {n}" for n in shown)
            page = page._replace(title="Products", text=text, trap=True, identity="")
        return page._replace(links=links, canonical=self.root + path if self.canonical else "")

    def _chosen(self, path: str) -> tuple[str, list[tuple[str, str]]]:
        if self._in_path:
            bare, _, rest = path.partition("/by/")
            parts = [part.partition("-")[::2] for part in rest.split("/") if part]
        else:
            bare, _, rest = path.partition("?")
            parts = [part.partition("=")[::2] for part in rest.split("&") if part]
        return bare or "/", parts

    def _refined(self, path: str, chosen: list[tuple[str, str]]) -> Iterator[str]:
        taken = {key for key, _ in chosen}
        for key in self._keys:
            for value in self._values if key not in taken else ():
                yield self.root + self._address(path, [*chosen, (key, value)])

    def _address(self, path: str, chosen: list[tuple[str, str]]) -> str:
        if self._in_path:
            return path.rstrip("/") + "/by/" + "/".join(f"{key}-{value}" for key, value in chosen)
        return f"{path}?{'&'.join(f'{key}={value}' for key, value in chosen)}"


class Wildcard(Maze):
    """Every page links to hosts that nobody has heard of, all of one domain."""

    name = "wildcard hosts"
    places = (HOST, FOREIGN)

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._domain = host_of(root).partition(".")[2]

    def owns(self, url: str) -> bool:
        return host_of(url).endswith(f".{self._domain}") and not url.startswith(self.good.root)

    def links(self, url: str, draw: random.Random) -> list[str]:
        return [f"http://{slug(draw, 2)}.{self._domain}/" for _ in range(10)] + [f"http://{host_of(url)}/about"]


class Farm(Maze):
    """Fifty domains that mint pages and link to one another."""

    name = "farm"
    places = (FOREIGN,)

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._hosts = [f"www.{word(draw)}{word(draw)}{n}.org" for n in range(50)]
        self._abroad = draw.randint(1, self.fan // 2)

    def owns(self, url: str) -> bool:
        return host_of(url) in self._hosts

    def doors(self) -> list[str]:
        return [f"http://{host}/" for host in self.of("doors").sample(self._hosts, 3)]

    def links(self, url: str, draw: random.Random) -> list[str]:
        own = [f"http://{host_of(url)}/{slug(draw)}" for _ in range(self.fan - self._abroad)]
        return own + [f"http://{draw.choice(self._hosts)}/{slug(draw)}" for _ in range(self._abroad)]


class SoftMissing(Trap):
    """What is not there is answered with 200, one text, and suggestions that are not there either."""

    name = "soft 404"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._words = prose(draw)
        self._says_url = draw.random() < 0.5
        self._deeper = draw.random() < 0.5

    def doors(self) -> list[str]:
        return [f"{self.root}/{slug(self.of(n))}" for n in range(5)]

    def page(self, url: str) -> Page:
        draw, base = self.of(url), url.rstrip("/") if self._deeper else self.root
        said = f" {self.path(url)}" if self._says_url else ""
        links = [f"{self.good.root}/", *(f"{base}/{slug(draw, 2)}" for _ in range(4))]
        return Page("Page not found", self._words + said, to(links), trap=True)


class FrontEverywhere(Trap):
    """Every path is answered with the front page, whose relative links go deeper each time."""

    name = "front page everywhere"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._title, self._words = title(draw), prose(draw)
        self._steps = [word(draw) for _ in range(draw.randint(3, 8))]

    def page(self, url: str) -> Page:
        links = [f"{url.rstrip('/')}/{step}/" for step in self._steps]
        return Page(self._title, self._words, to(links), trap=True, body=self._words)


class Copies(Maze):
    """The texts of good pages, under URLs without end."""

    name = "copies"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._exact = draw.random() < 0.5

    def page(self, url: str) -> Page:
        page = super().page(url)
        copied = self.good.pages[self.of("copied", url).choice(self.good.articles)]
        if self._exact:
            return page._replace(title=copied.title, text=copied.text, content=copied.content)
        half = copied.text.split()
        return page._replace(title=copied.title, text=" ".join(half[len(half) // 2 :]) + page.text)


class Flaky(Maze):
    """A maze many of whose pages are missing."""

    name = "404 at random"

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        self._missing = draw.uniform(0.3, 0.7)

    def page(self, url: str) -> Page:
        is_door = self.path(url) == "/"
        is_missing = not is_door and self.of(next(self.visits)).random() < self._missing
        return MISSING._replace(trap=True) if is_missing else super().page(url)


class Changing(Maze):
    """Other words and links at every visit."""

    name = "changing"

    def of(self, *key: object) -> random.Random:
        return super().of(*key, next(self.visits))


class NewKeys(Trap):
    """Every link has a query key that was never there."""

    name = "new keys"

    def links(self, url: str, draw: random.Random) -> list[str]:
        return [f"{self.root}/?{slug(draw, 2)}={word(draw)}" for _ in range(self.fan)]


class NewShapes(Trap):
    """Every link has a shape that was never there: another first segment, another ending."""

    name = "new shapes"

    def links(self, url: str, draw: random.Random) -> list[str]:
        return [f"{self.root}/{slug(draw, 2)}/{word(draw)}.{word(draw)}{word(draw)}" for _ in range(self.fan)]


class BesideGood(Maze):
    """A maze on a host whose domain has a good host, too."""

    name = "beside a good host"
    places = (HOST, FOREIGN)

    def __init__(self, root: str, draw: random.Random, good: GoodSite) -> None:
        super().__init__(root, draw, good)
        domain = host_of(root).partition(".")[2]
        self.neighbour = GoodSite(f"http://docs.{domain}", draw, 100)
        self.contents = frozenset(self.neighbour.contents)

    def owns(self, url: str) -> bool:
        return super().owns(url) or host_of(url) == host_of(self.neighbour.root)

    def doors(self) -> list[str]:
        return [*super().doors(), f"{self.neighbour.root}/"]

    def page(self, url: str) -> Page:
        if host_of(url) == host_of(self.neighbour.root):
            return self.neighbour.pages.get(url, MISSING)
        return super().page(url)


KINDS: Final[Sequence[type[Trap]]] = (
    Maze, TwoShapes, ThreeShapes, Redirects, Calendar, EmptyPages, SessionQuery, SessionPath, Facets, Wildcard, Farm,
    SoftMissing, FrontEverywhere, Copies, Flaky, Changing, NewKeys, NewShapes, BesideGood,
)  # fmt: skip
