"""What has an end comes in whole, however large it is; what has none is held back, and nothing beside it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations, count, groupby

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.growth import BESIDES, LEAST_FETCHES, WAITING, Circle, is_fed, size_of, variety
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_state import WINDOW, Reason

HIGH, LOW = 0.8, 0.7


def host_of(*shapes: str) -> tuple[Host, list[Section]]:
    host = Host(bytes(8), "a.example")
    for number, shape in enumerate(shapes):
        key = number.to_bytes(4, "big")
        queue = DiskQueue(None, host.key + key, empty=True)  # type: ignore[arg-type]
        host.sections[key] = Section(host.key + key, shape, queue)
    return host, list(host.sections.values())


def grow(section: Section, fetches: int, news: int, links: int = 10) -> None:
    """So many fetches, each of which brings `news` new URLs."""
    for _ in range(fetches):
        section.trap.learn(news, links, section.fetched)
        section.fetched += 1


class TestCircle:
    """What sections of a host are together."""

    def test_its_sections(self):
        """Those of the same circle, without what a rule holds: other forms of pages."""
        host, (a, b, c, apart) = host_of("/a", "/b", "/c", "/d")
        b.circle = apart.circle = a.circle
        apart.trap.demoted, apart.trap.reason = True, Reason.JOINED
        assert Circle.of(host, b).sections == [a, b]
        assert [circle.sections for circle in Circle.all_of(host)] == [[a, b], [c]]

    def test_its_size(self):
        """What its pages brought, and what waits of it counts more."""
        host, (a, b) = host_of("/a", "/b")
        a.own, b.own, b.queued = 30, 12, 10
        assert Circle(host, [a, b]).size == 42 + WAITING * 10

    def test_its_vouchers(self):
        """URLs that were first seen elsewhere, and those elsewhere that it brought; not those of itself.

        The latter count as far as they have shown to be worth it, and not if they say nothing new.
        """
        host, (a, b, c) = host_of("/a", "/b", "/c")
        a.known, a.own, b.known, b.own = 10, 8, 20, 20
        a.brought = {b.circle: 20, a.circle: 8, c.circle: 5}
        assert Circle(host, [a, b]).vouchers == 2
        c.trials = c.successes = 8.0
        assert Circle(host, [a, b]).vouchers == pytest.approx(2 + 5 * 0.8)
        c.trap.same = 0.9
        assert Circle(host, [a, b]).vouchers == 2

    def test_its_innocence(self):
        """The mean of its URLs'."""
        host, (a, b) = host_of("/a", "/b")
        a.known, a.trap_like, b.known = 30, 30, 10
        assert Circle(host, [a, b]).innocence == pytest.approx((30 * 0.1 + 10) / 40)

    def test_its_limit(self):
        """Who was set free may be as large as was granted."""
        host, (a, b) = host_of("/a", "/b")
        a.trap.limit = 70.0
        assert Circle(host, [a, b]).limit == 70

    def test_it_grows(self):
        """By the mean of its fetches: what brings nothing does not hide what does, nor the other way."""
        host, (a, b) = host_of("/a", "/b")
        grow(a, WINDOW, 2)
        grow(b, 5, 0)
        assert Circle(host, [a, b]).grows(HIGH)
        grow(b, WINDOW, 0)
        assert Circle(host, [a]).grows(HIGH)
        assert not Circle(host, [b]).grows(HIGH)
        grow(a, 5 * WINDOW, 1)
        assert not Circle(host, [a, b]).grows(HIGH)

    def test_an_end_in_sight(self):
        """What grows with a falling share of new links is taken to have an end, if it is most of the circle."""
        host, (a, b) = host_of("/a", "/b")
        for section in (a, b):
            grow(section, WINDOW, 8)
        a.trap.fell = True
        assert Circle(host, [a, b]).grows(HIGH)
        b.trap.fell = True
        assert not Circle(host, [a, b]).grows(HIGH)

    def test_besides(self):
        """Of a host with little more that is good it is the site, and no part beside it."""
        host, (a,) = host_of("/a")
        a.fetched, a.good, host.good = 100, 90, 90 + round(100 * BESIDES)
        assert Circle(host, [a]).is_beside
        host.good -= 1
        assert not Circle(host, [a]).is_beside

    def test_what_grows_of_it(self):
        """Sections that bring enough, and those that nobody knows well."""
        host, (grows, calm, new) = host_of("/a", "/b", "/c")
        grow(grows, WINDOW, 1)
        grow(calm, WINDOW, 0)
        grow(new, LEAST_FETCHES - 1, 0)
        assert Circle(host, [grows, calm, new]).growing(LOW) == [grows, new]


def test_few_keys_and_many_sets_of_them():
    """Four filters in all their combinations are 15 sets of 4 keys; the two scripts of a forum have their own."""
    keys = ["brand", "color", "size", "sort"]
    sets = ["&".join(chosen) for n in range(1, 5) for chosen in combinations(keys, n)]
    host, sections = host_of(*(f"/shop?{chosen}" for chosen in sets))
    assert Circle(host, sections).choice == 4 / 15
    host, sections = host_of("/", "/viewforum.php?f", "/viewforum.php?f&start", "/viewtopic.php?f&t")
    assert Circle(host, sections).choice == 1


