"""SITECRAWL_SEEN_STATIC_FROM: what was popular in an earlier crawl has its places in the seen test's cache."""

from __future__ import annotations

from pathlib import Path

from crawling import scrapy
from localweb import LocalWeb, linked

from sitecrawl.frontier.reader import FrontierReader

PAGES = {f"/{number}": linked("/hub", "/", title=f"{number}") for number in range(12)}
SITE = {"/": linked(*PAGES, title="front"), "/hub": linked("/", title="hub"), **PAGES}


def crawl(web: LocalWeb, directory: Path, **settings: object) -> None:
    given = {"JOBDIR": directory, "SITECRAWL_DELAY_FACTOR": 0, **settings}
    done = scrapy("crawl", "generic", "-a", f"seeds={web.root}", settings=given)
    assert done.returncode == 0, done.stderr


def test_all_pages(tmp_path: Path) -> None:
    """Every page is fetched, once, as without it: a place in the cache says nothing of what this crawl has seen."""
    with LocalWeb(SITE) as web:
        crawl(web, tmp_path / "first")
        with FrontierReader(tmp_path / "first") as reader:
            assert {url.url for url in reader.top_urls(2)} == {f"{web.root}/", f"{web.root}/hub"}
        before = len(web.paths())
        crawl(web, tmp_path / "second", SITECRAWL_SEEN_STATIC_FROM=tmp_path / "first", SITECRAWL_SEEN_CACHE=2)
        assert sorted(web.paths()[before:]) == sorted(SITE)


def test_no_crawl(tmp_path: Path) -> None:
    """A directory without a crawl is one line."""
    settings = {"JOBDIR": tmp_path / "job", "SITECRAWL_SEEN_STATIC_FROM": tmp_path / "none"}
    done = scrapy("crawl", "generic", "-a", "seeds=http://127.0.0.1:9", settings=settings)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "none") in done.stderr
