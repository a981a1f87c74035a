"""Politeness, read off the log of a real server: how often and how soon each host is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pytest
from crawling import HELPERS, PROJECT, crawl, scrapy
from localweb import Answer, Hit, LocalWeb, Page, linked
from ports import held_port
from waiting import PATIENCE, until

from sitecrawl import __version__

SPIDERS = HELPERS / "spiders"
HTML = {"Content-Type": "text/html"}


def gaps(hits: Sequence[Hit]) -> list[float]:
    """Seconds from the end of each answer to the beginning of the next request."""
    in_order = sorted(hits, key=lambda hit: hit.begun)
    return [later.begun - earlier.ended for earlier, later in pairwise(in_order)]


def pages(hits: Sequence[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.path != "/robots.txt"]


@contextmanager
def hosts(pages: object, count: int) -> Iterator[list[LocalWeb]]:
    """The same pages on 127.0.0.1, 127.0.0.2, ..., all on one port."""
    with held_port() as port, ExitStack() as stack:
        webs = [LocalWeb(pages, address=f"127.0.0.{n + 1}", port=port) for n in range(count)]  # type: ignore[arg-type]
        yield [stack.enter_context(web) for web in webs]


def star(count: int) -> dict[str, Page]:
    """A page that links to `count - 1` others."""
    names = [f"/{number}" for number in range(1, count)]
    pages: dict[str, Page] = {"/": linked(*names), "/robots.txt": Answer(status=404)}
    return {**pages, **dict.fromkeys(names, "page")}


def done(web: LocalWeb, jobdir: Path, **arguments: object) -> str:
    """Crawl `web` to the end; returns the log."""
    result = crawl(web.root, jobdir, **arguments)
    assert result.returncode == 0, result.stderr
    return result.stderr


def test_one_host_without_pauses_is_never_idle(tmp_path: Path) -> None:
    """Thirty pages one after another, each only when the last has come, though Scrapy's heart never beats."""
    never = {"EXTENSIONS": json.dumps({"heartless.Heartless": 0})}
    with LocalWeb(star(30)) as web:
        words = ("crawl", "generic", "-a", f"seeds={web.root}")
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": tmp_path / "job", **never}
        result = scrapy(*words, settings=settings, env={"PYTHONPATH": f"{SPIDERS}:{HELPERS}:{PROJECT}"})
        assert result.returncode == 0, result.stderr
        hits = pages(web.hits)
    assert len(hits) == 30
    assert min(gaps(hits)) > 0


def test_several_hosts_go_on_side_by_side(tmp_path: Path) -> None:
    """Three hosts are asked at the same time, each alone one request at a time and with its own pause."""
    asked = Barrier(3, timeout=PATIENCE)

    def slow(path: str, host: str) -> Page | None:
        if path == "/":
            asked.wait()  # until the others are asked as well
        return star(5).get(path)

    with hosts(slow, 3) as webs:
        result = crawl(",".join(web.root for web in webs), tmp_path / "job", DOWNLOAD_DELAY=0.2)
        assert result.returncode == 0, result.stderr
        logs = [pages(web.hits) for web in webs]
    for log in logs:
        assert len(log) == 5
        assert min(gaps(log)) >= 0.2 - 0.01


def test_the_pause_grows_with_the_time_of_the_last_download(tmp_path: Path) -> None:
    """SITECRAWL_DELAY_FACTOR times as long as the download took, and then SITECRAWL_MAX_DELAY."""

    def slow(path: str, host: str) -> Page | None:
        time.sleep({"/1": 0.01, "/2": 0.4}.get(path, 0))
        return star(4).get(path)

    with LocalWeb(slow) as web:
        done(web, tmp_path / "job", SITECRAWL_DELAY_FACTOR=30, SITECRAWL_MAX_DELAY=0.6)
        hits = {hit.path: hit for hit in web.hits}
    assert hits["/2"].begun - hits["/1"].ended >= 0.3 - 0.01
    assert hits["/3"].begun - hits["/2"].ended >= 0.6 - 0.01


def test_crawl_delay_is_kept(tmp_path: Path) -> None:
    """robots.txt may slow a crawl down, up to SITECRAWL_MAX_DELAY; DOWNLOAD_DELAY remains the least."""
    robots = {"/robots.txt": "User-agent: sitecrawl\nCrawl-delay: 0.4\n\nUser-agent: *\nCrawl-delay: 99"}
    with LocalWeb(star(4) | robots) as web:
        done(web, tmp_path / "job")
        assert min(gaps(pages(web.hits))) >= 0.4 - 0.01
    with LocalWeb(star(3) | {"/robots.txt": "User-agent: *\nCrawl-delay: 99"}) as web:
        done(web, tmp_path / "job2", SITECRAWL_MAX_DELAY=0.3)
        assert min(gaps(pages(web.hits))) >= 0.3 - 0.01
        assert len(pages(web.hits)) == 3