def test_an_end_of_combinations_is_no_end():
    """There is an end to the combinations of ten filters, but nobody gets there: that less is new is no excuse."""
    combined = ["/a?x", "/a?y", "/a?x&y", "/a?x&y&z", "/a?y&z", "/a?z&x"]
    for shapes, grows in (["/a?x", "/b?y"], False), (combined, True):
        host, sections = host_of(*shapes)
        for one in sections:
            grow(one, WINDOW, 2)
            one.trap.fell = True
        assert Circle(host, sections).grows(HIGH) == grows


def test_what_says_the_same_may_be_small():
    """Half of the pages may say the same and nothing changes; with four fifths a unit is as small as can be."""
    assert [variety(same) for same in (0.0, 0.5, 0.8, 1.0)] == pytest.approx([1, 1, 0.05, 0.05])
    assert variety(0.65) == pytest.approx(1 - 0.95 / 2)


def test_what_a_trap_alone_brings():
    """The days of a calendar come from its months: they are held with them, but only if they say the same."""
    host, (months, days) = host_of("/month", "/day")
    days.known, months.brought = 100, {days.circle: 95}
    circle = Circle(host, [days])
    days.trap.same, months.trap.demoted, months.trap.reason = 0.9, True, Reason.GROWS
    assert is_fed(circle, days)
    days.known = 110
    assert not is_fed(circle, days)
    days.known, days.trap.same = 100, 0.5
    assert not is_fed(circle, days)
    days.trap.same, months.trap.demoted = 0.9, False
    assert not is_fed(circle, days)


def test_the_size_of_a_host():
    """What is held back of it does not count."""
    host, (free, held) = host_of("/a", "/b")
    free.known, free.queued, held.known, held.trap.demoted = 20, 10, 500, True
    assert size_of(host) == 20 + WAITING * 10


# Whole crawls

TRAPS = TrapOptions(
    min_fetches=50,
    host_size=100,
    section_size=30,
    vouched_share=2,
    first_probes=60,
    min_probes=5,
    least_budget=60,
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
        draw = random.Random(number_of(address))
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
    (section,) = (one for one in host_named(crawl).sections.values() if one.shape == "/wiki/*")
    assert section.own > 30 * TRAPS.section_size


def test_a_maze_in_a_folder(bench):
    """It is held back, what stands beside it comes in, and the crawl ends."""
    crawl = bench()
    fetched = crawl.surf(Minting(maze={"maze": 3}))
    assert crawl.frontier.is_finished()
    assert held(crawl) == {"/maze/*"}
    assert sum("/art/" in address for address in fetched) == 100
    assert sum("/maze/" in address for address in fetched) < 2 * 101 + 100


def test_two_shapes_are_held_together(bench):
    """Of a maze whose pages of one shape link to those of another, both are held back at once."""
    crawl, seen = bench(), Held()
    crawl.surf(watched(crawl, Minting(here={"there": 3}, there={"here": 3}), seen))
    assert crawl.frontier.is_finished()
    assert next(shapes for shapes in seen if shapes) == {"/here/*", "/there/*"}


def test_what_does_not_grow_in_a_maze(bench):
    """A section that is brought by a maze, and now and then brings some of it, is not held back with it."""
    site, leaves = Minting(maze={"maze": 2, "leaf": 1}), count()

    def links_of(address: str) -> list:
        return site.new("maze", 1) if "/leaf/" in address and next(leaves) % 3 == 0 else site(address)

    crawl, seen = bench(min_fetches=150, section_size=500), Held()
    crawl.surf(watched(crawl, links_of, seen), is_good=lambda address: "/maze/" not in address)
    sections = {one.shape: one for one in host_named(crawl).sections.values()}
    assert sections["/leaf/*"].circle == sections["/maze/*"].circle
    assert [shapes for shapes, _ in groupby(seen)] == [set(), {"/maze/*"}]
    assert not sections["/leaf/*"].queued


def test_what_is_all_that_a_host_has(bench):
    """Pages without end that are nearly all that is good of a host are the site, not a trap in it."""
    crawl = bench()
    site = Minting(page={"page": 3})
    fetched = crawl.surf(lambda address: [*site(address)[-1:]] if "home" in address else site(address), budget=1000)
    assert len(fetched) == 1000
    assert not held(crawl)


def test_a_trap_on_a_foreign_host(bench):
    """Where one circle grows beside items that others link to, it is held back, and its host is not."""
    foreign = "b.example"
    crawl = bench(section_size=10**6)
    site = Minting(foreign, maze={"maze": 3})

    def links_of(address: str) -> list:
        items = [url(f"item/{number_of(address)}", foreign)] if "/art/" in address else []
        return [*site(address), *items]

    fetched = crawl.surf(links_of)
    assert crawl.frontier.is_finished()
    assert held(crawl, foreign) == {"/maze/*"}
    assert not host_named(crawl, foreign).trap.demoted
    assert sum("/item/" in address for address in fetched) == 100


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
    assert news[0] > 2 * TRAPS.low
    assert len(fetched) == 1 + 100 + 400
