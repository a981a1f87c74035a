"""The duplicate filter under Scrapy's own scheduler: Scrapy's items, and no page lost by a kill."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import forks
import pytest
from crawling import environment, scrapy, with_settings
from localweb import LocalWeb, linked
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler
from waiting import PATIENCE, until

from sitecrawl.base.errors import CrawlDirectoryInUse
from sitecrawl.dupefilter import DupeFilter

OURS = "sitecrawl.dupefilter.DupeFilter"
SCRAPYS = "scrapy.dupefilters.RFPDupeFilter"
PAGES = 60

SPIDER = """
import scrapy

class Graph(scrapy.Spider):
    name = "graph"

    def __init__(self, root, **kw):
        super().__init__(**kw)
        self.start_urls = [root + "/0"]

    def parse(self, response):
        yield {"url": response.url, "method": response.request.method, "body": response.request.body.decode()}
        yield from response.follow_all(css="a")
        if response.url.endswith("/7"):
            for body in (b"a", b"b", b"a"):
                yield response.follow("/post", method="POST", body=body)
"""


def graph() -> dict[str, str]:
    """Sixty pages that link to one another several times over, in spellings that are the same URL or not."""
    pages = {
        f"/{n}": linked(
            *(f"/{(n * k + k) % PAGES}" for k in (1, 2, 3, 7)), f"/q?b={n % 3}&a=1", f"/q?a=1&b={n % 3}#x"
        )
        for n in range(PAGES)
    }
    queries = {f"/q?{query}": linked("/0") for b in range(3) for query in (f"b={b}&a=1", f"a=1&b={b}")}
    return pages | queries | {"/post": linked("/1")}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(graph()) as served:
        yield served


class Project:
    """A spider file in an empty folder: Scrapy's defaults, and nothing of ours but the settings given."""

    def __init__(self, folder: Path, web: LocalWeb) -> None:
        self.folder = folder
        self.web = web
        (folder / "graph.py").write_text(SPIDER)

    def words(self, dupefilter: str, **settings: object) -> list[str]:
        given = {"DUPEFILTER_CLASS": dupefilter, "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, **settings}
        words = ("runspider", "graph.py", "-a", f"root={self.web.root}", "-o", "items.jsonl")
        return with_settings(*words, settings=given)

    def run(self, dupefilter: str, **settings: object) -> str:
        """Crawl to the end; returns the log."""
        done = scrapy(*self.words(dupefilter, **settings), cwd=self.folder)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    def items(self) -> Counter[tuple[str, ...]]:
        """The items since the last call, as a multiset."""
        lines = (self.folder / "items.jsonl").read_text().splitlines()
        (self.folder / "items.jsonl").unlink()
        return Counter(tuple(json.loads(line).values()) for line in lines)


@pytest.fixture
def project(tmp_path: Path, web: LocalWeb) -> Project:
    return Project(tmp_path, web)


@pytest.fixture(scope="module")
def scrapys_items(tmp_path_factory: pytest.TempPathFactory, web: LocalWeb) -> Counter[tuple[str, ...]]:
    project = Project(tmp_path_factory.mktemp("scrapys"), web)
    project.run(SCRAPYS)
    return project.items()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"SITECRAWL_SEEN_CACHE": 1},
    ],
    ids=["default", "tiny"],
)
def test_a_crawl_gives_the_items_that_it_gives_under_scrapys_filter(
    project: Project, scrapys_items: Counter[tuple[str, ...]], settings: dict[str, object]
) -> None:
    """GETs, POSTs with equal and other bodies, queries in another order: the same items, each as often."""
    log = project.run(OURS, **settings)
    assert project.items() == scrapys_items
    assert len(scrapys_items) == PAGES + 3 + 2
    assert "'seen/new': " in log
    assert "'dupefilter/filtered': " in log
    assert "URL-seen test: " in log


def test_a_resumed_crawl_fetches_each_page_once(project: Project) -> None:
    """Stopped twice and resumed from JOBDIR, the three runs are one crawl; only the seed, unfiltered, comes again."""
    stopped = {"JOBDIR": "job", "CONCURRENT_REQUESTS": 1, "SITECRAWL_SEEN_CACHE": 1}
    for limit in (10, 20, 0):
        project.run(OURS, CLOSESPIDER_PAGECOUNT=limit, **stopped)
    items = project.items()
    seed = (f"{project.web.root}/0", "GET", "")
    assert items.pop(seed) == 3 + 1  # the first link to it is filtered by nothing either
    assert set(items.values()) == {1}
    assert len(items) == PAGES - 1 + 3 + 2


