"""Rules about URLs lose no page, whatever a site does: all texts that any URL of it has come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest
from database_files import put_away
from form_sites import Site, begin, name_of, number, rules, stored
from frontier_helpers import Bench, check_sections

PAGES = 240
"""Of a site. Those of the gate are as small as lets a rule be trusted, and many URLs be joined before it is refuted.
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


def keys(name: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in name.partition("?")[2].split("&") if part)


def page_of(name: str) -> int:
    return number(name.partition("?")[0].rpartition("/")[2])


def draw(*facts: object) -> int:
    return crc32(repr(facts).encode())


def site(
    name_of: Callable[[int, int], str], other: Callable[[dict[str, str], int, str], object], pages: int = PAGES
) -> Site:
    """`other` says which text of a page a URL has, by its keys, the page's number and its whole name."""
    return Site(pages, name_of, page_of, lambda name, page: f"{other(keys(name), page, name) or ''} text of {page}")


def one_value(pages: int = PAGES) -> Site:
    """Of forty values of a key one chooses another text."""
    return site(lambda page, n: f"p/{page}?v={n % 20}", lambda given, page, name: given["v"] == "7", pages)


def one_folder() -> Site:
    """The key chooses in one folder of eight."""
    folders = "abcdefgh"
    return site(
        lambda page, n: f"{folders[page % 8]}/{page}?v={n % 3}",
        lambda given, page, name: name.startswith("c/") and given["v"],
    )


def late() -> Site:
    """The key chooses on pages that lie far behind."""
    made = site(lambda page, n: f"p/{page}?v={n % 2}", lambda given, page, name: page > 150 and given["v"] == "1")
    made.goes_on = True
    return made


def without_two() -> Site:
    """Three keys choose nothing together, and one of them does where the others are missing."""
    return site(
        lambda page, n: f"p/{page}?" + (f"a={n % 5}" if n % 6 == 0 else f"a={n}&b={n}&c={n}"),
        lambda given, page, name: "b" not in given and given["a"],
    )


def by_chance() -> Site:
    """A third of the printable versions says something else."""
    return site(
        lambda page, n: f"p/{page}" + ("?print=1" if n % 3 == 0 else ""),
        lambda given, page, name: given and draw("by chance", page) % 3 == 0,
    )


def one_joint_value(pages: int = PAGES) -> Site:
    """Two keys choose nothing, but where both have one value."""
    return site(
        lambda page, n: f"p/{page}?a={n % 4}&b={n // 4 % 4}",
        lambda given, page, name: given["a"] == given["b"] == "2",
        pages,
    )


def a_second_key(pages: int = PAGES) -> Site:
    """A session id chooses nothing, and a page of a list beside it does."""
    return site(
        lambda page, n: f"p/{page}?sid={n}" + (f"&page={n % 4}" if n % 2 else ""),
        lambda given, page, name: given.get("page", "0"),
        pages,
    )


def small(make: Callable[[int], Site], pages: int) -> object:
    return pytest.param(partial(make, pages), id=f"{make.__name__}-{pages}")


SMALL = [small(one_value, 60), small(one_joint_value, 57), small(a_second_key, 100)]
LARGE = [one_folder, late, by_chance]
DEEP = [
    *(pytest.param(make, marks=pytest.mark.deep) for make in (without_two, one_value, one_joint_value, a_second_key)),
    *(pytest.param(partial(one_joint_value, pages), marks=pytest.mark.deep) for pages in (60, 66, 80)),
]


def wanted(bench: Bench, made: Site) -> set[str]:
    return {made.text_of(name, made.page_of(name)) for name in map(name_of, stored(bench))}


def ends_complete(bench: Bench, made: Site) -> None:
    assert not wanted(bench, made) - made.came
    assert bench.frontier.is_finished()
    check_sections(bench.frontier)


@pytest.mark.parametrize("make", [*SMALL, *(pytest.param(make, marks=pytest.mark.deep) for make in LARGE), *DEEP])
def test_no_text_is_lost(bench, make):
    """Whichever URLs a rule is wrong for, their texts come in. The large sites are crawled with kills in the gate."""
    made = make()
    begin(bench, made)
    made.crawl(bench)
    ends_complete(bench, made)


@pytest.mark.parametrize("make", [*SMALL, *LARGE, *DEEP])
def test_none_is_lost_by_kills(bench, make):
    """Nor where the crawl is killed again and again, and forgets what is in memory only."""
    made = make()
    begin(bench, made)
    bench.commit()
    for budget in (40, 75, 110, 35, 90):
        made.crawl(bench, budget=budget)
        bench.crash()
    made.crawl(bench)
    ends_complete(bench, made)


def test_a_refuted_rule_gives_back_all(bench):
    """From some page on every form has a text of its own: all that was joined before is fetched."""
    made = site(lambda page, n: f"p/{page}?v={n % 4}", lambda given, page, name: False)
    begin(bench, made)
    made.crawl(bench, budget=200)
    assert bench.frontier.figures.joined
    assert rules(bench)
    made.text_of = lambda name, page: name
    made.crawl(bench)
    assert bench.frontier.figures.joined == 0
    assert set(made.fetched) == set(map(name_of, stored(bench)))
