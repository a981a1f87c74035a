"""What becomes of a visit, and whose its exchange is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from pagestore_helpers import exchange, page
from scrapy import Request

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.items import PageItem


class Visit:
    url = "http://site.example/"
    again = False


def begun() -> Fetch:
    return Fetch(cast("Any", Visit()), Request(Visit.url))


def arrived(status: int = 200) -> Fetch:
    fetch = begun()
    fetch.arrived(status, exchange(status=status))
    return fetch


def parsed() -> tuple[Fetch, PageItem]:
    """A fetch of which a spider has made a page."""
    fetch = arrived()
    assert fetch.exchange is not None
    item = page(fetch.exchange)
    fetch.page = item
    return fetch, item


def test_nothing_has_happened() -> None:
    """What no answer and no error came of was refused: by a middleware that says no more."""
    assert begun().state == UrlState.EXCLUDED
    assert begun().captured is None


@pytest.mark.parametrize(
    ("event", "outcome", "state"),
    [
        (lambda fetch: fetch.arrived(404), (404, "", ""), UrlState.FETCHED),
        (lambda fetch: fetch.failed("Timeout"), (0, "Timeout", ""), UrlState.FAILED),
        (lambda fetch: fetch.exclude("robots.txt"), (0, "", "robots.txt"), UrlState.EXCLUDED),
    ],
)
def test_the_last_outcome_counts(event: Any, outcome: tuple[int, str, str], state: UrlState) -> None:
    """Status, error and rule exclude one another, whatever was before; an exchange goes with its status."""
    for fetch in (begun(), arrived()):
        fetch.failed("Reset")
        event(fetch)
        assert (fetch.status, fetch.error, fetch.excluded) == outcome
        assert fetch.state == state
        assert fetch.captured is None


def test_what_reached_no_spider_is_stored_by_itself() -> None:
    """A redirect, an error, a page of which a spider made something else."""
    fetch = arrived(301)
    assert fetch.captured == (fetch.exchange, None)


def test_a_page_that_the_pipelines_drop_is_not_stored() -> None:
    """The exchange is its page's: it goes where that goes."""
    fetch, _ = parsed()
    assert fetch.exchange is not None
    assert fetch.captured is None


def test_a_page_that_passes_is_stored_with_its_exchange() -> None:
    """Once, also if a pipeline hands it over twice."""
    fetch, item = parsed()
    fetch.stored_page = item
    fetch.stored_page = item
    assert fetch.captured == (item.exchange, item)
    assert fetch.page is item


def test_a_pipeline_may_put_another_page_in_its_place() -> None:
    """That one is stored, with the exchange that it refers to; the fetch is judged by what the spider made."""
    fetch, item = parsed()
    other = replace(item, title="Another", exchange=exchange(body=b"another"))
    fetch.stored_page = other
    assert fetch.captured == (other.exchange, other)
    assert fetch.page is item


def test_of_two_pages_the_one_that_passes_is_stored() -> None:
    """Whichever the pipelines have dropped, and whenever."""
    fetch, item = parsed()
    fetch.stored_page = item
    fetch.page = replace(item, title="Second")
    assert fetch.captured == (item.exchange, item)


def test_a_page_made_by_hand_leaves_the_exchange_alone() -> None:
    """It refers to none, so dropping it says nothing of what came over the wire."""
    fetch = arrived()
    fetch.page = PageItem(Visit.url, 200, 0.0)
    assert fetch.captured == (fetch.exchange, None)


def test_what_is_of_no_use_is_not_stored() -> None:
    """A body that unpacks to too much came with status 200, and is an error."""
    fetch = arrived()
    fetch.failed("TooLargeDecoded")
    assert (fetch.captured, fetch.status, fetch.state) == (None, 0, UrlState.FAILED)


def judged(status: int = 200, *, noindex: bool = False, verdict: Verdict | None = None, again: bool = False) -> Fetch:
    fetch = arrived(status)
    fetch.visit.again = again
    if verdict is not None:
        fetch.page = replace(page(exchange()), noindex=noindex)
        fetch.verdict = verdict
    return fetch


@pytest.mark.parametrize(
    ("fetch", "good"),
    [
        (judged(), True),
        (judged(404), False),
        (judged(301), False),
        (judged(verdict=Verdict.NEW), True),
        (judged(verdict=Verdict.NEW, noindex=True), False),
        (judged(verdict=Verdict.EQUAL), False),
        (judged(verdict=Verdict.EQUAL, again=True), True),
    ],
)
def test_what_was_worth_a_fetch(fetch: Fetch, *, good: bool) -> None:
    """A success that may be indexed and repeats no other page; itself it may repeat."""
    assert fetch.is_good is good
    fetch.is_worth_it = True
    assert fetch.is_good


def test_a_redirect_is_worth_a_fetch_if_it_leads_on() -> None:
    """A site may link to its pages by redirects alone."""
    fetch = arrived(301)
    fetch.leads_on = True
    assert fetch.is_good


@pytest.mark.parametrize(("verdict", "changed"), [(None, None), (Verdict.NEW, True), (Verdict.EQUAL, False)])
def test_whether_a_page_has_changed(verdict: Verdict | None, *, changed: bool | None) -> None:
    """Nobody knows of what was not compared."""
    assert judged(verdict=verdict).changed is changed
