"""What pages are made of, in a frontier on disk: it changes nothing about pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from database_files import put_away
from frontier_helpers import Bench, all_credit, check_sections, url
from frontiers import PART

from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.page.items import Link

TRAPS = TrapOptions(min_fetches=10, host_size=50, allowance=30, least_budget=30, last_budget=30)
"""The judge's rules, for sites of tens of pages."""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[[FrontierOptions], Bench]]:
    made: list[Bench] = []

    def make(options: FrontierOptions) -> Bench:
        made.append(Bench(tmp_path / f"db{len(made)}", "aopic", options=options))
        return made[-1]

    yield make
    for one in made:
        put_away(one.database)


def calendar(address: str) -> list[Link]:
    """A site of articles with a calendar without end."""
    number = address.rpartition("/")[2]
    if number == "home":
        return [*(url(f"art/{n}") for n in range(60)), url("cal/1")]
    return [url(f"cal/{2 * int(number) + n}") for n in range(2)] if "/cal/" in address else []


def surf(crawl: Bench, images: int) -> tuple[list[str], int]:
    """Fetch all that is to be fetched, each page with so many images of its own; the pages, and how many images."""
    pages, parts = [], 0
    while (visit := crawl.frontier.next()) is not None:
        if visit.is_requisite:
            parts += 1
        else:
            pages.append(visit.url)
            crawl.link(visit, *calendar(visit.url))
            found = [url(f"i/{len(pages)}-{n}.png", f"{'ab'[n % 2]}.example") for n in range(images)]
            crawl.frontier.add(found, depth=visit.depth, referrer=visit.key, asked=PART)
        crawl.finish(visit)
    crawl.commit()
    return pages, parts


def host(crawl: Bench, name: str) -> Host:
    found = crawl.frontier.hosts.get(crawl.frontier.hosts.key_of(name))
    assert found is not None
    return found


def test_traps_are_judged_as_without(bench: Callable[[FrontierOptions], Bench]) -> None:
    """Thousands of images hold nothing back and free nothing; all pages that are none of a trap come in."""
    plain, full = (bench(FrontierOptions(traps=TRAPS, requisites=wanted)) for wanted in (False, True))
    for crawl in (plain, full):
        crawl.add("home")
    without, _ = surf(plain, 0)
    pages, parts = surf(full, 40)
    assert sorted(page for page in pages if "/cal/" not in page) == sorted(p for p in without if "/cal/" not in p)
    assert sum("/cal/" in page for page in pages) < 2 * sum("/cal/" in page for page in without)
    assert parts == 40 * len(pages)
    section = next(one for one in host(full, "a.example").sections.values() if one.is_requisites)
    assert not section.trap.demoted
    assert full.section_of("cal/1").trap.demoted
    assert not host(full, "a.example").trap.demoted
    assert host(full, "a.example").known == host(plain, "a.example").known + len(pages) - len(without)
    check_sections(full.frontier)


def test_no_credit_is_made_or_lost(bench: Callable[[FrontierOptions], Bench]) -> None:
    """Requisites have no importance, and leave the ledger as it is."""
    crawl = bench(FrontierOptions(traps=TRAPS, requisites=True))
    crawl.add("home")
    crawl.commit()
    total = all_credit(crawl.frontier)
    surf(crawl, 5)
    assert all_credit(crawl.frontier) == total
    images = [crawl.record(f"i/1-{n}.png", f"{'ab'[n % 2]}.example") for n in range(5)]
    assert [(one.state, one.history, one.flags & Flag.REQUISITE) for one in images] == [
        (UrlState.REQUISITE, 0.0, Flag.REQUISITE)
    ] * 5


def test_a_full_crawl_fetches_requisites_alone(bench: Callable[[FrontierOptions], Bench]) -> None:
    """It is finished when no more of them wait."""
    crawl = bench(FrontierOptions(requisites=True, max_pages=1))
    crawl.add("home", "other")
    home = crawl.frontier.next()
    assert home is not None
    crawl.frontier.add([url("i"), url("j", "b.example")], depth=0, referrer=home.key, asked=PART)
    crawl.finish(home)
    assert crawl.frontier.figures.is_full
    assert not crawl.frontier.is_finished()
    assert crawl.frontier.next_time() == 0.0
    for _ in range(2):
        visit = crawl.frontier.next()
        assert visit is not None
        assert visit.is_requisite
        crawl.finish(visit)
    assert crawl.frontier.next() is None
    assert crawl.frontier.is_finished()
    assert (crawl.frontier.counts.fetched, crawl.frontier.counts.requisites, crawl.frontier.figures.waiting) == (
        1,
        2,
        1,
    )


def test_a_host_that_has_given_requisites_alone_has_answered(bench: Callable[[FrontierOptions], Bench]) -> None:
    """It has the patience of a host that is known, and what waits for it is not given up when it ceases to answer."""
    crawl = bench(FrontierOptions(requisites=True))
    crawl.add("home")
    home = crawl.frontier.next()
    assert home is not None
    crawl.frontier.add([url("i", "b.example")], depth=0, referrer=home.key, asked=PART)
    crawl.finish(home)
    assert not host(crawl, "b.example").has_answered
    visit = crawl.frontier.next()
    assert visit is not None
    crawl.finish(visit)
    crawl.restart()
    assert host(crawl, "b.example").has_answered
    assert host(crawl, "b.example").fetched == 0
