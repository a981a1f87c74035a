"""What is otherwise for some hosts: pauses, seats, turns, and how many URLs and how deep."""

from __future__ import annotations

from collections import Counter

import pytest
from database_files import put_away
from frontier_helpers import RUDE, Bench, url
from frontiers import PART

from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.sites import UNPROVEN
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.http.sheets import Sheet

SLOW = PolitenessOptions(delay=1.0, delay_factor=0.0, failure_delay=0.0, per_ip=0)


@pytest.fixture
def bench(tmp_path):
    made: list[Bench] = []

    def make(*sheets: Sheet, order="bfs", politeness=RUDE, **options) -> Bench:
        made.append(Bench(tmp_path / "db", order, politeness, FrontierOptions(**options), sheets=sheets))
        return made[0]

    yield make
    put_away(made[0].database)


def times_of(crawl: Bench) -> dict[str, list[float]]:
    """When each host was asked, until all is fetched."""
    times: dict[str, list[float]] = {}
    while not crawl.frontier.is_finished():
        if (visit := crawl.frontier.next()) is None:
            crawl.now += crawl.frontier.next_time() or 0.0
            continue
        times.setdefault(visit.url.split("/")[2], []).append(crawl.now - 1000.0)
        crawl.finish(visit)
    return times


def taken(crawl: Bench, most: int) -> list[str]:
    """The names of those that are handed out now, and stay in flight."""
    visits = [crawl.frontier.next() for _ in range(most)]
    return [visit.url.rpartition("/")[2] for visit in visits if visit is not None]


# Delay and concurrency


def test_a_host_has_the_delay_of_its_sheet(bench):
    """One host is asked every 5 seconds, and another as often as the crawl has it."""
    crawl = bench(Sheet(hosts=("slow.example",), delay=5.0), politeness=SLOW)
    for host in ("slow.example", "a.example"):
        crawl.add("1", "2", "3", host=host)
    assert times_of(crawl) == {"slow.example": [0.0, 5.0, 10.0], "a.example": [0.0, 1.0, 2.0]}


def test_a_sheet_does_not_shorten_what_robots_txt_asks_for(bench):
    """A Crawl-delay is the least pause, whatever a sheet says."""
    crawl = bench(Sheet(hosts=("a.example",), delay=0.0), politeness=SLOW)
    crawl.frontier.manners.slow_down("a.example", 7.0)
    crawl.add("1", "2")
    assert times_of(crawl) == {"a.example": [0.0, 7.0]}


def test_a_host_has_the_seats_of_its_sheet(bench):
    """Three requests at a time are under way on a host whose sheet says so."""
    crawl = bench(Sheet(hosts=("a.example",), concurrency=3))
    crawl.add("1", "2", "3", "4")
    assert taken(crawl, 4) == ["1", "2", "3"]


def test_seats_of_an_address_stay_as_they_are(bench):
    """A sheet gives no host more requests than its IP address may have."""
    crawl = bench(Sheet(hosts=("*",), concurrency=3), politeness=PolitenessOptions(delay_factor=0.0, per_ip=2))
    crawl.add("0", "1", "2", "3")
    crawl.finish(crawl.take("0"), ip="10.0.0.1")
    assert taken(crawl, 3) == ["1", "2"]


def test_a_name_in_a_pool_has_the_delay_of_its_own_sheet(bench):
    """What is fetched of a name without a record makes its pool rest as the sheet of that name says."""
    crawl = bench(Sheet(hosts=("*.slow.site.com",), delay=5.0), politeness=SLOW)
    for number in range(UNPROVEN):
        crawl.add("x", host=f"h{number}.site.com", depth=1)
    crawl.add("1", host="a.slow.site.com", depth=2)
    crawl.add("2", host="b.site.com", depth=3)
    times = times_of(crawl)
    assert times["b.site.com"][0] - times["a.slow.site.com"][0] == 5.0


def test_a_host_that_a_sheet_names_is_in_no_pool(bench):
    """A name that a person has written down has a record of its own, however many its site has."""
    crawl = bench(Sheet(hosts=("named.site.com",), delay=5.0))
    for number in range(UNPROVEN):
        crawl.add("x", host=f"h{number}.site.com", depth=1)
    crawl.add("1", host="named.site.com", depth=1)
    crawl.add("1", host="other.site.com", depth=1)
    names = {host.name for host in crawl.frontier.hosts.live()}
    assert "named.site.com" in names
    assert "other.site.com" not in names


# Priority


