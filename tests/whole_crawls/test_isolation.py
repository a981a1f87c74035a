"""Crawls whose pages are read in processes of their own."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crawling import HELPERS, environment, forked, scrapy, states_of, stats_of, with_settings
from localweb import Answer, LocalWeb, Page, linked
from small_limits import as_variable

from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore.reader import PageFilter, PageReader
from sitecrawl.plugins.checking.crawl import repair

HTML = {"Content-Type": "text/html"}
GZIP = {**HTML, "Content-Encoding": "gzip"}
SITE: dict[str, Page] = {
    "/": linked("/gzip", "/plain", "/missing", "/picture", "/no-gzip"),
    "/gzip": Answer(gzip.compress(linked("/deep", title="Gzip").encode()), 200, GZIP),
    "/no-gzip": Answer(b"no gzip", 200, GZIP),
    "/picture": Answer(b"\x89PNG\r\n\x1a\n" + bytes(100), 200, HTML),
    "/plain": Answer(b"text", 200, {"Content-Type": "text/plain"}),
    "/deep": linked("/", title="Deep"),
    "/robots.txt": Answer(gzip.compress(b"User-agent: *\nDisallow: /secret"), 200, GZIP),
}
BREAKING: dict[str, Page] = {
    "/": linked("/segfault", "/hang", "/swap", "/kept"),
    "/segfault": Answer(gzip.compress(b"segfault" + linked("/lost").encode()), 200, GZIP),
    "/hang": Answer(b"hang", 200, HTML),
    "/swap": Answer(b"swap", 200, HTML),
    "/kept": linked("/deep"),
    "/deep": "deep",
}
PATH = os.pathsep.join((str(HELPERS), str(HELPERS / "spiders")))
COLUMNS = (
    "url, kind, status, content_type, charset, size, title, depth, canonical, noindex, digest, "
    "language, hrefs, links, host_links, site_links"
)


def crawled(web: LocalWeb, jobdir: Path, spider: str = "generic", **settings: object) -> str:
    """The log of a crawl of `web`."""
    given = {"JOBDIR": jobdir, "SITECRAWL_DELAY_FACTOR": 0, "LOG_LEVEL": "INFO", "STATS_DUMP": True, **settings}
    given.setdefault("SITECRAWL_EXIT_CODES", False)
    code, log = run("crawl", spider, "-a", f"seeds={web.root}", settings=given)
    assert code == 0, log
    assert "Traceback" not in log
    return log


def run(*words: str, settings: dict[str, Any]) -> tuple[int, str]:
    """The exit code and the log of `scrapy` with the spiders that break."""
    limits = as_variable(settings.pop("LIMITS", {}))
    done = forked(*with_settings(*words, settings=settings), env=environment(PYTHONPATH=PATH, **limits))
    return done.returncode, done.stderr.decode()


def index_of(jobdir: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(jobdir / "pages.sqlite")) as index:
        return index.execute(f"SELECT {COLUMNS} FROM pages ORDER BY url").fetchall()


def test_a_crawl_is_the_same_with_processes(tmp_path: Path) -> None:
    """The same pages, rows and links come of it; the log says what holds the processes."""
    with LocalWeb(SITE) as web:
        crawled(web, tmp_path / "here")
        log = crawled(web, tmp_path / "there", SITECRAWL_PARSE_PROCESSES=2)
    assert "Pages are read in processes of their own (2), held by limits" in log
    assert index_of(tmp_path / "there") == index_of(tmp_path / "here")
    assert states_of(tmp_path / "there") == states_of(tmp_path / "here")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A crawl of pages that break their readers: its directory, its log, the site."""
    jobdir = tmp_path_factory.mktemp("broken") / "job"
    with LocalWeb(BREAKING) as web:
        log = crawled(
            web, jobdir, "breaking", SPIDER_MODULES="breaking",
            SITECRAWL_PARSE_PROCESSES=1, LIMITS={"PARSE_TIME": 3},
        )  # fmt: skip
    return jobdir, log, web.root


def test_what_breaks_its_reader_is_counted(broken: tuple[Path, str, str]) -> None:
    """In all and by how the process ended; the summary has the number, and how to list the pages."""
    jobdir, log, _ = broken
    counts = {name: n for name, n in stats_of(log).items() if name.startswith("isolation/")}
    assert counts == {
        "isolation/quarantined": 3,
        "isolation/quarantined/SIGSEGV": 1,
        "isolation/quarantined/timeout": 1,
        "isolation/quarantined/answer": 1,
    }
    assert stats_of(log)["limits/parse_time"] == 1
    assert "quarantined                3" in log
    assert f"scrapy pages --kind quarantined -d {jobdir}" in log


def test_what_breaks_its_reader_is_stored_and_leads_nowhere(broken: tuple[Path, str, str]) -> None:
    """Its bytes are in the archive as they came, its row has its kind, and the crawl has gone on."""
    jobdir, _, root = broken
    with PageReader(jobdir) as reader:
        found = {one.url.removeprefix(root): one for one in reader.pages(PageFilter(kind="quarantined"))}
        bodies = {path: reader.read(one).body for path, one in found.items()}
    assert bodies.keys() == {"/segfault", "/hang", "/swap"}
    assert bodies["/segfault"] == b"segfault" + linked("/lost").encode()
    assert {(one.content_type, one.charset, one.size, one.title) for one in found.values()} == {
        ("text/html", None, None, None)
    }
    states = {url.removeprefix(root): state for url, state in states_of(jobdir).items()}
    assert states == dict.fromkeys(BREAKING, UrlState.FETCHED)


