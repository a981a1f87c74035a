"""Of a site that is named, and whose pages say something new, nothing is given up, whatever was thought of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.page.items import Link

BUDGET = 400
TRAPS = TrapOptions(min_fetches=10, host_size=20, least_budget=10, allowance=5, last_budget=BUDGET)
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


def crawled(bench: Bench, links: Callable[[str], Iterable[str]], *, host: str = "a.example") -> list[str]:
    """What is fetched from `home` on. A page is called by its path, or on another host by that, too, after `//`."""
    bench.add("home", host=host)

    def links_of(address: str) -> list[Link]:
        return [link_of(name) for name in links(name_of(address))]

    def link_of(name: str) -> Link:
        if not name.startswith("//"):
            return url(name, host=host)
        other, path = name.removeprefix("//").split("/", 1)
        return url(path, host=other)

    def name_of(address: str) -> str:
        return address.removeprefix("http:").removeprefix(f"//{host}/")

    return [name_of(address) for address in bench.surf(links_of)]


def tree(name: str, size: int) -> list[str]:
    """The links of `name`, which ends in its number, in a tree of `size` pages: the first, and two below each."""
    folder, _, number = name.rpartition("/")
    below = [2 * int(number), 2 * int(number) + 1]
    return [f"{folder}/{n}" for n in (1, *below) if n <= size]


@pytest.mark.parametrize("seed", range(40))
def test_a_site_within_the_budget_comes_in_whole(bench: Bench, seed: int) -> None:
    pages = site(Random(seed))
    fetched = crawled(bench, pages.__getitem__)
    assert set(fetched) == set(pages)
    assert not bench.frontier.counts.queued


def test_one_section_that_is_the_site(bench: Bench) -> None:
    """A tree of articles beside a few other pages: each brings new ones up to the last, as a trap does."""

    def links(name: str) -> list[str]:
        if name == "home":
            return ["art/1", *(f"about/{n}" for n in range(12))]
        return tree(name, BUDGET - 1) if name.startswith("art/") else ["home"]

    fetched = crawled(bench, links)
    assert len(fetched) == 1 + BUDGET - 1 + 12
    assert not bench.frontier.counts.queued


def test_another_host_of_the_site(bench: Bench) -> None:
    """What is found on another host of a seed's domain is as wanted as what is on the seed's."""

    def links(name: str) -> list[str]:
        if name == "home":
            return ["//docs.a.com/art/1", *(f"about/{n}" for n in range(12))]
        return tree(name, BUDGET - 1) if name.startswith("//docs.") else ["home"]

    fetched = crawled(bench, links, host="www.a.com")
    assert len(fetched) == 1 + BUDGET - 1 + 12
    assert not bench.frontier.counts.queued


def test_a_trap_has_its_budget_and_no_more(bench: Bench) -> None:
    """New texts without end cost as much as was allowed, once: a crawl that goes on later does not begin again."""

    def links(name: str) -> list[str]:
        if name == "home":
            return ["trap/1", *(f"good/{n}" for n in range(30))]
        return tree(name, 10**9) if name.startswith("trap/") else ["home"]

    fetched = crawled(bench, links)
    assert sum(name.startswith("trap/") for name in fetched) == BUDGET
    assert len(fetched) == 1 + 30 + BUDGET
    assert bench.frontier.is_finished()
    bench.reopen()
    assert bench.frontier.is_finished()
    assert bench.frontier.next() is None


def test_traps_on_many_hosts_of_a_site(bench: Bench) -> None:
    """They share one budget: names cost nothing."""
    hosts = [f"//n{n}.a.com/trap" for n in range(8)]

    def links(name: str) -> list[str]:
        if name == "home":
            return [*(f"{host}/1" for host in hosts), *(f"good/{n}" for n in range(30))]
        return tree(name, 10**9) if "/trap/" in name else ["home"]

    fetched = crawled(bench, links, host="www.a.com")
    trapped = [name for name in fetched if "/trap/" in name]
    assert {name.rpartition("/")[0] for name in trapped} == set(hosts)
    assert BUDGET <= len(trapped) < 2 * BUDGET
    assert bench.frontier.is_finished()
