"""Hosts that are down for a while, or for good, or for one page: what becomes of their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crawling import crawl, states_of, stats_of
from localweb import Answer, LocalWeb, Page, linked
from ports import held_port

from sitecrawl.frontier.urls.record import UrlState

PAGES = 30
HALF = Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
"""The connection is closed in the midst of a page. (Before its first byte, Twisted would ask again by itself.)"""
BUSY = Answer(b"later", 503, {"Content-Type": "text/html"})
QUICK = {"SITECRAWL_FAILURE_DELAY": 0.01, "RETRY_TIMES": 1, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}


class Shop:
    """A front page that links to all others; `fails` says what the n-th request for a page gets, if not the page."""

    def __init__(self, fails: Callable[[int, str], Page | None]) -> None:
        self.fails = fails
        self.asked = 0

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return None
        self.asked += 1
        answer = self.fails(self.asked, path)
        if answer is not None:
            return answer
        return linked(*(f"/{n}" for n in range(1, PAGES))) if path == "/" else f"page {path}"


def test_a_host_that_is_down_for_a_while(tmp_path: Path) -> None:
    """Seven failures in a row are more than any page's retries; they cost time, and no page."""
    with LocalWeb(Shop(lambda asked, _: BUSY if 10 <= asked < 17 else None)) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK)
    assert done.returncode == 0
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    assert stats_of(done.stderr)["downloader/response_status_count/200"] == PAGES
    assert stats_of(done.stderr)["outages/put_back"] == 6


def test_a_host_that_is_down_for_good(tmp_path: Path) -> None:
    """The crawl ends, says what it left, and its next run gets it."""
    shop = Shop(lambda asked, _: BUSY if asked >= 10 else None)
    with LocalWeb(shop) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK)
        assert (
            f"ended with {PAGES - 9} known URLs not fetched: {PAGES - 9} of 1 host that ceased to answer."
            in done.stderr
        )
        states = list(states_of(tmp_path / "job").values())
        assert (states.count(UrlState.FETCHED), states.count(UrlState.QUEUED)) == (9, PAGES - 9)
        shop.fails = lambda asked, path: None
        again = crawl(web.root, tmp_path / "job", **QUICK)
    assert "nothing is left to fetch." in again.stderr
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    assert stats_of(again.stderr)["downloader/response_status_count/200"] == PAGES - 9


def test_a_page_that_never_comes(tmp_path: Path) -> None:
    """While the host answers for others, a page has its retries and no more."""
    with LocalWeb(Shop(lambda _, path: HALF if path == "/7" else None)) as web:
        crawl(web.root, tmp_path / "job", **QUICK)
        states = states_of(tmp_path / "job")
        assert states.pop(f"{web.root}/7") == UrlState.FAILED
        assert web.paths().count("/7") == 2
    assert set(states.values()) == {UrlState.FETCHED}


def test_a_page_that_never_comes_and_is_the_last(tmp_path: Path) -> None:
    """Failures of one page alone are the page's: it has its retries, and does not hold up the end of the crawl."""
    with LocalWeb(Shop(lambda asked, path: BUSY if path == "/7" else None)) as web:
        crawl(f"{web.root}/1 {web.root}/7", tmp_path / "job", SITECRAWL_MAX_HOST_FAILURES=4, **QUICK)
        # An error page is an answer, at last; a host that is down would keep it for the next run.
        assert states_of(tmp_path / "job") == dict.fromkeys([f"{web.root}/1", f"{web.root}/7"], UrlState.FETCHED)
        assert web.paths().count("/7") == 2


@pytest.fixture
def port() -> Iterator[int]:
    """One that nobody listens on yet."""
    with held_port() as number:
        yield number


@pytest.mark.deep
def test_a_host_that_never_answered_is_asked_by_every_resume(port: int, tmp_path: Path) -> None:
    """As long as it does not answer its pages have failed; the run in which it does gets them."""
    job = tmp_path / "job"
    seeds = [f"http://127.0.0.1:{port}/{number}" for number in range(5)]
    for run in range(2):
        done = crawl(",".join(seeds), job, **QUICK)
        assert states_of(job) == dict.fromkeys(seeds, UrlState.FAILED)
        assert stats_of(done.stderr).get("frontier/retried_given_up", 0) == 5 * run
    with LocalWeb(Shop(lambda _, path: f"page {path}"), port=port) as web:
        done = crawl(",".join(seeds), job, **QUICK)
        assert sorted(web.paths()) == [f"/{number}" for number in range(5)]
    assert states_of(job) == dict.fromkeys(seeds, UrlState.FETCHED)
    assert "nothing is left to fetch." in done.stderr
