"""Sites that say no: what becomes of their pages, and what of those of their neighbours."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from crawling import crawl, states_of, stats_of
from localweb import Answer, LocalWeb, Page, linked
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from middlewares.outages import Challenge, RefusalsMiddleware
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.refusals import ADVICE
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.report.gather import gather

PAGES = 30
HTML = {"Content-Type": "text/html"}
QUICK = {"SITECRAWL_FAILURE_DELAY": 0.01, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
ANUBIS = (
    "<!doctype html><html><head><title>Making sure you're not a bot!</title>"
    '<link rel="stylesheet" href="/.within.website/x/xess/xess.min.css">'
    '<script id="anubis_challenge" type="application/json">{"rules":{"difficulty":4}}</script></head>'
    '<body><p id="status">Loading...</p><a href="https://anubis.techaro.lol">Anubis</a></body></html>'
)
CHALLENGES = {
    "by its header": Answer(b"<title>Just a moment...</title>", 403, HTML | {"cf-mitigated": "challenge"}),
    "as a page": Answer(ANUBIS.encode(), 200, HTML),
    "as a page that is coded": Answer(gzip.compress(ANUBIS.encode()), 200, HTML | {"Content-Encoding": "gzip"}),
    "as a busy host": Answer(ANUBIS.encode(), 503, HTML),
}


class Plain(Spider):
    name = "plain"


class Shop:
    """A front page that links to all others; `says_no` says what the n-th request gets, if not the page."""

    def __init__(self, says_no: Callable[[int, str], Page | None]) -> None:
        self.says_no = says_no
        self.asked = 0

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return None
        self.asked += 1
        answer = self.says_no(self.asked, path)
        if answer is not None:
            return answer
        return linked(*(f"/{n}" for n in range(1, PAGES))) if path == "/" else f"page {path}"


def stored(job: Path) -> list[str]:
    """The URLs of which an answer is stored."""
    with PageReader(job) as reader:
        return sorted(one.url for one in reader.captures() if not one.url.endswith("/robots.txt"))


FIRST, *OTHERS = CHALLENGES


@pytest.mark.parametrize("kind", [FIRST, *(pytest.param(kind, marks=pytest.mark.deep) for kind in OTHERS)])
def test_a_challenge_for_a_while(kind: str, tmp_path: Path) -> None:
    """Seven in a row cost time, and no page; nothing of them is stored, and no page repeats another."""
    with LocalWeb(Shop(lambda asked, _: CHALLENGES[kind] if 10 <= asked < 17 else None)) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK)
    assert done.returncode == 0
    stats = stats_of(done.stderr)
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    assert stats["refused/challenge"] == 7
    assert stats["outages/put_back"] == 6
    assert stats["content/equal"] == 0
    assert len(stored(tmp_path / "job")) == PAGES


@pytest.mark.deep
@pytest.mark.parametrize("isolated", [0, 1])
def test_a_host_that_challenges_for_good(isolated: int, tmp_path: Path) -> None:
    """It is asked for ten times more, and keeps its pages for the next run; the log names it once."""
    shop = Shop(lambda asked, _: CHALLENGES["as a page that is coded"] if asked >= 10 else None)
    with LocalWeb(shop) as web:
        done = crawl(web.root, tmp_path / "job", SITECRAWL_PARSE_PROCESSES=isolated, **QUICK)
        assert shop.asked == 9 + 10
        states = list(states_of(tmp_path / "job").values())
        assert (states.count(UrlState.FETCHED), states.count(UrlState.QUEUED)) == (9, PAGES - 9)
        assert len(stored(tmp_path / "job")) == 9
        assert len(re.findall(r"WARNING: 127\.0\.0\.1:\d+ asks for a proof .* \(Anubis\)", done.stderr)) == 1
        assert re.search(r"  challenges +10  127\.0\.0\.1:\d+ Anubis \(10\)", done.stderr)
        assert re.search(r"  said no   127\.0\.0\.1:\d+ asks for a proof", done.stderr)
        shop.says_no = lambda asked, path: None
        crawl(web.root, tmp_path / "job", SITECRAWL_PARSE_PROCESSES=isolated, **QUICK)
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    ((_, how, advice),) = gather(tmp_path / "job").refused
    assert (how, advice) == ("challenges 10 (Anubis)", ADVICE["challenge"])


def test_a_host_that_challenges_from_the_start(tmp_path: Path) -> None:
    """It is asked for three times, as one that never answers, and its pages have failed."""
    shop = Shop(lambda asked, _: CHALLENGES["by its header"])
    with LocalWeb(shop) as web:
        seeds = ",".join(f"{web.root}/{n}" for n in range(PAGES))
        done = crawl(seeds, tmp_path / "job", **QUICK)
    assert shop.asked == 3
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FAILED}
    assert stored(tmp_path / "job") == []
    assert stats_of(done.stderr)["refused/challenge"] == 3


@pytest.mark.deep
def test_a_page_that_is_always_a_challenge(tmp_path: Path) -> None:
    """It has its retries, and has failed; the pages beside it come in."""
    with LocalWeb(Shop(lambda _, path: CHALLENGES["as a page"] if path == "/7" else None)) as web:
        done = crawl(web.root, tmp_path / "job", RETRY_TIMES=2, **QUICK)
        states = states_of(tmp_path / "job")
        assert states.pop(f"{web.root}/7") == UrlState.FAILED
        assert web.paths().count("/7") == 3
    assert set(states.values()) == {UrlState.FETCHED}
    assert stats_of(done.stderr)["retry/reason_count/challenge"] == 2


@pytest.mark.deep
def test_a_challenge_in_the_place_of_robots_txt(tmp_path: Path) -> None:
    """Nobody has said what is allowed: no page is asked for."""
    with LocalWeb(lambda path, host: CHALLENGES["by its header"] if path == "/robots.txt" else "page") as web:
        crawl(web.root, tmp_path / "job", **QUICK)
        assert web.paths() == []
        assert web.paths(robots=True) == ["/robots.txt"] * 3
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FAILED}


@pytest.mark.deep
def test_the_host_rests(tmp_path: Path) -> None:
    """For as long as a challenge asks, and else longer after each."""
    asks = Answer(ANUBIS.encode(), 200, HTML | {"Retry-After": "1"})
    with LocalWeb(Shop(lambda asked, path: asks if asked in {2, 3} else None)) as web:
        crawl(web.root, tmp_path / "job", **QUICK)
        hits = sorted((hit for hit in web.hits if hit.path != "/robots.txt"), key=lambda hit: hit.begun)
    rests = [later.begun - earlier.ended for earlier, later in pairwise(hits)]
    assert min(rests[1], rests[2]) >= 1 - 0.05
    assert len(hits) == PAGES + 2


@pytest.mark.deep
def test_it_can_be_left(tmp_path: Path) -> None:
    """Without the middleware what comes is a page."""
    with LocalWeb(Shop(lambda asked, _: CHALLENGES["as a page"])) as web:
        off = {"middlewares.RefusalsMiddleware": None}
        done = crawl(web.root, tmp_path / "job", DOWNLOADER_MIDDLEWARES=json.dumps(off), **QUICK)
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    assert "refused/challenge" not in stats_of(done.stderr)


PASSWORD = '<form action="/login" method="post"><input name="user"><input type="password" name="word"></form>'


def members_only(path: str, host: str) -> Page | None:
    """All pages but the front page and a notice lead to a login, whose menu names them."""
    pages: dict[str, Page] = {
        "/": linked("/1", "/help"),
        "/help": Answer(b"", 302, {"Location": "/notice?next=/help"}),
        "/notice?next=/help": linked("/login"),
        "/login": PASSWORD,
        "/login?next=%2F1": PASSWORD + linked(*(f"/{n}" for n in range(2, 10))),
    }
    return pages.get(
        path, None if path == "/robots.txt" else Answer(b"", 302, {"Location": f"/login?next=%2F{path[1:]}"})
    )


def test_a_login_wall(tmp_path: Path) -> None:
    """It is looked at once, and counted for each page behind it; a login that a page links to is a page."""
    with LocalWeb(members_only) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK)
        asked = web.paths()
    assert stats_of(done.stderr)["refused/login_wall"] == 9
    # The second has the title of the first: it is asked for twice, to see what of it changes by itself.
    assert {path for path in asked if path.startswith("/login")} == {"/login", "/login?next=%2F1"}
    assert f"127.0.0.1:{web.port} shows its pages only after a login" in done.stderr


@pytest.mark.deep
def test_what_asks_for_a_password(tmp_path: Path) -> None:
    """401 is a login wall: the page is stored as before, and the host does not rest."""
    refused = Answer(b"no", 401, HTML | {"WWW-Authenticate": "Basic"})
    with LocalWeb(Shop(lambda _, path: refused if path in {"/1", "/2"} else None)) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK | {"SITECRAWL_FAILURE_DELAY": 30})
    assert stats_of(done.stderr)["refused/login_wall"] == 2
    assert len(stored(tmp_path / "job")) == PAGES


SHELL = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'


def test_an_empty_shell(tmp_path: Path) -> None:
    """A site that is empty is told of; a page of a site that has others is none."""
    with LocalWeb({"/": SHELL}) as web, LocalWeb({"/": linked("/found"), "/found": SHELL}) as other:
        done = crawl(f"{web.root},{other.root}", tmp_path / "job", **QUICK)
    assert stats_of(done.stderr)["refused/empty_shell"] == 1
    assert f"127.0.0.1:{web.port} sends a page that a browser has to build" in done.stderr
    assert len(stored(tmp_path / "job")) == 3


def test_rate_limits(tmp_path: Path) -> None:
    """They are counted; a 503 without a time is a failure and no no."""
    answers = {2: Answer(b"", 429), 3: Answer(b"", 503, {"Retry-After": "0"}), 4: Answer(b"", 503)}
    with LocalWeb(Shop(lambda asked, _: answers.get(asked))) as web:
        done = crawl(web.root, tmp_path / "job", **QUICK)
    assert stats_of(done.stderr)["refused/rate_limited"] == 2
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}


def test_what_a_challenge_asks_for_has_a_limit(tmp_path: Path) -> None:
    """A host that asks for a week rests for SITECRAWL_MAX_RETRY_AFTER, as one that answers 503 does."""
    settings = {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path), "SITECRAWL_MAX_RETRY_AFTER": 60}
    crawler = get_crawler(Plain, settings)
    headers = HTML | {"cf-mitigated": "challenge", "Retry-After": "604800"}
    url = "http://a.example/robots.txt"
    try:
        with pytest.raises(Challenge) as found:
            RefusalsMiddleware(crawler).process_response(Request(url), Response(url, 403, headers))
    finally:
        Crawl.of(crawler).checkpoints.close_files()
    assert found.value.wait == 60
