"""The search index at the end of a crawl."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from console import command
from crawling import environment, scrapy, scrapy_command
from documents import OPEN, pdf_of, zip_of
from localweb import Answer, LocalWeb, Page, linked
from waiting import until

from sitecrawl.plugins.export.fulltext import FILE, SearchIndex

SITE: dict[str, Page] = {
    "/": linked("/a.pdf", "/b", title="Words of the root"),
    "/a.pdf": Answer(pdf_of("words of a report"), 200, {"Content-Type": "application/pdf"}),
    "/b": "words of the rest",
}
INDEXED = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_SEARCH_INDEX": True, "SITECRAWL_SUMMARY": True}


def found(directory: Path, words: str) -> list[str]:
    with SearchIndex(directory) as index:
        return sorted(hit.url.rpartition("/")[2] for hit in index.find(words, 10))


def crawled(web: LocalWeb, jobdir: Path, **settings: object) -> str:
    """What a crawl says on stderr."""
    given = {**INDEXED, "JOBDIR": jobdir, **settings}
    done = scrapy("crawl", "generic", "-a", f"seeds={web.root}", settings=given)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_crawl_takes_its_pages_in(tmp_path: Path) -> None:
    """Its summary says how many, documents are among them, and the next run takes in what is new alone."""
    with LocalWeb(SITE) as web:
        said = crawled(web, tmp_path, CLOSESPIDER_PAGECOUNT=0)
        assert "search index               3  new pages that `scrapy search` finds\n" in said
        assert found(tmp_path, "words") == ["", "a.pdf", "b"]
        said = crawled(web, tmp_path)
        assert "search index               0  new pages" in said


def test_an_index_that_cannot_be_used_stops_nothing(tmp_path: Path) -> None:
    """The log has one line, and the crawl ends as it does without it."""
    with LocalWeb(SITE) as web:
        crawled(web, tmp_path, SITECRAWL_SEARCH_INDEX=False)
        (tmp_path / FILE).write_bytes(b"no index" * 1000)
        said = crawled(web, tmp_path, LOG_LEVEL="ERROR")
    assert said.count("The search index is not up to date") == 1
    assert "nothing is left to fetch" in said


@pytest.mark.parametrize("setting", [{}, {"SITECRAWL_SEARCH_INDEX": False}])
def test_without_the_setting_there_is_no_index(tmp_path: Path, setting: dict[str, object]) -> None:
    """It is the search's work then."""
    with LocalWeb(SITE) as web:
        done = scrapy(
            "crawl", "generic", "-a", f"seeds={web.root}", settings={"JOBDIR": tmp_path / "crawls" / "x", **setting}
        )
    assert done.returncode == 0
    assert not (tmp_path / "crawls" / "x" / FILE).exists()
    assert command("search", "words", "report", "--format", "urls", cwd=tmp_path).stdout.endswith("/a.pdf\n")


@pytest.mark.deep
def test_ctrl_c_while_pages_are_taken_in(tmp_path: Path) -> None:
    """The second one ends it at once, also within a document, which the next search takes in."""
    slow = zip_of({"content.xml": b"<x>" + b"<a/>" * 30_000_000 + b"</x>"})
    site: dict[str, Page] = {
        "/": linked("/slow.odt", title="Words"),
        "/slow.odt": Answer(slow, 200, {"Content-Type": OPEN}),
    }
    with LocalWeb(site) as web:
        settings = {**INDEXED, "JOBDIR": tmp_path / "job", "LOG_LEVEL": "INFO"}
        words = scrapy_command("crawl", "generic", "-a", f"seeds={web.root}", settings=settings)
        with (tmp_path / "log").open("w") as log, subprocess.Popen(words, stderr=log, env=environment()) as crawl:
            until(lambda: "Taking new pages" in (tmp_path / "log").read_text() or crawl.poll(), "the indexing")
            until(lambda: (tmp_path / "job" / FILE).exists() or crawl.poll(), "the index")
            assert crawl.poll() is None
            crawl.send_signal(signal.SIGINT)
            until(lambda: "again to force" in (tmp_path / "log").read_text(), "the first Ctrl-C")
            crawl.send_signal(signal.SIGINT)
            crawl.wait()
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert "slow.odt" not in found(tmp_path / "job", "slow")
