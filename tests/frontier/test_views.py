"""Two views of one page show what in its links is new at each view."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import put_away
from dust_strategies import A
from form_sites import Site, begin, number, rules
from frontier_helpers import Bench

from sitecrawl.frontier.forms.classes import ClassRow, content_id, is_one_content, is_one_title
from sitecrawl.frontier.forms.evidence import Evidence, State
from sitecrawl.frontier.forms.parts import split
from sitecrawl.frontier.forms.views import minted


def mints(first: list[str], second: list[str]) -> list[str]:
    return [str(rule) for rule in minted([split(A + path) for path in first], [split(A + path) for path in second])]


@pytest.mark.parametrize(
    ("path_of", "rule"),
    [
        (lambda page, view: f"/p?id={page}&v={view}{page}", 'without "v" in /p'),
        (lambda page, view: f"/p/{page}?v={view}", 'without "v" in /p/*'),
        (lambda page, view: f"/p?id={page}&t={view}{page}&v={view}", 'without "t", "v" in /p'),
        (lambda page, view: f"/S{view}/p/{page}", "without path segment 1 in /p/*"),
        (lambda page, view: f"/p/{page};v={view}", 'without ";v" in /p/*'),
        (lambda page, view: f"/p/{page}?v={view}" if page > 1 else f"/?v={view}", 'without "v" anywhere'),
    ],
)
def test_what_is_minted(path_of, rule):
    """What is new in each link of the second view, beside links that stay and links to random pages."""
    views = [
        ["/about", "/p/terms?print=1", *(path_of(page, view) for page in (1, 2, 3, 4, 50 + view, 60 + view))]
        for view in (7, 8)
    ]
    assert rule in mints(*views)
    assert not mints(views[0], views[0])


def test_a_session_before_each_name():
    """Each of these pages has a place of its own."""
    views = [[f"/S{view}/{name}.php" for name in ("news", "about", "terms", "staff")] for view in (7, 8)]
    assert mints(*views) == ["without path segment 1 anywhere"]
    assert not mints(*([*view, "/S0/start.php"] for view in views))


@pytest.mark.parametrize(
    "path_of",
    [
        pytest.param(lambda page, view: f"/p?id={page}&v=3", id="what all links have"),
        pytest.param(lambda page, view: f"/p?id={page}" + f"&v={view}" * (page < 3), id="two links are too few"),
        pytest.param(lambda page, view: f"/p?id={page * view}", id="other pages"),
        pytest.param(lambda page, view: f"/p?id={page if page > 2 else page * view}", id="some other pages"),
    ],
)
def test_what_is_not_minted(path_of):
    assert not mints(*([path_of(page, view) for page in range(1, 6)] for view in (7, 8)))


def noisy(pages: int = 300) -> Site:
    return Site(
        pages,
        lambda page, n: f"p?id={page}&v={n}",
        lambda name: number(name.partition("id=")[2].partition("&")[0]),
        changes=True,
    )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


def test_a_site_that_changes_at_each_view(bench):
    """Links and pages of a site are new at each view: it comes in whole for less than 2 fetches a page, and ends."""
    site = noisy()
    begin(bench, site)
    site.crawl(bench)
    assert len(site.came) == site.pages
    assert State.MINTED in rules(bench).values()
    assert len(site.fetched) < 2 * site.pages
    assert bench.frontier.is_finished()


def test_a_site_that_only_grows(bench):
    """Where nothing is minted a few pages are fetched a second time, and all come in."""
    site = Site(400, lambda page, n: f"p?id={page}", lambda name: number(name.partition("id=")[2]), goes_on=True)
    begin(bench, site)
    site.crawl(bench)
    assert len(site.came) == site.pages
    assert not rules(bench)
    assert Counter(Counter(site.fetched).values())[2] <= 4


def test_values_that_choose_all_the_same(bench):
    """Each page has a random link in each of three folders, and no others: titles show that these are pages."""
    turns = itertools.count()
    site = Site(
        200,
        lambda page, n: f"{'xyz'[n % 3]}?id={page if n < 600 else (page + next(turns)) % 200}",
        lambda name: number(name.partition("id=")[2]),
        changes=True,
    )
    begin(bench, site)
    site.crawl(bench, budget=3_000)
    assert len(site.came) == site.pages


def test_a_restart_between_the_views(tmp_path):
    """The page is fetched again, and shows nothing; the next that is looked at does."""
    bench, site = Bench(tmp_path / "db", "aopic"), noisy()
    begin(bench, site)
    while len(site.fetched) == len({*site.fetched}):
        visit = bench.frontier.next()
        assert visit is not None
        if visit.again:
            bench.reopen()
            break
        site.fetch(bench, visit)
    site.crawl(bench)
    assert len(site.came) == site.pages
    assert State.MINTED in rules(bench).values()
    put_away(bench.database)


def test_evidence():
    """What was minted joins all, until two tests fail; then no view counts for it any more."""
    evidence = Evidence()
    assert evidence.mint()
    assert not evidence.mint()
    evidence.pair(1, same=False)
    assert evidence.is_active
    assert evidence.opens(1)
    assert evidence.opens(2)
    evidence.test(1, same=False)
    assert not evidence.opens(1)
    assert evidence.opens(2)
    assert Evidence.unpack(evidence.pack()) == evidence
    evidence.test(2, same=False)
    assert evidence.state == State.DROPPED
    assert not evidence.mint()
    for state in State.REFUSED, State.ORDERED:
        assert not Evidence(state).mint()


def test_content_ids(bench):
    """A content is known by its first page and its title; rows of older crawls have no title."""
    one, other = content_id(b"12345678 and more", b"a title."), content_id(b"87654321", b"a title.")
    assert is_one_content(one, content_id(b"12345678", b"another."))
    assert not is_one_content(one, other)
    assert is_one_title(one, other)
    assert is_one_title(one, content_id(b"87654321", b"another.")) is False
    old = ClassRow(b"p" * 16, b"12345678", b"o" * 16, 2)
    batch = bench.database.batch()
    batch.put("classes", b"k", old.page + old.content + old.other + b"\2")
    bench.database.write(batch)
    row = bench.frontier.forms._classes.get(b"k")
    assert row == old._replace(content=b"12345678" + bytes(8))
    assert is_one_title(row.content, one) is None
