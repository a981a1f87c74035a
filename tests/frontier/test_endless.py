"""What has an end comes in whole, however large it is; what has none is held back, and nothing beside it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, groupby
from random import Random

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.judge.trap_judge import BUDGET, LONGER
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.trap_state import Reason

TRAPS = TrapOptions(
    min_fetches=50,
    host_size=100,
    allowance=60,
    least_budget=60,
    last_budget=60,
)


@pytest.fixture
def bench(tmp_path):
    made: list[Bench] = []

    def make(**changed: float) -> Bench:
        fields = {name: getattr(TRAPS, name) for name in TrapOptions.__slots__}
        options = FrontierOptions(traps=TrapOptions(**{**fields, **changed}))
        made.append(Bench(tmp_path / "db", "aopic", options=options))
        made[0].add("home")
        return made[0]

    yield make
    put_away(made[0].database)


def host_named(crawl: Bench, name: str = "a.example") -> Host:
    host = crawl.frontier.hosts.get(crawl.frontier.hosts.key_of(name))
    assert host is not None
    return host


def held(crawl: Bench, name: str = "a.example") -> set[str]:
    """Shapes that are held back because they grow."""
    sections = host_named(crawl, name).sections.values()
    return {one.shape for one in sections if one.trap.demoted and one.trap.reason == Reason.GROWS}


def articles(count: int = 100) -> list:
    return [url(f"art/{n}") for n in range(count)]


def number_of(address: str) -> int:
    return int(address.rpartition("/")[2])


class Minting:
    """Pages at `/name/number`: each of them brings so many new ones of the names that `brings` says."""

    def __init__(self, host: str = "a.example", **brings: dict[str, int]) -> None:
        self.host = host
        self.brings = brings
        self.minted = 0

    def __call__(self, address: str) -> list:
        if address.endswith("a.example/home"):
            return [*articles(), *(url(f"{name}/0", self.host) for name in list(self.brings)[:1])]
        name = address.split("/")[3]
        return [link for other, many in self.brings.get(name, {}).items() for link in self.new(other, many)]

    def new(self, name: str, many: int) -> list:
        self.minted += many
        return [url(f"{name}/{self.minted - n}", self.host) for n in range(many)]


def wiki(pages: int, links: int = 10) -> Callable[[str], list]:
    """A hundred articles, and so many pages that link to one another at random."""

    def links_of(address: str) -> list:
        if address.endswith("/home"):
            return [*articles(), url("wiki/0")]
        if "/wiki/" not in address:
            return []
        draw = Random(number_of(address))
        return [url(f"wiki/{draw.randrange(pages)}") for _ in range(links)]

    return links_of


class Held(list[set[str]]):
    """What was held back before each page."""


def watched(crawl: Bench, links_of: Callable[[str], list], seen: Held) -> Callable[[str], list]:
    """Notes in `seen` before every page what is held back."""

    def links(address: str) -> list:
        seen.append(held(crawl))
        return links_of(address)

    return links


def test_a_large_site_comes_in_whole(bench):
    """Though it is many times as large as a section may be, and stands beside a good one."""
    crawl, seen = bench(min_fetches=120), Held()
    fetched = crawl.surf(watched(crawl, wiki(1200), seen))
    assert len(fetched) == 1 + 100 + 1200
    assert not any(seen)


def test_a_maze_in_a_folder(bench):
    """It is held back, what stands beside it comes in, and the crawl ends."""
    crawl = bench()
    fetched = crawl.surf(Minting(maze={"maze": 3}))
    assert crawl.frontier.is_finished()
    assert held(crawl) == {"/maze/*"}
    assert sum("/art/" in address for address in fetched) == 100
    assert sum("/maze/" in address for address in fetched) < 2 * 101 + 100


def test_a_chain_beside_a_site(bench):
    """Articles of which each leads to the next go on while there are few: none of them waits."""

    def links_of(address: str) -> list:
        if address.endswith("/home"):
            return [*articles(), url("story/0")]
        return [url(f"story/{number_of(address) + step}") for step in (-1, 1)] if "/story/" in address else []

    crawl = bench(last_budget=400)
    fetched = crawl.surf(links_of, budget=3000)
    assert crawl.frontier.is_finished()
    assert 390 < sum("/story/" in address for address in fetched) < 400 + 2 * 101


def test_two_shapes_are_held_together(bench):
    """Of a maze whose pages of one shape link to those of another, both are held back, and share one budget."""
    crawl = bench()
    fetched = crawl.surf(Minting(here={"there": 3}, there={"here": 3}))
    assert crawl.frontier.is_finished()
    assert held(crawl) == {"/here/*", "/there/*"}
    assert sum("/art/" not in address for address in fetched) < 2 * 101 + 100


def test_what_does_not_grow_in_a_maze(bench):
    """A section that is brought by a maze, and now and then brings some of it, is not held back with it."""
    site, leaves = Minting(maze={"maze": 2, "leaf": 1}), count()

    def links_of(address: str) -> list:
        return site.new("maze", 1) if "/leaf/" in address and next(leaves) % 3 == 0 else site(address)

    crawl, seen = bench(min_fetches=150), Held()
    crawl.surf(watched(crawl, links_of, seen), is_good=lambda address: "/maze/" not in address)
    sections = {one.shape: one for one in host_named(crawl).sections.values()}
    assert sections["/leaf/*"].circle == sections["/maze/*"].circle
    assert [shapes for shapes, _ in groupby(seen)] == [set(), {"/maze/*"}]
    assert not sections["/leaf/*"].queued


def only_pages(pages: Callable[[str], list]) -> Callable[[str], list]:
    """A web that has nothing but them."""
    return lambda address: pages(address)[-1:] if "home" in address else pages(address)


def test_what_is_all_that_a_host_has(bench):
    """Pages without end that are nearly all of a host are the site, not a trap in it, up to the last budget."""
    crawl = bench(last_budget=800)
    seen = Held()
    fetched = crawl.surf(watched(crawl, only_pages(Minting(page={"page": 3})), seen), budget=3000)
    assert crawl.frontier.is_finished()
    assert 790 <= len(fetched) < 800 + 50  # and some twice
    assert len(seen) - seen.count(set()) < 50


def test_what_is_all_and_had_an_end_in_sight(bench):
    """It goes on for longer, here a hundred pages that link to one another and lead to others without end."""
    crawl, maze = bench(last_budget=100), Minting(wiki={"wiki": 3})
    maze.minted = site = 150
    pages = only_pages(wiki(site))

    def links_of(address: str) -> list:
        if "/wiki/" in address and number_of(address) >= site:
            return maze(address)
        return [*pages(address), *(maze(address) if address.endswith("/wiki/7") else [])]

    fetched = crawl.surf(links_of, budget=5000)
    assert crawl.frontier.is_finished()
    assert len({*fetched}) == len(fetched)
    assert 4 * 100 < len(fetched) < LONGER * 1024


def test_a_trap_on_a_foreign_host(bench):
    """Where one circle grows beside items that others link to, it is held back, and its host is not."""
    foreign = "b.example"
    crawl = bench()
    site = Minting(foreign, maze={"maze": 3})

    def links_of(address: str) -> list:
        items = [url(f"item/{number_of(address)}", foreign)] if "/art/" in address else []
        return [*site(address), *items]

    fetched = crawl.surf(links_of)
    assert crawl.frontier.is_finished()
    assert held(crawl, foreign) == {"/maze/*"}
    assert not host_named(crawl, foreign).trap.demoted
    assert sum("/item/" in address for address in fetched) == 100


@pytest.mark.parametrize("mutual", [False, True])
def test_two_hosts_that_mint_beside_small_ones(bench, mutual):
    """With the default options they cost no more fetches than there are good pages: 300, on five hosts."""
    minting = [f"m{n}.example" for n in range(2)]
    good = ["a.example", *(f"good{n}.example" for n in range(4))]
    minted = count()

    def links_of(address: str) -> list:
        host = address.split("/")[2]
        if host in minting:
            to = minting if mutual else [host]
            return [url(f"p{number}/q{number}", to[number % len(to)]) for number in (next(minted) for _ in range(10))]
        if address.endswith("/home"):
            return [url(f"art/{n}", host) for n in range(59)] + [url("home", other) for other in [*good, *minting]]
        number = number_of(address)
        return [url("home", host), *(url(f"art/{(number * 7 + n) % 59}", host) for n in range(5))]

    crawl = bench(**{name: getattr(TrapOptions(), name) for name in TrapOptions.__slots__})
    fetched = crawl.surf(links_of)
    traps = [address for address in fetched if address.split("/")[2] in minting]
    assert crawl.frontier.is_finished()
    assert len(fetched) - len(traps) == 300
    assert len(traps) <= 300


def test_a_list_that_leads_to_items(bench):
    """However many pages it has, each of which brings the next: what it leads to vouches for it."""
    pages = 400

    def links_of(address: str) -> list:
        if address.endswith("/home"):
            return [*articles(), url("list/1")]
        if "/list/" not in address:
            return []
        number = number_of(address)
        more = [url(f"list/{number + 1}")] if number < pages else []
        return [*more, *(url(f"item/{3 * number + n}") for n in range(3))]

    crawl, seen = bench(), Held()
    fetched = crawl.surf(watched(crawl, links_of, seen))
    assert len(fetched) == 1 + 100 + 4 * pages
    assert not any(seen)


def test_an_end_that_comes_in_sight(bench):
    """What was held back too early is set free when fewer of its links are new, though some still are."""
    crawl, seen = bench(min_fetches=10), Held()
    news: list[float] = []
    links_of = watched(crawl, wiki(400), seen)

    def links(address: str) -> list:
        found = links_of(address)
        if len(seen) > 1 and seen[-2] and not seen[-1]:
            news.extend(one.trap.novelty for one in host_named(crawl).sections.values() if one.shape == "/wiki/*")
        return found

    fetched = crawl.surf(links, is_good=lambda address: "/wiki/" not in address or number_of(address) % 15 == 0)
    assert any(seen)
    assert news[0] > 2 * TRAPS.high
    assert len(fetched) == 1 + 100 + 400


@pytest.mark.parametrize("seed", range(3))
def test_a_good_section_in_a_circle_with_a_trap(bench, seed):
    """Pages that lead into a maze, whose pages lead back to them, are judged by their own figures: all come in, and
    the maze has its budget and no more.
    """
    draw, pages = Random(seed), 150 + 100 * seed
    news = count(1)

    def links_of(address: str) -> list:
        back = [url(f"text/{draw.randrange(pages)}") for _ in range(draw.randint(2, 6))]
        if "/maze/" in address:
            return [*(url(f"maze/{next(news)}") for _ in range(4)), *back]
        return [*back, url(f"text/{(number_of(address) + 1) % pages}"), url(f"maze/{next(news)}")]

    crawl, seen = bench(last_budget=400), Held()
    crawl.add("text/0")
    fetched = crawl.surf(watched(crawl, lambda address: [] if "home" in address else links_of(address), seen))
    assert crawl.frontier.is_finished()
    assert sum("/text/" in address for address in fetched) == pages
    assert not any("/text/*" in shapes for shapes in seen)
    plain = TRAPS.min_fetches + len(fetched) // 4
    assert sum("/maze/" in address for address in fetched) < BUDGET * (pages + 1) + plain
