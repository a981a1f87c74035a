"""Keys that are called as session ids are, and look like one: rules from the first link on, which tests may drop."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from pathlib import Path

import pytest
from database_files import put_away
from form_sites import Site, begin, number, rules
from frontier_helpers import Bench

from sitecrawl.frontier.forms.evidence import TESTS, Evidence, State
from sitecrawl.frontier.forms.rules import session_rules


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


def digits(of: int) -> str:
    return md5(str(of).encode(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("/viewtopic.php?t=1&sid=0123456789abcdef0123456789ABCDEF", ["sid"]),
        ("/p;session_id=0123456789abcdef?S=0123456789abcdef&page=2", [";session_id", "S"]),
        ("/article.php?sid=4711", []),
        ("/p?sid=0123456789abcdef-1", []),
        ("/p?t=1&said=0123456789abcdef", []),
        ("/s=0123456789abcdef", []),
    ],
)
def test_which_keys(url, names):
    assert [rule.what for rule in session_rules(f"http://a.example{url}")] == [(name,) for name in names]


def test_a_forum(bench):
    """Each link has another session: a page is fetched once, and a few are fetched again as tests."""
    pages = 200
    site = Site(
        pages, lambda page, n: f"t?id={page}&sid={digits(n)}", lambda name: number(name[5:].partition("&")[0])
    )
    begin(bench, site)
    site.crawl(bench)
    assert len(site.came) == pages
    assert {*rules(bench).values()} <= {State.KNOWN, State.MINTED}
    assert len(site.fetched) < 1.3 * pages
    assert bench.frontier.is_finished()


def test_a_forum_whose_session_ends(bench):
    """Only the first pages have the session in their links: the others are the same pages."""
    pages = 200
    site = Site(
        pages,
        lambda page, n: f"t?id={page}" + f"&sid={digits(n)}" * (n < 200),
        lambda name: number(name[5:].partition("&")[0]),
    )
    begin(bench, site)
    site.crawl(bench)
    assert len(site.came) == pages
    assert len(site.fetched) < 1.2 * pages


@pytest.mark.parametrize("has_one_title", [False, True])
def test_a_dictionary(bench, has_one_title):
    """Its entries are called by such a key: all come in for a few more fetches."""
    pages = 400
    entries = {digits(page): page for page in range(pages)}
    site = Site(
        pages,
        lambda page, n: f"entry?sid={digits(page)}",
        lambda name: entries[name[10:]],
        has_one_title=has_one_title,
    )
    begin(bench, site)
    site.crawl(bench)
    assert len(site.came) == pages
    assert len(site.fetched) <= pages + TESTS
    assert bench.frontier.is_finished()


def test_names_and_views():
    """A name that was wrong may still be shown to be new at each view."""
    evidence = Evidence(State.KNOWN)
    for _ in range(2):
        evidence.test(1, same=False)
    assert evidence.state == State.DROPPED
    assert evidence.mint()
