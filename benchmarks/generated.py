"""Sites that are made up as they are fetched: what is good on them is known, and some of them never end.

A page's title and text are what the crawler tells repeats by, so they repeat here where they do on such sites:
every page of a site shares its template, a session id changes links and no text, a printable page keeps the title.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, Protocol

_WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("ab", "ean", "ick", "olo", "urn", "ynth")]


class Link(NamedTuple):
    path: str
    nofollow: bool = False


class Page(NamedTuple):
    """What the crawler gets to see of a page."""

    title: str
    text: str
    links: list[Link]
    status: int = 200
    noindex: bool = False


class Site(Protocol):
    """One host. `good` names the good page that a path is a spelling of; None for what nobody wants."""

    @property
    def name(self) -> str: ...
    @property
    def only_good(self) -> bool:
        """Whether it has good pages only, so that every other fetch is one too many."""
        ...

    def page(self, path: str) -> Page: ...
    def good(self, path: str) -> str | None: ...
    def wanted(self) -> int:
        """How many good pages there are."""
        ...


class Finite:
    """A site whose good pages lead to one another."""

    only_good = False

    def page(self, path: str) -> Page:
        raise NotImplementedError

    def good(self, path: str) -> str | None:
        return path

    def wanted(self) -> int:
        known, queue = {"/"}, ["/"]
        while queue:
            for link in self.page(queue.pop()).links:
                if link.path not in known and self.good(link.path) == link.path:
                    known.add(link.path)
                    queue.append(link.path)
        return len(known)


def number(*key: object) -> int:
    """The same large number for the same key, always."""
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big")


def prose(*key: object, words: int = 40) -> str:
    """The same words for the same key, after 60 that all pages share."""
    own = random.Random(repr(key)).choices(_WORDS, k=words)
    return " ".join([*_WORDS[:60], *own])


def to(paths: Iterable[str], *, nofollow: bool = False) -> list[Link]:
    return [Link(path, nofollow) for path in paths]


def query_of(path: str) -> tuple[str, dict[str, str]]:
    """The path without its query, and the query's values by their keys."""
    path, _, query = path.partition("?")
    return path, dict(part.partition("=")[::2] for part in query.split("&") if part)


def with_query(path: str, values: dict[str, str]) -> str:
    query = "&".join(f"{key}={value}" for key, value in sorted(values.items()))
    return f"{path}?{query}" if query else path


MISSING = Page("Not found", prose("missing"), to(["/"]), 404)
LOGIN = Page("Login", prose("login"), to(["/"]), 200)


@dataclass(frozen=True)
class Pagination(Finite):
    """A list that is turned over page by page, to the end: no page leads farther than to the next."""

    pages: int
    items: int = 20
    name: str = "pagination"
    only_good = True

    def page(self, path: str) -> Page:
        bare, query = query_of(path)
        if bare.startswith("/item/"):
            item = int(bare[len("/item/") :])
            back = f"/list?page={item // self.items + 1}"
            return Page(f"Item {item}", prose("item", item), to(["/", back]))
        if bare == "/":
            return Page("Home", prose("home"), to(["/list?page=1"]))
        place = int(query["page"])
        links = [f"/item/{(place - 1) * self.items + item}" for item in range(self.items)]
        links += [f"/list?page={near}" for near in (place - 1, place + 1) if 1 <= near <= self.pages]
        return Page("List", prose("list", place), to(["/", *links]))