@pytest.mark.deep
def test_a_killed_crawl_loses_no_page(project: Project) -> None:
    """What was seen but not closed is forgotten, as the queue is, and the next run finds every page again."""
    words = project.words(OURS, JOBDIR="job", DOWNLOAD_DELAY=0.02, SITECRAWL_SEEN_CACHE=1)
    project.web.hits.clear()
    process = forks.start(words, environment(), project.folder / "log", folder=project.folder)
    until(lambda: len(project.web.hits) > PAGES // 2, "half of the pages")
    process.kill()
    process.wait(PATIENCE)
    shutil.rmtree(project.folder / "job" / "requests.queue")  # its files are without their sizes
    project.web.hits.clear()
    project.run(OURS, JOBDIR="job")
    assert {f"/{n}" for n in range(PAGES)} <= {hit.path for hit in project.web.hits}


def made(**settings: object) -> DupeFilter:
    return DupeFilter.from_crawler(get_crawler(Spider, settings))


class TestDupeFilter:
    def test_the_projects_fingerprinter_rules(self, tmp_path: Path) -> None:
        """With a fingerprinter that sees only the host, two pages of a host are one."""
        dupefilter = made(REQUEST_FINGERPRINTER_CLASS=HostFingerprinter)
        dupefilter.open()
        assert not dupefilter.request_seen(Request("http://a.example/1"))
        assert dupefilter.request_seen(Request("http://a.example/2"))
        assert not dupefilter.request_seen(Request("http://b.example/1"))
        dupefilter.close("finished")

    def test_without_jobdir_nothing_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The temporary directory goes when the spider closes."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        dupefilter = made()
        dupefilter.open()
        dupefilter.request_seen(Request("http://a.example/"))
        assert len(list(tmp_path.iterdir())) == 1
        dupefilter.close("finished")
        assert list(tmp_path.iterdir()) == []

    def test_a_jobdir_in_use_is_an_error(self, tmp_path: Path) -> None:
        """Two crawls in one JOBDIR would each drop the other's pages."""
        dupefilter = made(JOBDIR=str(tmp_path))
        dupefilter.open()
        with pytest.raises(CrawlDirectoryInUse):
            made(JOBDIR=str(tmp_path)).open()
        dupefilter.close("finished")

    @pytest.mark.parametrize(("debug", "lines"), [(False, 1), (True, 3)])
    def test_filtered_requests_are_counted_and_logged_as_scrapy_does(
        self, caplog: pytest.LogCaptureFixture, debug: bool, lines: int
    ) -> None:
        """The first one, or with DUPEFILTER_DEBUG all; the stat counts every one."""
        crawler = get_crawler(Spider, {"DUPEFILTER_DEBUG": debug})
        dupefilter = DupeFilter.from_crawler(crawler)
        spider = Spider.from_crawler(crawler, "any")
        with caplog.at_level(logging.DEBUG, "scrapy.dupefilters"):
            for number in range(3):
                dupefilter.log(Request(f"http://a.example/{number}"), spider)
        assert len(caplog.records) == lines
        assert crawler.stats is not None
        assert crawler.stats.get_value("dupefilter/filtered") == 3

    def test_the_tiers_answers_are_stats(self) -> None:
        """`seen/...` says which tier answered."""
        crawler = get_crawler(Spider, {"SITECRAWL_SEEN_CACHE": 1})
        dupefilter = DupeFilter.from_crawler(crawler)
        dupefilter.open()
        for path in "aabba":
            dupefilter.request_seen(Request(f"http://a.example/{path}"))
        dupefilter.close("finished")
        assert crawler.stats is not None
        stats = {name: value for name, value in crawler.stats.get_stats().items() if name.startswith("seen/")}
        assert stats == {
            "seen/asked": 5,
            "seen/cache_hits": 2,
            "seen/bloom_negatives": 2,
            "seen/recent_hits": 1,
            "seen/buffer_hits": 0,
            "seen/disk_lookups": 0,
            "seen/new": 2,
            "seen/bloom_false_positives": 0,
        }


class HostFingerprinter:
    def fingerprint(self, request: Request) -> bytes:
        return request.url.split("/")[2].encode()