def test_a_crawl_with_quarantined_pages_is_sound(broken: tuple[Path, str, str]) -> None:
    """`check-crawl` finds nothing, and `pages` lists them."""
    jobdir, _, root = broken
    done = scrapy("check-crawl", str(jobdir))
    assert done.returncode == 0, done.stdout + done.stderr
    listed = scrapy("pages", "-d", str(jobdir), "--kind", "quarantined", "--format", "urls")
    assert sorted(listed.stdout.split()) == [f"{root}/hang", f"{root}/segfault", f"{root}/swap"]


@pytest.mark.parametrize("lost", ["pages.sqlite", "db"])
def test_a_repair_leaves_them_quarantined(lost: str, broken: tuple[Path, str, str], tmp_path: Path) -> None:
    """An index that is made again has the rows of the old one; and the frontier knows that they were fetched."""
    job = shutil.copytree(broken[0], tmp_path / "job")
    before = index_of(job)
    shutil.rmtree(job / lost) if lost == "db" else (job / lost).unlink()
    assert repair(job)[1].problems == []
    assert index_of(job) == before
    assert set(states_of(job).values()) == {UrlState.FETCHED}
    assert states_of(job).keys() == states_of(broken[0]).keys()


@pytest.mark.deep
def test_a_page_that_takes_too_much_memory(tmp_path: Path) -> None:
    """The limit holds the process that reads it: the page is counted and quarantined, and the crawl goes on."""
    large = linked("/lost", title="Large").encode() + b"<p>a page <b>and</b> more of it " * (40 << 15)
    site: dict[str, Page] = {
        "/": linked("/large", "/kept"),
        "/large": Answer(gzip.compress(large, 1), 200, GZIP),
        "/kept": linked("/deep"),
        "/deep": "deep",
    }
    with LocalWeb(site) as web:
        log = crawled(
            web, tmp_path / "job", SITECRAWL_PARSE_PROCESSES=1,
            LIMITS={"PARSE_MEMORY": 160 << 20, "PARSE_TIME": 120, "READ_ELEMENTS": 1 << 40},
        )  # fmt: skip
    counts = {name: n for name, n in stats_of(log).items() if name.startswith(("isolation/", "limits/"))}
    assert counts == {"isolation/quarantined": 1, "isolation/quarantined/memory": 1, "limits/parse_memory": 1}
    with PageReader(tmp_path / "job") as reader:
        (capture,) = reader.pages(PageFilter(kind="quarantined"))
        assert capture.url == f"{web.root}/large"
        assert reader.read(capture).body == large
    assert states_of(tmp_path / "job") == {f"{web.root}{path}": UrlState.FETCHED for path in site}


def test_a_robots_txt_that_breaks_its_reader_allows_nothing(tmp_path: Path) -> None:
    """What a site forbids is not known then, so it counts as out of reach (RFC 9309, section 2.3.1.4)."""
    robots: dict[str, Page] = {
        "/robots.txt": Answer(b"segfault", 200, {"Content-Type": "text/plain"}),
        "/": linked("/a"),
    }
    with LocalWeb(robots) as web:
        log = crawled(
            web, tmp_path / "job", "breaking", SPIDER_MODULES="breaking", SITECRAWL_PARSE_PROCESSES=1,
            SITECRAWL_FAILURE_DELAY=0.01, SITECRAWL_MAX_HOST_FAILURES=1,
        )  # fmt: skip
        assert not web.paths()
    assert stats_of(log)["isolation/quarantined/SIGSEGV"] >= 1


def test_a_process_that_cannot_start_is_said_at_once(tmp_path: Path) -> None:
    """Nothing is crawled, and a line says what to do: it is not read in the crawl's own process instead."""
    with LocalWeb(SITE) as web:
        settings = {"JOBDIR": tmp_path, "SPIDER_MODULES": "breaking", "SITECRAWL_PARSE_PROCESSES": 1}
        code, log = run("crawl", "startless", "-a", f"seeds={web.root}", settings=settings)
        assert not web.hits
    assert "set SITECRAWL_PARSE_PROCESSES=0" in log
    assert code != 0


@pytest.mark.deep
def test_a_crawl_without_processes_stops_and_can_be_resumed(tmp_path: Path) -> None:
    """Where no new one starts, what is not read stays queued: it is not read in the crawl's own process instead."""
    site: dict[str, Page] = {"/": linked("/segfault", "/kept"), "/segfault": "x", "/kept": "kept"}
    settings = {"JOBDIR": tmp_path, "SPIDER_MODULES": "breaking", "SITECRAWL_PARSE_PROCESSES": 1}
    with LocalWeb(site) as web:
        words = ("crawl", "single", "-a", f"seeds={web.root}", "-a", "order=bfs")
        code, log = run(*words, settings=settings)
    assert code == 1, log
    assert "The crawl stopped: no process that reads pages could be started" in log
    states = {url.removeprefix(web.root): state for url, state in states_of(tmp_path).items()}
    assert states == {"/": UrlState.FETCHED, "/segfault": UrlState.FETCHED, "/kept": UrlState.QUEUED}