@dataclass(frozen=True)
class Shop(Finite):
    """Categories of 500 products, 20 a page; `facets` adds filters, sort orders and views of the same products."""

    products: int
    facets: bool = False
    name: str = "shop"
    in_category: int = 500
    on_page: int = 20

    @property
    def only_good(self) -> bool:  # type: ignore[override]
        return not self.facets

    FACETS = (("brand", 12), ("color", 8), ("price", 5), ("size", 6))

    @property
    def categories(self) -> int:
        return -(-self.products // self.in_category)

    def page(self, path: str) -> Page:
        bare, query = query_of(path)
        menu = to(["/", *(f"/c/cat-{c}" for c in range(0, self.categories, 5))])
        if bare == "/":
            return Page("Shop", prose("home"), to(f"/c/cat-{c}" for c in range(self.categories)))
        if bare.startswith("/p/"):
            return self._product(int(bare.split("/")[2]), menu)
        return self._category(bare, query, menu)

    def _product(self, product: int, menu: list[Link]) -> Page:
        category = product // self.in_category
        others = {category * self.in_category + number(product, i) % self.in_category for i in range(4)}
        links = [f"/c/cat-{category}", *(self._path(other) for other in others if other < self.products)]
        return Page(f"Product {product}", prose("product", product), menu + to(links))

    @staticmethod
    def _path(product: int) -> str:
        return f"/p/{product}/product-{number(product) % 99999:x}"

    def _category(self, bare: str, query: dict[str, str], menu: list[Link]) -> Page:
        category, place = int(bare.rpartition("-")[2]), int(query.get("page", "1"))
        rest = {key: value for key, value in query.items() if key != "page"}
        products = self._selected(category, rest)
        shown = products[(place - 1) * self.on_page : place * self.on_page]
        if not shown:
            return Page(f"Category {category}", prose("nothing found"), menu)
        pages = -(-len(products) // self.on_page)
        links = [self._path(product) for product in shown]
        links += [self._turned(bare, rest, near) for near in (place - 1, place + 1, pages) if 1 <= near <= pages]
        if self.facets:
            links += self._refined(bare, rest)
        return Page(f"Category {category}", prose("products", *shown), menu + to(links))

    def _selected(self, category: int, query: dict[str, str]) -> list[int]:
        first = category * self.in_category
        products = list(range(first, min(first + self.in_category, self.products)))
        for key, values in self.FACETS:
            if key in query:
                products = [p for p in products if number(p, key) % values == int(query[key])]
        if "sort" in query:
            products.sort(key=lambda product: number(query["sort"], product))
        return products

    @staticmethod
    def _turned(bare: str, query: dict[str, str], place: int) -> str:
        return with_query(bare, query | ({"page": str(place)} if place > 1 else {}))

    def _refined(self, bare: str, query: dict[str, str]) -> list[str]:
        more = [{key: str(v)} for key, values in self.FACETS if key not in query for v in range(values)]
        more += [{"sort": order} for order in ("name", "new", "price")]
        more += [{"view": view} for view in ("grid", "list")]
        return [with_query(bare, query | one) for one in more]

    def good(self, path: str) -> str | None:
        return path if set(query_of(path)[1]) <= {"page"} else None


@dataclass(frozen=True)
class Forum(Finite):
    """A phpBB: 20 boards, topics of 1 to 25 posts; `extras` adds what a phpBB links to beside them."""

    topics: int
    extras: bool = True
    name: str = "forum"
    boards: int = 20

    @property
    def only_good(self) -> bool:  # type: ignore[override]
        return not self.extras

    def page(self, path: str) -> Page:
        bare, query = query_of(path)
        if bare == "/":
            boards = to(f"/viewforum.php?f={board}" for board in range(self.boards))
            return Page("Forum", prose("index"), boards)
        if bare == "/viewforum.php":
            return self._board(int(query["f"]), int(query.get("start", "0")), query)
        if bare == "/viewtopic.php":
            topic = int(query["t"]) if "t" in query else int(query["p"]) // 100
            return self._topic(topic + (query.get("view") == "next"), int(query.get("start", "0")), query)
        return LOGIN

    def _board(self, board: int, start: int, query: dict[str, str]) -> Page:
        topics = range(board, self.topics, self.boards)
        path = f"/viewforum.php?f={board}"
        links = to(f"/viewtopic.php?f={board}&t={topic}" for topic in topics[start : start + 25])
        turned = [near for near in (start - 25, start + 25) if 0 <= near < len(topics)]
        links += to([f"{path}&start={near}" if near else path for near in turned] + ["/"])
        if self.extras:
            links += to([f"/posting.php?mode=post&f={board}"], nofollow=True)
            links += to(f"{path}&start={start}&sk={key}&sd={way}" for key in "ats" for way in "ad")
        return Page(f"Board {board}", prose("board", board, start, query.get("sk"), query.get("sd")), links)

    def _topic(self, topic: int, start: int, query: dict[str, str]) -> Page:
        if topic >= self.topics:
            return MISSING
        board, posts = topic % self.boards, 1 + number(topic) % 25
        path = f"/viewtopic.php?f={board}&t={topic}"
        links = to([f"/viewforum.php?f={board}", path])
        links += to(f"{path}&start={place}" for place in range(10, posts, 10))
        if self.extras:
            shown = range(start, min(start + 10, posts))
            links += to([f"{path}&view=print", f"{path}&view=next"])
            links += to([f"/posting.php?mode=reply&f={board}&t={topic}"], nofollow=True)
            links += to(
                (f"/posting.php?mode=quote&f={board}&p={topic * 100 + post}" for post in shown), nofollow=True
            )
            links += to(f"/viewtopic.php?p={topic * 100 + post}" for post in shown)
            links += to(f"/memberlist.php?mode=viewprofile&u={number(topic, post) % self.topics}" for post in shown)
        text = prose("topic", topic, start, words=200)
        return Page(f"Topic {topic}", text, links, noindex=query.get("view") == "print")

    def good(self, path: str) -> str | None:
        bare, query = query_of(path)
        content = bare == "/" or (bare == "/viewforum.php" and "f" in query) or "t" in query
        return path if content and set(query) <= {"f", "t", "start"} and bare != "/posting.php" else None


@dataclass(frozen=True)
class Wiki(Finite):
    """A MediaWiki: every article has a history of revisions, and Special pages about it."""

    articles: int
    revisions: int = 60
    name: str = "wiki"

    def page(self, path: str) -> Page:
        bare, query = query_of(path)
        if bare == "/":
            return Page("Main page", prose("main"), to(["/wiki/A0", "/wiki/Special:AllPages"]))
        if bare == "/index.php":
            return self._script(int(query["title"][1:]), query)
        title = bare[len("/wiki/") :]
        if title.startswith("Special:"):
            return self._special(path, title)
        if title.startswith("Talk:"):
            return MISSING
        return self._article(int(title[1:]))

    def _near(self, article: int) -> list[Link]:
        """Articles are linked to unevenly: few are linked to by most."""
        chosen = {int(self.articles * (number(article, i) / 2**64) ** 2) for i in range(12)}
        if article + 1 < self.articles:
            chosen.add(article + 1)
        return to(f"/wiki/A{other}" for other in sorted(chosen - {article}))

    def _tools(self, article: int) -> list[Link]:
        script = f"/index.php?title=A{article}"
        about = ("WhatLinksHere", "RecentChangesLinked")
        links = [f"/wiki/Talk:A{article}", *(f"/wiki/Special:{tool}/A{article}" for tool in about)]
        links += ["/wiki/Special:RecentChanges", "/wiki/Special:AllPages"]
        kinds = ("action=history", "printable=yes", f"oldid={article * 1000 + self.revisions}")
        return to(links + [f"{script}&{kind}" for kind in kinds]) + to([f"{script}&action=edit"], nofollow=True)

    def _article(self, article: int) -> Page:
        text = prose("article", article, words=200)
        return Page(f"A{article}", text, self._near(article) + self._tools(article))

    def _script(self, article: int, query: dict[str, str]) -> Page:
        script, title = f"/index.php?title=A{article}", f"A{article}"
        if "printable" in query:
            return Page(title, prose("article", article, words=200), self._near(article))
        if query.get("action") == "history":
            return Page(f"{title}: history", prose("history", article), self._history(script, article), noindex=True)
        if "diff" in query:
            older = int(query["oldid"]) - 1
            links = to([f"{script}&diff={older + 1}&oldid={older}"] if older > article * 1000 else [], nofollow=True)
            return Page(f"{title}: difference", prose("diff", article, query["oldid"]), links, noindex=True)
        if "oldid" in query:
            return Page(title, prose("old", article, query["oldid"]), self._near(article), noindex=True)
        return LOGIN

    def _history(self, script: str, article: int) -> list[Link]:
        links = []
        for revision in range(article * 1000 + 1, article * 1000 + self.revisions + 1):
            links += to([f"{script}&oldid={revision}", f"{script}&diff={revision}&oldid={revision - 1}"])
            links += to([f"{script}&action=edit&undo={revision}"], nofollow=True)
        return links

    def _special(self, path: str, title: str) -> Page:
        tool = title.partition("/")[0]
        if tool == "Special:AllPages":
            links = to(f"/wiki/A{article}" for article in range(0, self.articles, 10))
        elif "limit=" in path:
            links = []
        else:
            links = to(f"/wiki/{title}?days={days}&limit={limit}" for days in (1, 3, 7) for limit in (50, 100, 500))
        return Page(tool, prose(path), links, noindex=True)

    def good(self, path: str) -> str | None:
        return path if path == "/" or path.startswith("/wiki/A") else None


@dataclass(frozen=True)
class Blog(Finite):
    """Posts, each linked to its neighbours, and a calendar of months without posts that goes on for ever.

    `titled`: the title names the month, so that no month looks like a repeat of another.
    """

    posts: int
    titled: bool = False
    name: str = "blog, calendar"

    def page(self, path: str) -> Page:
        parts = path.strip("/").split("/")
        if parts[0] == "calendar":
            return self._calendar(*map(int, parts[1:]))
        if parts[0] == "post":
            post = int(parts[1])
            links = to(f"/post/{near}/title-{near}" for near in (post - 1, post + 1) if 0 <= near < self.posts)
            return Page(f"Post {post}", prose("post", post), to(["/", "/calendar/2024/1"]) + links)
        links = to(f"/post/{post}/title-{post}" for post in range(max(0, self.posts - 10), self.posts))
        return Page("Blog", prose("home"), [Link("/calendar/2024/1"), *links])

    def _calendar(self, year: int, month: int, day: int | None = None) -> Page:
        months = year * 12 + month - 1
        links = [f"/calendar/{near // 12}/{near % 12 + 1}" for near in (months - 1, months + 1)]
        if day is None:
            links += [f"/calendar/{year}/{month}/{day}" for day in range(1, 29, 9)]
        date = f"{year} {month} {day or ''}"
        title = f"Calendar of {date}" if self.titled else "Calendar"
        return Page(title, f"{prose('calendar', words=300)} {date}", to(["/", *links]))

    def good(self, path: str) -> str | None:
        return None if path.startswith("/calendar") else path


@dataclass(frozen=True)
class Maze:
    """A site with a door to a maze: `kind` names how its pages, all different, are addressed."""

    kind: str
    inner: Site
    only_good = False
    visits: count[int] = field(default_factory=count)

    DOORS = ("/maze", "/r0")

    @property
    def name(self) -> str:
        return f"maze, {self.kind}"

    def page(self, path: str) -> Page:
        if not path.startswith(self.DOORS):
            page = self.inner.page(path)
            return page._replace(links=[*page.links, Link("/r0/0" if self.kind == "first segment" else "/maze")])
        salt = next(self.visits) if self.kind == "changing" else 0
        title = f"Room {number(path, salt) % 10**9}"
        return Page(title, prose("maze", path, salt), to(["/", *self._rooms(path, salt)]))

    def _rooms(self, path: str, salt: int) -> list[str]:
        chosen = [number(path, salt, i) for i in range(10)]
        if self.kind == "repeated segments":
            return [path + step for step in ("/a", "/b", "/a/b", "/c")]
        if self.kind == "deep":
            return [f"{path}/{room % 10**6:x}" for room in chosen[:5]]
        if self.kind == "query":
            return [f"/maze?k{room % 1000}={room % 10**6}&z={i}" for i, room in enumerate(chosen)]
        if self.kind == "first segment":
            return [f"/r0{room % 10**6:x}/{room % 977}" for room in chosen]
        return [f"/maze/{room % 10**9:x}" for room in chosen]

    def good(self, path: str) -> str | None:
        return None if path.startswith(self.DOORS) else self.inner.good(path)

    def wanted(self) -> int:
        return self.inner.wanted()


@dataclass(frozen=True)
class Sessions:
    """A site whose links carry a session id: a new one on every page, so that no link was ever seen before.

    `key` is the name of the query's parameter; without one the session stands in the path.
    """

    inner: Site
    key: str
    name: str
    only_good = False
    visits: count[int] = field(default_factory=count)

    def page(self, path: str) -> Page:
        page, session = self.inner.page(self._plain(path)), f"{number(next(self.visits)):032x}"
        return page._replace(links=[Link(self._marked(link.path, session), link.nofollow) for link in page.links])

    def _marked(self, path: str, session: str) -> str:
        if not self.key:
            return f"/{session}{path}"
        return f"{path}{'&' if '?' in path else '?'}{self.key}={session}"

    @staticmethod
    def _plain(path: str) -> str:
        return re.sub(r"[?&]\w+=[0-9a-f]{32}|^/[0-9a-f]{32}(?=/)", "", path)

    def good(self, path: str) -> str | None:
        return self.inner.good(self._plain(path))

    def wanted(self) -> int:
        return self.inner.wanted()


def sites(size: float) -> list[Site]:
    """The sites of the benchmark; at `size` 1 as large as they are called for."""

    def scaled(pages: int) -> int:
        return int(pages * size)

    inner = Pagination(scaled(100))
    return [
        Pagination(scaled(2000)),
        Shop(scaled(50_000)),
        Shop(scaled(2000), facets=True, name="shop with facets", in_category=scaled(500)),
        Forum(scaled(10_000), extras=False, name="forum, topics only"),
        Forum(scaled(10_000)),
        Wiki(scaled(1300)),
        Blog(scaled(2000)),
        Blog(scaled(2000), titled=True, name="blog, calendar with titles"),
        *(
            Maze(kind, inner)
            for kind in ("stable", "changing", "repeated segments", "deep", "query", "first segment")
        ),
        Sessions(Forum(scaled(3000)), "sid", "forum, session ids"),
        Sessions(Shop(scaled(2000)), "visitor", "session ids, query"),
        Sessions(Shop(scaled(2000)), "", "session ids, path"),
    ]