def test_crawl_delay_of_pages_that_wait_for_one_robots_txt(tmp_path: Path) -> None:
    """All of them rest from it, and one after another."""
    arrivals = tmp_path / "arrivals"
    arrivals.touch()

    def slow(path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            until(lambda: arrivals.stat().st_size >= 4, "all seeds wait")
            return "User-agent: *\nCrawl-delay: 0.4"
        return star(5).get(path)

    with LocalWeb(slow) as web:
        words = ("crawl", "generic", "-a", "seeds=" + ",".join(f"{web.root}/{n}" for n in range(1, 5)))
        settings = {
            "JOBDIR": tmp_path / "job",
            "SITECRAWL_DELAY_FACTOR": 0,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
            "DOWNLOADER_MIDDLEWARES": json.dumps({"arrivals.Arrivals": 99}),
            "ARRIVALS": arrivals,
        }
        result = scrapy(*words, settings=settings, env={"PYTHONPATH": f"{SPIDERS}:{PROJECT}"})
        assert result.returncode == 0, result.stderr
        hits = sorted(web.hits, key=lambda hit: hit.begun)
    robots, *others = hits
    assert robots.path == "/robots.txt"
    assert len(others) == len(pages(hits)) == 4
    # A page comes no sooner than it leaves, and may be later by any time: two may come close to each other.
    assert all(hit.begun - robots.ended >= 0.4 * number - 0.01 for number, hit in enumerate(others, 1))


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after(tmp_path: Path, form: str) -> None:
    """A busy host that names a time is left alone for that long, all of its pages."""
    refused: list[float] = []

    def busy(path: str, host: str) -> Page | None:
        if path == "/1" and not refused:
            refused.append(time.monotonic())
            value = "2" if form == "seconds" else formatdate(time.time() + 3, usegmt=True)  # whole seconds: 2 to 3
            return Answer(b"busy", 429, {"Retry-After": value, **HTML})
        return star(4).get(path)

    with LocalWeb(busy) as web:
        done(web, tmp_path / "job", SITECRAWL_FAILURE_DELAY=0.01)
        hits = sorted(pages(web.hits), key=lambda hit: hit.begun)
    assert [hit.path for hit in hits].count("/1") == 2
    number = [hit.path for hit in hits].index("/1")
    assert hits[number + 1].begun - refused[0] >= 2 - 0.01


def test_retry_after_has_a_limit(tmp_path: Path) -> None:
    """A host that asks for a week is asked again after SITECRAWL_MAX_RETRY_AFTER."""
    with LocalWeb({"/": Answer(b"busy", 503, {"Retry-After": "604800", **HTML})}) as web:
        done(web, tmp_path / "job", SITECRAWL_MAX_RETRY_AFTER=0.3, SITECRAWL_FAILURE_DELAY=0.01, RETRY_TIMES=2)
        hits = pages(web.hits)
    assert len(hits) == 3
    assert min(gaps(hits)) >= 0.3 - 0.01


@pytest.mark.parametrize("kind", ["503", "429", "lost"])
def test_failures_are_backed_off_from(tmp_path: Path, kind: str) -> None:
    """The pause after a failure doubles with each further one, for statuses and for broken connections alike."""
    answer = Answer(raw=b"") if kind == "lost" else Answer(b"no", int(kind), HTML)
    with LocalWeb({"/": answer}) as web:
        # Without robots.txt no connection is kept alive, which the HTTP client would try twice.
        done(web, tmp_path / "job", SITECRAWL_FAILURE_DELAY=0.2, RETRY_TIMES=2, ROBOTSTXT_OBEY=False)
        pauses = gaps(pages(web.hits))
    assert len(pauses) == 2
    assert pauses[0] >= 0.2 - 0.01
    assert pauses[1] >= 0.4 - 0.01


def test_the_user_agent_names_the_crawler_and_whom_to_ask(tmp_path: Path) -> None:
    """Pages and robots.txt alike are asked for under the name with SITECRAWL_CONTACT; USER_AGENT overrules it."""
    with LocalWeb(star(2)) as web:
        done(web, tmp_path / "1", SITECRAWL_CONTACT="https://example.org/bot")
        agents = {hit.headers["User-Agent"] for hit in web.hits}
        assert agents == {f"sitecrawl/{__version__} (+https://example.org/bot)"}
        web.hits.clear()
        done(web, tmp_path / "2", SITECRAWL_CONTACT="https://example.org/bot", USER_AGENT="mine")
        assert {hit.headers["User-Agent"] for hit in web.hits} == {"mine"}
