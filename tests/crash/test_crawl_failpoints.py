"""A crawl that is killed at each of its durable steps loses nothing, and stores nothing twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import with_settings
from durable_steps import BEGINNING, BEGUN, END, WORK
from killing import command, killed_at
from localweb import Answer, LocalWeb, linked

from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.checking.crawl import check

SITE = 300


def page(path: str, host: str) -> Answer | None:
    """Of a site that leads on and on, and sets a cookie with each page."""
    number = int(path[1:] or 0) if path[1:].isdigit() or path == "/" else SITE
    if number >= SITE:
        return None
    links = [f"/{to}" for to in range(number + 1, min(number + 5, SITE))]
    return Answer(linked(*links, title=f"page {number}").encode(), headers={"Set-Cookie": f"seen={number}; Path=/"})


@pytest.fixture
def site() -> Iterator[LocalWeb]:
    with LocalWeb(page) as web:
        yield web


class Crawl:
    """Of one site, with all that a crawl keeps: cookies, files at a store elsewhere."""

    def __init__(self, site: LocalWeb, folder: Path) -> None:
        self.site = site
        self.job = folder / "job"
        self.store = folder / "store"
        self.log = folder / "log"
        sheets = json.dumps([{"hosts": [f"127.0.0.1:{site.port}"], "cookies": {"own": "1"}}])
        self.words = with_settings(
            "crawl",
            "generic",
            "-a",
            f"seeds={site.root}/",
            "-a",
            "sitemaps=1",
            settings={
                "JOBDIR": self.job,
                "SITECRAWL_DELAY_FACTOR": 0,
                "SITECRAWL_WARC_SIZE": 6_000,
                "SITECRAWL_REMOTE": f"file://{self.store}",
                "SITECRAWL_SHEETS": sheets,
                "LOG_LEVEL": "INFO",
            },
        )

    def kill(self, point: str, times: int = 1, *, ends_after: int = 0) -> None:
        words = with_settings(*self.words, settings={"CLOSESPIDER_PAGECOUNT": ends_after})
        killed_at(point, words, self.log, times, pages=5)

    def is_sound(self) -> bool:
        return [str(problem) for problem in check(self.job).problems] == []

    def stored(self) -> list[str]:
        with PageReader(self.job) as reader:
            return [capture.url for capture in reader.pages() if capture.kind == "page" and "xml" not in capture.url]


def test_a_crawl_of_one_process(site: LocalWeb, tmp_path: Path) -> None:
    """Killed at every step of its beginning, its work and its end, each start after the other: every page is stored
    once, the store elsewhere has what is here, and after each kill nothing is wrong.
    """
    crawl = Crawl(site, tmp_path)
    crawl.kill(BEGUN)
    crawl.kill(WORK[0])
    shutil.rmtree(crawl.job)
    shutil.rmtree(crawl.store)
    for point in BEGINNING:
        crawl.kill(point)
    for point in WORK:
        crawl.kill(point, 1 if "cut" in point or "committed" in point else 3)
        assert crawl.is_sound(), point
    for point in END:  # of a run that ends at a limit
        crawl.kill(point, ends_after=10)
        assert crawl.is_sound(), point
    assert command(crawl.words, crawl.log) == 0, crawl.log.read_text()
    assert crawl.is_sound()
    assert sorted(crawl.stored()) == sorted([f"{site.root}/", *(f"{site.root}/{n}" for n in range(1, SITE))])
    here = {file.name: file.read_bytes() for file in (crawl.job / "warc").iterdir()}
    assert {file.name: file.read_bytes() for file in (crawl.store / "job" / "warc").iterdir()} == here
    assert not [*crawl.job.rglob("*.new"), *crawl.store.rglob("*.new")]