def test_a_host_gets_more_turns(bench):
    """With priority 3 a host gets three turns where another of the same trust gets one."""
    crawl = bench(Sheet(hosts=("a.example",), priority=3.0), order="aopic")
    for host in ("a.example", "b.example"):
        crawl.add(*(f"{number}" for number in range(100)), host=host)
    asked: Counter[str] = Counter()
    for _ in range(80):
        visit = crawl.frontier.next()
        assert visit is not None
        asked[visit.url.split("/")[2]] += 1
        crawl.finish(visit)
    assert 55 <= asked["a.example"] <= 65


# How many


def test_no_more_than_max_pages_of_a_host(bench):
    """Of a host as many URLs are fetched as its sheet says, of others all; the rest waits, and is counted as held."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=2))
    crawl.add("1", "2", "3", "4")
    crawl.add("1", "2", "3", host="b.example")
    times = times_of(crawl)
    assert {host: len(urls) for host, urls in times.items()} == {"a.example": 2, "b.example": 3}
    assert (crawl.frontier.figures.waiting, crawl.frontier.figures.held_back) == (2, 2)


def test_max_pages_counts_what_is_under_way(bench):
    """With seats enough for all, no URL is handed out that could be one too many; one that fails makes room."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=2, concurrency=9))
    crawl.add("1", "2", "3", "4")
    visits = crawl.take("1"), crawl.take("2")
    assert crawl.frontier.next() is None
    assert not crawl.frontier.is_finished()
    crawl.finish(visits[0], UrlState.FAILED)
    crawl.take("3")
    assert crawl.frontier.next() is None


def test_max_pages_of_a_host_holds_over_all_runs(bench):
    """What was fetched in the run before counts, also where it was killed; a greater number goes on."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=3))
    crawl.add("1", "2", "3", "4", "5")
    crawl.finish(crawl.take("1"))
    crawl.finish(crawl.take("2"))
    crawl.restart()
    assert crawl.drain() == ["3"]
    crawl.restart()
    assert crawl.drain() == []
    crawl.sheets = [Sheet(hosts=("a.example",), max_pages=4)]
    crawl.restart()
    assert crawl.drain() == ["4"]
    crawl.sheets = []
    crawl.restart()
    assert crawl.drain() == ["5"]


def test_a_host_that_is_full_is_told_with_its_reason(bench):
    """It is held back for being full, and not as a trap: nothing of it is probed."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=1), order="aopic")
    crawl.add("1", "2", "3")
    assert crawl.drain() == ["1"]
    ((host, section),) = crawl.frontier.judge.units_held(())
    assert (host.name, section, host.trap.reason) == ("a.example", None, Reason.FULL)


def test_requisites_of_a_full_host_come_in(bench):
    """What the pages of a host are made of is fetched after its limit, and the crawl does not end before."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=1), order="aopic", requisites=True)
    crawl.add("1", "2")
    visit = crawl.take("1")
    crawl.frontier.add([url("picture")], depth=0, referrer=visit.key, asked=PART)
    crawl.finish(visit)
    assert not crawl.frontier.is_finished()
    crawl.finish(crawl.take("picture"))
    assert crawl.frontier.is_finished()


def test_a_recrawl_of_a_full_host_goes_on(bench):
    """A URL that was fetched may be fetched again: it is one of those that the limit allows."""
    crawl = bench(Sheet(hosts=("a.example",), max_pages=1))
    crawl.add("1")
    assert crawl.drain() == ["1"]
    assert crawl.frontier.again(url("1").key)
    assert crawl.drain() == ["1"]


# How deep


def test_a_host_has_the_depth_of_its_sheet(bench):
    """Links are followed to a host as far from the seeds as its sheet has it, and to others as the crawl has it."""
    crawl = bench(
        Sheet(hosts=("near.example",), max_depth=1), Sheet(hosts=("far.example",), max_depth=0), max_depth=2
    )
    for host in ("near.example", "far.example", "a.example"):
        crawl.add(f"1-{host}", host=host, depth=1)
        crawl.add(f"2-{host}", host=host, depth=2)
        crawl.add(f"3-{host}", host=host, depth=3)
    assert sorted(crawl.drain()) == [
        "1-a.example", "1-far.example", "1-near.example", "2-a.example", "2-far.example", "3-far.example",
    ]  # fmt: skip


def test_links_of_one_page_are_of_different_depths(bench):
    """Of a page's links those are left out that are too deep for their hosts, and no others."""
    crawl = bench(Sheet(hosts=("b.example",), max_depth=1), order="aopic")
    crawl.add("seed", depth=1)
    visit = crawl.take("seed")
    assert crawl.link(visit, url("a"), url("b", "b.example")) == 1
