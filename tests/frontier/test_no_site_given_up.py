"""Of a site that is named, and whose pages say something new, nothing is given up, whatever was thought of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.options import FrontierOptions, TrapOptions
from sitecrawl.page.items import Link

BUDGET = 400
TRAPS = TrapOptions(min_fetches=10, section_size=20, least_budget=10, first_probes=5, last_budget=BUDGET)
"""A judge in a hurry: what it has seen ten times it holds back."""

Site = dict[str, list[str]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "db", "aopic", options=FrontierOptions(traps=TRAPS))
    yield bench
    put_away(bench.database)


def site(numbers: Random) -> Site:
    """Some sections of pages, which are found in any manner: as a tree, in a row, from lists, or from anywhere."""
    names = [f"s{n}" for n in range(numbers.randint(1, 4))]
    found: Site = {"home": []}
    for name in names:
        size = numbers.choice([5, 30, BUDGET // len(names)])
        pages = [f"{name}/{n}" for n in range(size)]
        manner = numbers.choice(["tree", "row", "list", "anywhere"])
        for n, page in enumerate(pages):
            parent = {
                "tree": f"{name}/{(n - 1) // numbers.choice([2, 3])}",
                "row": f"{name}/{n - 1}",
                "list": "home",
                "anywhere": numbers.choice(sorted(found)),
            }[manner]
            found.setdefault("home" if n == 0 or parent not in found else parent, []).append(page)
            found[page] = ["home", pages[numbers.randrange(n + 1)]]
    return found


def crawled(bench: Bench, links: Callable[[str], Iterable[str]], budget: int = 20_000) -> list[str]:
    """The names of what is fetched from `home` on; of each page that `links` knows, it has the links."""
    bench.add("home")

    def links_of(address: str) -> list[Link]:
        return [url(name) for name in links(name_of(address))]

    return [name_of(address) for address in bench.surf(links_of, budget=budget)]


def name_of(address: str) -> str:
    return address.removeprefix("http://a.example/")


@pytest.mark.parametrize("seed", range(40))
def test_a_site_within_the_budget_comes_in_whole(bench: Bench, seed: int) -> None:
    pages = site(Random(seed))
    fetched = crawled(bench, pages.__getitem__)
    assert set(fetched) == set(pages)
    assert not bench.frontier.counts.queued


def test_one_section_that_is_the_site(bench: Bench) -> None:
    """A tree of articles beside a few other pages: each brings new ones up to the last, as a trap does."""
    size = BUDGET - 1

    def links(name: str) -> list[str]:
        if name == "home":
            return ["art/1", *(f"about/{n}" for n in range(12))]
        folder, _, number = name.partition("/")
        below = [2 * int(number), 2 * int(number) + 1] if folder == "art" else []
        return ["home", *(f"art/{n}" for n in below if n <= size)]

    fetched = crawled(bench, links)
    assert len(fetched) == 1 + size + 12
    assert not bench.frontier.counts.queued


def test_a_trap_has_its_budget_and_no_more(bench: Bench) -> None:
    """New texts without end cost as much as was allowed, once: a crawl that goes on later does not begin again."""

    def links(name: str) -> list[str]:
        if name == "home":
            return ["trap/1", *(f"good/{n}" for n in range(30))]
        folder, _, number = name.partition("/")
        return [f"trap/{3 * int(number) + n}" for n in range(3)] if folder == "trap" else ["home"]

    fetched = crawled(bench, links)
    assert sum(name.startswith("trap/") for name in fetched) == BUDGET
    assert len(fetched) == 1 + 30 + BUDGET
    assert bench.frontier.is_finished()
    bench.reopen()
    assert bench.frontier.is_finished()
    assert bench.frontier.next() is None
