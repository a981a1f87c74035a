"""A rule that joins URLs is tested before the crawl ends, or joins nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import put_away
from frontier_helpers import Bench, check_sections, url

from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.forms.evidence import SUPPORT
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link, sha1

MIRROR = "www.a.example"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


def read(bench: Bench, visit: Visit | None, text: str, *links: Link) -> None:
    """The page of `visit` comes, says `text` and leads to `links`."""
    assert visit is not None
    bench.frontier.downloaded(visit, 0.0)
    bench.link(visit, *links)
    verdict = bench.frontier.contents.judge(visit, sha1(text.encode()), title=text, text_hash=None)
    bench.frontier.done(visit, UrlState.FETCHED, status=200, good=verdict == Verdict.NEW)


def support(bench: Bench, *forms: Link) -> None:
    """Pages that suggest the rule by which `forms` are one: they say the same."""
    bench.frontier.add(list(forms), depth=0)
    for _ in forms:
        read(bench, bench.frontier.next(), forms[0].url)


def read_all(bench: Bench) -> list[str]:
    """Read what is left, each page with a text of its own; returns the URLs."""
    came = []
    while (visit := bench.frontier.next()) is not None:
        came.append(visit.url)
        read(bench, visit, visit.url)
    bench.commit()
    check_sections(bench.frontier)
    return came


def test_forms_of_pages_that_still_wait(bench):
    """A test that could not be made because the page of the class was not there yet is made when it is."""
    for n in range(SUPPORT):
        support(bench, url(f"p/{n}"), url(f"p/{n}?x=1"))
    others = [url(f"p/{n}?x=1") for n in (8, 9)]
    bench.add("list")
    read(bench, bench.frontier.next(), "list", url("p/8"), url("p/9"), *others)
    assert bench.frontier.figures.joined == 2
    assert {other.url for other in others} <= set(read_all(bench))
    assert bench.frontier.figures.waiting == 0


def test_the_other_form_of_a_page_that_is_being_fetched(bench):
    """Two hosts said the same so far. A page that comes while its like of the other host is under way is read."""
    for n in range(SUPPORT):
        support(bench, url(f"p/{n}"), url(f"p/{n}", MIRROR))
    here, there = url("p/15"), url("p/15", MIRROR)
    bench.frontier.add([here], depth=1)
    visit = bench.take("15")
    bench.frontier.add([there], depth=1)
    assert bench.frontier.next() is None  # it is joined
    assert bench.frontier.next() is None  # and would be a test, if it could be compared with anything
    assert bench.frontier.figures.joined == 1
    read(bench, visit, here.url)
    assert read_all(bench) == [there.url]
    assert bench.frontier.figures.waiting == 0
