"""A host that has dried up: what grows on it without saying anything new is left, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.drought import FEW, LONG, PART, Drought
from sitecrawl.frontier.urls.options import FAIR_TRY
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.page.items import Link
from sitecrawl.page.shingles import shingles


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


def rows(fetches: int, every: int) -> list[tuple[int, bool]]:
    """Where rows end, and whether they were dry, when one fetch in `every` brings something new."""
    drought = Drought()
    said = ((n, drought.ends_row(n, new=n % every == 0)) for n in range(1, fetches + 1))
    return [(n, is_dry) for n, is_dry in said if is_dry is not None]


def test_rows() -> None:
    """Each has 600 fetches, or a quarter of all, and is dry where under a hundredth of them brought something."""
    ends = [n for n, _ in rows(20_000, every=10)]
    assert ends[:4] == [600, 1200, 1800, 2400]
    assert all(after - before >= max(FAIR_TRY, after / PART) for before, after in pairwise(ends))
    assert len(ends) > 10
    assert {is_dry for _, is_dry in rows(5_000, every=round(1 / FEW) - 5)} == {False}
    assert {is_dry for _, is_dry in rows(5_000, every=round(1 / FEW) + 20)} == {True}


def test_a_long_drought() -> None:
    """Its rows are half of all fetches, and at least 3,000; one row that was not dry ends it."""
    drought, good = Drought(), 1000
    long = []
    for n in range(1, 20_001):
        drought.ends_row(n, new=n <= good or n == 15_000)
        long.append(drought.is_long(n))
    first = long.index(True) + 1
    assert good + LONG <= first <= 2 * (good + LONG)
    assert first - good >= first / 2 - FAIR_TRY
    assert drought.ends_row(20_001, new=False) is None
    for n in range(20_001, 40_000):
        drought.ends_row(n, new=True)
    assert not drought.is_long(40_000)


def test_pages_that_nobody_looked_at() -> None:
    """Where most fetches are redirects, and of the pages one text in four is looked at, 2% of pages are no drought: a
    page counts as the last one of its section at which anybody looked.
    """
    section = Section(b"key", "shape", DiskQueue(None, b"key", empty=True))  # type: ignore[arg-type]
    drought, good = Drought(), 0
    ends = []
    for n in range(1, 6 * FAIR_TRY + 1):
        is_page = n % 50 == 0
        good += is_page
        said = section.look(good=is_page, is_new=True if is_page and good % 4 == 0 else None)
        ends.append(drought.ends_row(n, new=said))
    assert {*ends} == {None, False}
    assert section.news == good
    assert section.looked_at == section.asked - good + good // 4


def test_what_is_finite_and_says_nothing(bench: Bench) -> None:
    """A list of 30,000 pages without a word that is new is left in a long drought, though it has an end."""
    bench.add("home")

    def links(address: str) -> list[Link]:
        name = address.rpartition("/")[2]
        if name == "home":
            return [*(url(f"good/{n}") for n in range(200)), *(url(f"list/{n}") for n in range(30_000))]
        return [url("home")]

    fetched = bench.surf(links, budget=40_000, is_good=lambda address: "/good/" in address)
    assert {f"http://a.example/good/{n}" for n in range(200)} <= set(fetched)
    assert bench.frontier.is_finished()
    assert len(fetched) < 2 * (200 + LONG)


def relative(address: str) -> list[Link]:
    """Each page leads to itself with one more folder, twice: links that were meant from the root."""
    path = address.removeprefix("http://a.example/")
    return [url(f"{path}/a"), url(f"{path}/b")]


def test_links_that_lead_ever_deeper(bench: Bench) -> None:
    """A site that says one thing at addresses without end is left, although nothing else is there."""
    bench.add("home")
    fetched = bench.surf(relative, budget=10_000, is_good=lambda _: False)
    assert bench.frontier.is_finished()
    assert len(fetched) < 4 * FAIR_TRY
    (host,) = bench.frontier.hosts.live()
    assert {one.trap.reason for one in host.sections.values() if one.queued} == {Reason.DRY}


def test_nothing_is_probed_and_a_restart_changes_nothing(bench: Bench) -> None:
    """What was left stays so when the crawl is resumed, until a row of fetches brings something new."""
    bench.add("home")
    bench.surf(relative, budget=10_000, is_good=lambda _: False)
    bench.restart()
    assert bench.frontier.next() is None
    bench.add(*(f"new/{n}" for n in range(3 * FAIR_TRY)))
    fetched = bench.surf(lambda address: [], budget=FAIR_TRY + 50)
    assert sum("/new/" in address for address in fetched) >= FAIR_TRY
    (host,) = bench.frontier.hosts.live()
    assert not any(one.trap.reason == Reason.DRY for one in host.sections.values())


def test_poor_and_finite(bench: Bench) -> None:
    """Of a site that ends all comes in, however little it says: its pages link to what is known, more and more."""
    pages = 3000

    def links_of(address: str) -> list[Link]:
        number = int(address.rpartition("/")[2])
        return [url(f"p/{n}") for n in (2 * number + 1, 2 * number + 2, 7 * number % pages) if n < pages]

    bench.add("p/0")
    assert len(bench.surf(links_of, is_good=lambda address: address.endswith("00"))) == pages


def test_pages_that_are_visited_again(bench: Bench) -> None:
    """Nights on which nothing has changed are no drought."""
    names = [f"p/{n}" for n in range(20)]
    bench.add(*names)
    bench.surf(lambda address: [])
    for name in names:
        bench.frontier.again(url(name).key)
    while (visit := bench.frontier.next()) is not None:
        assert visit.news.is_new
        bench.finish(visit, good=False)
        names.pop()
    assert not names


@pytest.mark.parametrize("says", [True, False])
def test_a_large_tree(bench: Bench, *, says: bool) -> None:
    """Of a tree, whose links are all new, all comes in where nobody had its contents, be they worth having or not."""

    def links_of(address: str) -> list[Link]:
        number = int(address.rpartition("/")[2])
        return [url(f"p/{n}") for n in range(4 * number + 1, 4 * number + 5) if n < 4000]

    bench.add("p/0")
    fetched = []
    while (visit := bench.frontier.next()) is not None:
        fetched.append(visit.url)
        bench.link(visit, *links_of(visit.url))
        visit.news.is_new = says
        bench.finish(visit, good=False)
    assert (len({*fetched}) == 4000) is says


MENU = " ".join(f"menu{n}" for n in range(300))


def article(name: str) -> str:
    return f"{MENU} " + " ".join(f"{name}word{n}" for n in range(60))


def test_news() -> None:
    """Of pages that nobody had: an article is news, the same words on another day or in another order are not."""
    drought = Drought()
    entries = [f"product {n} is red and costs {n} euros" for n in range(40)]
    for n in range(8):
        drought.is_news(shingles(article(f"a{n}")))
    assert drought.is_news(shingles(article("another")))
    assert drought.is_news(shingles(f"{MENU} {' '.join(entries)}"))
    assert not drought.is_news(shingles(f"{MENU} {' '.join(entries[::-1])}"))
    assert not any(drought.is_news(shingles(f"{article('another')} 2031 {n}")) for n in range(28))
    numbered = [" ".join(f"product {n * m % 97}" for n in range(60)) for m in range(1, 30)]
    assert not any(drought.is_news(shingles(f"{MENU} {text}")) for text in numbered)
    assert drought.is_news(b"")  # a file
    assert drought.is_news(None) is None


def surf(bench: Bench, text_of: Callable[[str], str], links_of: Callable[[str], list[str]]) -> list[str]:
    """Fetch pages with texts of their own, each of which is good, until the crawl ends; gives their names."""
    bench.add("home")
    fetched: list[str] = []
    while (visit := bench.frontier.next()) is not None and len(fetched) < 20 * FAIR_TRY:
        name = visit.url.removeprefix("http://a.example/")
        fetched.append(name)
        bench.link(visit, *map(url, links_of(name)))
        visit.news.is_new = bench.frontier.hosts.named("a.example").drought.is_news(shingles(text_of(name)))
        bench.finish(visit)
    return fetched


def test_an_empty_calendar(bench: Bench) -> None:
    """It has a date of its own on each page, and no end: its months are left, and with them its days."""
    articles = [f"article/{n}" for n in range(100)]

    def links_of(name: str) -> list[str]:
        kind, *numbers = name.split("/")
        if kind == "month":
            month = int(numbers[0])
            return [f"month/{month + 1}", f"month/{month - 1}", *(f"day/{month}/{day}" for day in range(1, 29))]
        return [*articles, "month/24000"] if kind == "home" else ["home"]

    def text_of(name: str) -> str:
        return article("nothing is on") + f" {name}" if name.startswith(("month", "day")) else article(name)

    fetched = surf(bench, text_of, links_of)
    assert {*articles} < {*fetched}
    assert len(fetched) < 6 * FAIR_TRY
    assert bench.frontier.is_finished()


def test_what_endless_lists_lead_to(bench: Bench) -> None:
    """Lists that go on past their end are left, and none of what they have led to."""
    articles = 2000

    def links_of(name: str) -> list[str]:
        kind, _, number = name.partition("/")
        if kind == "article":
            return ["home"]
        page = int(number or 0)
        return [f"list/{page + 1}", *(f"article/{n}" for n in range(10 * page, 10 * page + 10) if n < articles)]

    fetched = surf(bench, lambda name: MENU if name.startswith("list") else article(name), links_of)
    assert sum(name.startswith("article") for name in fetched) == articles
    assert len(fetched) < 3 * articles
    assert bench.frontier.is_finished()
