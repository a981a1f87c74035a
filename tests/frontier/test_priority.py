"""A link's priority: what a spider wants most comes first, in every order, and a known URL can be wanted more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from frontier_helpers import Bench, all_credit, check_sections, url

from sitecrawl.frontier.urls.order import ORDERS
from sitecrawl.page.items import Link


def wanted(name: str, priority: int, host: str = "a.example") -> Link:
    return replace(url(name, host), priority=priority)


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_the_greatest_comes_first(tmp_path: Path, order: str) -> None:
    """Over sections and hosts; and a visit knows its own."""
    bench = Bench(tmp_path, order)
    bench.add("seed")
    visit = bench.take("seed")
    bench.link(
        visit, wanted("low", 1), wanted("high", 9), wanted("s/mid", 5), wanted("none", 0), wanted("b", 7, "b.example")
    )
    bench.finish(visit)
    assert bench.drain() == ["high", "b", "mid", "low", "none"]


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("order", sorted(ORDERS))
def test_a_known_url_is_wanted_more(tmp_path: Path, order: str, crash: bool) -> None:
    """The greatest priority of all links to it counts, once it is on disk too, and nothing is lost or comes twice."""
    bench = Bench(tmp_path, order)
    bench.add("seed", "other")
    first, second = bench.frontier.next(), None
    assert first is not None
    bench.link(first, wanted("x", 2), wanted("y", 3), wanted("z", 4))
    bench.finish(first)
    bench.commit()
    second = bench.frontier.next()
    assert second is not None
    bench.link(second, wanted("x", 8), wanted("z", 1), wanted("y", 3))
    if second.url.endswith(("x", "y", "z")):  # links go before seeds where there are no levels
        assert second.url.endswith("z")
    bench.finish(second)
    bench.commit()
    check_sections(bench.frontier)
    held = all_credit(bench.frontier)
    if crash:
        bench.crash()
    assert all_credit(bench.frontier) == held
    rest = bench.drain()
    assert rest[0] == "x"
    assert sorted([first.url[-1], second.url[-1], *(name[-1] for name in rest)]) == sorted("drxyz")


def test_levels_are_counted_right(tmp_path: Path) -> None:
    """A URL that goes last, and then is wanted, belongs to its level again."""
    bench = Bench(tmp_path, "bfs")
    bench.add("a", "b")
    first = bench.take("a")
    bench.link(first, wanted("x", -5))
    assert +bench.frontier.counts.levels == {0: 2}
    bench.finish(first)
    second = bench.take("b")
    bench.link(second, wanted("x", 5))
    assert +bench.frontier.counts.levels == {0: 1, 1: 1}
    bench.finish(second)
    assert bench.drain() == ["x"]
    assert not +bench.frontier.counts.levels
