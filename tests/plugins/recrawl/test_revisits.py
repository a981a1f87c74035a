"""A crawl that goes on, against a site that changes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from typing import Any

import forks
import pytest
import small_limits
from crawling import PROJECT, environment, scrapy, stats_of, with_settings
from localweb import Answer, LocalWeb, Page, linked
from waiting import PATIENCE, until
from warcio.archiveiterator import ArchiveIterator

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.pagestore import PageFilter, PageReader
from sitecrawl.plugins.recrawl.schedule import Visits
from sitecrawl.plugins.recrawl.store import _FAMILY

SETTINGS = {
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_RECRAWL_BUDGET": 1e9,
    "SITECRAWL_RECRAWL_MIN_INTERVAL": 0.5,
    "SITECRAWL_RECRAWL_MAX_INTERVAL": 4,
    "STATS_DUMP": True,
    "LOG_LEVEL": "INFO",
}


class ChangingWeb:
    """`/` and `/still` never change, `/news` at every look; `/etag` and `/dated` answer conditions; `/gone` goes.

    What the pages say in their markup alone is new each time.
    """

    def __init__(self) -> None:
        self.looks: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.started = formatdate(time.time() - 2, usegmt=True)

    def __call__(self, path: str, host: str) -> Page | None:
        with self.lock:
            self.looks[path] += 1
            look = self.looks[path]
        token = f'<!doctype html><meta name="token" content="{time.monotonic_ns()}">'
        html = {"Content-Type": "text/html"}
        pages: dict[str, Callable[[], Page]] = {
            "/": lambda: token + linked("/still", "/news", "/etag", "/dated", "/gone"),
            "/still": lambda: token + linked("/"),
            "/news": lambda: token + linked(f"/news/{look}", title=f"news {look}"),
            "/etag": lambda: Answer(b"<p>same</p>", headers=html | {"ETag": '"one"'}),
            "/dated": lambda: Answer(
                b"<p>old</p>", headers={"Content-Type": "text/html", "Last-Modified": self.started}
            ),
            "/gone": lambda: "<p>here</p>" if look == 1 else Answer(b"gone", 404),
            "/news/2": lambda: "<p>the second</p>",
        }
        return pages[path]() if path in pages else None


def start(web: LocalWeb, file: Path, settings: Mapping[str, object] = SETTINGS) -> forks.Fork:
    """Begin a crawl in `job`, beside the file where its log goes."""
    words = ("crawl", "generic", "-a", f"seeds={web.root}/", "-a", "recrawl=1")
    given: dict[str, Any] = {**settings, "JOBDIR": file.with_name("job")}
    limits = small_limits.as_variable(given.pop("LIMITS", {}))
    return forks.start(with_settings(*words, settings=given), {**environment(), **limits}, file)


def stop(process: forks.Fork, file: Path) -> str:
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    log = file.read_text()
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    return log


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalWeb, Path, list[str]]]:
    """Stopped after some visits, and gone on with: the web, the crawl, the logs of both runs."""
    folder = tmp_path_factory.mktemp("recrawl")
    with LocalWeb(ChangingWeb(), conditional=True) as web:
        logs = []
        for visits in (2, 3):
            process = start(web, log := folder / f"{visits}.log")
            least = dict.fromkeys(("/", "/still", "/etag", "/dated"), visits) | {"/gone": 2, "/news": 2 * visits}
            until(lambda least=least: Counter(web.paths()) >= Counter(least), f"{visits} visits")  # type: ignore[misc]
            logs.append(stop(process, log))
        yield web, folder / "job", logs


def test_what_changes_is_known(crawled: tuple[LocalWeb, Path, list[str]]) -> None:
    """What every look at a page has found goes into when it is looked at again; its new links are fetched."""
    web, directory, _ = crawled
    with closing(Database(directory / "db", hash_name=HASH_NAME, read_only=True)) as database:
        urls = {key: UrlRecord.unpack(value).url for key, value in database.scan("urls")}
        seen = {urls[row[1:]]: Visits.unpack(data) for row, data in database.scan(_FAMILY, b"P", b"Q")}
    news, still = seen[f"{web.root}/news"], seen[f"{web.root}/still"]
    assert news.changes == news.visits > 1
    assert still.changes == 0 < still.visits
    assert "/news/2" in web.paths()


def test_conditions(crawled: tuple[LocalWeb, Path, list[str]]) -> None:
    """The second request for a page names the ETag or the date that the first one brought."""
    web, _, _ = crawled
    for path, condition, value in (("/etag", "If-None-Match", '"one"'), ("/dated", "If-Modified-Since", None)):
        hits = [hit for hit in web.hits if hit.path == path]
        assert condition not in hits[0].headers
        assert len(hits) > 1
        assert all(hit.headers[condition] == (value or hit.headers[condition]) for hit in hits[1:])


def test_a_304_is_a_revisit_record(crawled: tuple[LocalWeb, Path, list[str]]) -> None:
    """It refers to the capture that has the body, and is read back with it."""
    _, directory, _ = crawled
    profiles: Counter[str] = Counter()
    for file in (directory / "warc").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "revisit":
                    headers = record.rec_headers
                    profiles[headers.get_header("WARC-Profile").rpartition("/")[2]] += 1
                    assert headers.get_header("WARC-Refers-To-Target-URI")
                    assert headers.get_header("WARC-Refers-To-Date")
    assert profiles["server-not-modified"] >= 2
    with PageReader(directory) as reader:
        captures = [c for c in reader.pages(PageFilter(status=304)) if c.url.endswith("/etag")]
        assert captures
        assert {reader.read(capture).body for capture in captures} == {b"<p>same</p>"}
        versions = {reader.read(c).body for c in reader.pages(PageFilter(kind="page")) if c.url.endswith("/news")}
        assert len(versions) > 3


def test_the_crawl_is_sound(crawled: tuple[LocalWeb, Path, list[str]]) -> None:
    """Frontier, credit, index and WARC files agree, after two runs; and other readers agree with us."""
    _, directory, _ = crawled
    checked = scrapy("check-crawl", str(directory))
    assert checked.returncode == 0, checked.stdout
    files = [str(path) for path in sorted((directory / "warc").glob("*.warc.gz"))]
    warcio = subprocess.run([str(Path(sys.executable).parent / "warcio"), "check", *files], check=False)
    assert warcio.returncode == 0


def test_figures(crawled: tuple[LocalWeb, Path, list[str]]) -> None:
    """The statistics say what became of the visits; a new token in the markup is no change."""
    web, _, logs = crawled
    stats = [stats_of(log) for log in logs]
    total = Counter(stats[0]) + Counter(stats[1])
    asked = Counter(web.paths())
    assert total["recrawl/not_modified"] >= 2
    assert total["recrawl/unchanged"] >= asked["/still"] - 2
    assert total["recrawl/changed"] >= 4
    assert total["recrawl/failed"] >= 1


def test_a_form_is_not_asked_for_again(tmp_path: Path) -> None:
    """What the URL alone does not bring is fetched once."""
    spider = tmp_path / "posting.py"
    spider.write_text(POSTING)
    with LocalWeb(lambda path, host: linked(title=path)) as web:
        words = ("runspider", str(spider), "-a", f"seeds={web.root}/", "-a", "recrawl=1")
        settings = SETTINGS | {
            "JOBDIR": tmp_path / "job",
            "CLOSESPIDER_PAGECOUNT": 5,
            "SITECRAWL_RECRAWL_MAX_INTERVAL": 0.5,
        }
        done = scrapy(*words, settings=settings, env={"PYTHONPATH": str(PROJECT)}, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        methods = Counter((hit.method, hit.path) for hit in web.hits)
    assert methods["GET", "/"] > 1
    assert methods["POST", "/form"] == 1


@pytest.mark.parametrize("has_had_a_round", [False, True])
def test_what_an_ordinary_crawl_has_fetched(tmp_path: Path, *, has_had_a_round: bool) -> None:
    """It is visited again: on condition that it has changed, with an ETag; else its text is compared. So is what had
    not changed in a round since.
    """
    with LocalWeb(ChangingWeb(), conditional=True) as web:
        words = ("crawl", "generic", "-a", f"seeds={web.root}/")
        for more in [(), ("-a", "again=1")][: 1 + has_had_a_round]:
            done = scrapy(*words, *more, settings={**SETTINGS, "JOBDIR": tmp_path / "job"})
            assert done.returncode == 0, done.stderr
        first = len(web.hits)
        asked = lambda: Counter(hit.path for hit in web.hits[first:])  # noqa: E731
        process = start(web, log := tmp_path / "log")
        stays = {"/", "/still", "/news", "/etag", "/dated"}
        until(lambda: asked().keys() >= stays, "a visit of each")
        stop(process, log)
        again = {hit.path: hit for hit in reversed(web.hits[first:])}
    assert again["/etag"].headers["If-None-Match"] == '"one"'
    stats = stats_of(log.read_text())
    assert stats["recrawl/adopted"] == 6
    assert stats["recrawl/unchanged"] >= 1  # what has another token in its markup alone


def test_it_stays_while_its_site_is_down(tmp_path: Path) -> None:
    """All visits wait for the host then, and none is planned: it goes on when the host is back."""
    down = threading.Event()
    lost = Answer(raw=b"")
    limits = {
        "SITECRAWL_MAX_HOST_FAILURES": 1,
        "LIMITS": {"sitecrawl.crawl.configuration.REVIVAL": 2},
        "SITECRAWL_FAILURE_DELAY": 0.1,
    }
    settings = SETTINGS | limits | {"SITECRAWL_RECRAWL_MAX_INTERVAL": 0.5, "RETRY_ENABLED": False}
    with LocalWeb(lambda path, host: lost if down.is_set() else linked("/a") if path == "/" else None) as web:
        process = start(web, tmp_path / "log", settings)
        until(lambda: web.paths().count("/") >= 2, "a visit")
        down.set()
        asked = len(web.hits)
        # The first visit may be sent twice, for its connection was a kept one; the third request is of a later visit.
        until(lambda: len(web.hits) >= asked + 3 or process.poll() is not None, "visits while the host is down")
        assert process.poll() is None
        down.clear()
        asked = web.paths().count("/")
        until(lambda: web.paths().count("/") > asked or process.poll() is not None, "a visit when the host is back")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    assert process.returncode == 0


POSTING = """
from scrapy import FormRequest
from sitecrawl.spiders.site import SiteSpider

class Posting(SiteSpider):
    name = "posting"

    def extract(self, response, page):
        if page.depth == 0:
            yield FormRequest(response.urljoin("/form"), formdata={"a": "b"}, callback=self.parse)
"""
