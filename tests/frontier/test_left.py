"""What a crawl says of its last fetches, and of what it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.left import last_fetches
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.page.items import Link

GOOD = 60


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "db", "aopic")
    yield bench
    put_away(bench.database)


def maze(address: str) -> Iterable[Link]:
    """Good pages, and a folder of which each page links to twenty more."""
    if address.endswith("/home"):
        return [url("maze/0"), *(url(f"good/{n}") for n in range(GOOD))]
    folder, name = address.rsplit("/", 2)[1:]
    return [url(f"maze/{20 * int(name) + n}") for n in range(1, 21)] if folder == "maze" else []


def test_the_last_fetches_of_a_maze(bench: Bench) -> None:
    """As long as anything else is left nothing is said; then which set, how large, and at most how many fetches."""
    bench.add("home")
    told: list[int] = []
    while (visit := bench.frontier.next()) is not None:
        bench.link(visit, *maze(visit.url))
        bench.finish(visit)
        last = last_fetches(bench.frontier)
        assert (last is None) == (
            bench.frontier.counts.queued > bench.frontier.figures.held_back or bench.frontier.is_finished()
        )
        if last is not None:
            told.append(last.most)
            (section,) = (section for _, section in last.growing)
            assert section is not None
            size = f"a.example/maze/* ({section.queued:,} waiting, {section.trap.novelty:.1f} new a page)"
            said = f"only sets that grow are left: fetching 1 set, at most {last.most:,} more fetches while it grows"
            assert str(last) == f"{said}: {size}"
    assert len(told) > 20
    assert told == sorted(told, reverse=True)
    assert 0 <= told[0] - len(told) <= 1
    held = bench.frontier.figures.held
    assert held.sets == {Reason.GROWS: 1}
    assert held.urls == {Reason.GROWS: bench.frontier.figures.held_back}


def test_a_last_fetch_that_is_under_way(bench: Bench) -> None:
    """Until it is over nothing more can be handed out, and nobody asks."""
    bench.add("home")
    while last_fetches(bench.frontier) is None:
        visit = bench.frontier.next()
        assert visit is not None
        bench.link(visit, *maze(visit.url))
        bench.finish(visit)
    visit = bench.frontier.next()
    bench.now += 100
    assert bench.frontier.next() is None
    assert bench.frontier.next_time() is None
    bench.finish(visit)
    assert bench.frontier.next_time() == 0.0


def test_what_is_poor_and_ends(bench: Bench) -> None:
    """A section with hardly a good page comes last, all of it, and that is said."""
    bench.add("home")

    def links(address: str) -> Iterable[Link]:
        pages = [*(f"good/{n}" for n in range(150)), *(f"poor/{n}" for n in range(300))]
        return [url(page) for page in pages] if address.endswith("/home") else []

    words = set()
    while (visit := bench.frontier.next()) is not None:
        bench.link(visit, *links(visit.url))
        bench.finish(visit, good="poor" not in visit.url)
        if (last := last_fetches(bench.frontier)) is not None:
            words.add(str(last))
    assert words
    assert all(told.startswith("only what is worth little is left: fetching it, ") for told in words)
    assert all(told.endswith(" URLs of 1 set") for told in words)
    assert not bench.frontier.counts.queued


def test_what_is_blocked_is_left(bench: Bench) -> None:
    """It is counted by why it is held back; nothing of it is fetched, so nothing is said of last fetches."""
    bench.add("p/1", "p/2", "q/1", host="b.example")
    bench.frontier.by_hand.block(bench.frontier.hosts.named("b.example"))
    held = bench.frontier.figures.held
    assert (held.urls, held.sets) == ({Reason.BLOCKED: 3}, {Reason.BLOCKED: 1})
    assert bench.frontier.next() is None
    assert last_fetches(bench.frontier) is None
