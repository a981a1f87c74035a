"""Whole crawls by job files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from crawling import scrapy
from localweb import LocalWeb, linked
from scrapy.settings import Settings

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.extract.spider import ExtractSpider
from sitecrawl.plugins.focused.spider import FocusedSpider
from sitecrawl.plugins.jobs.job import read_job
from sitecrawl.spiders.generic import GenericSpider
from sitecrawl.spiders.job_file import _arguments_of, has_directory, with_job_file

PAGES = {"/": linked("/a", "/print"), "/a": linked("/b"), "/b": linked("/c"), "/c": linked(), "/print": linked()}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(PAGES) as server:
        yield server


def stored(directory: Path) -> set[str]:
    with closing(sqlite3.connect(directory / "pages.sqlite")) as index:
        return {urlsplit(url).path for (url,) in index.execute("SELECT url FROM pages WHERE kind = 'page'")}


def toml(web: LocalWeb) -> str:
    return f"""
[crawl]
spider = "generic"
seeds = ["{web.root}/"]
deny = ["print"]
max_depth = 2
[politeness]
delay_factor = 0
[outputs]
feeds = ["pages.csv"]
[settings]
SITECRAWL_DASHBOARD = false
"""


def test_a_crawl_by_its_file(web: LocalWeb, tmp_path: Path) -> None:
    """A crawl is told all by its file; its feed is beside the file."""
    (tmp_path / "site.toml").write_text(toml(web))
    done = scrapy("crawl", "generic", "-a", f"job={tmp_path}/site.toml", settings={"JOBDIR": tmp_path / "crawl"})
    assert done.returncode == 0, done.stderr
    feed = (tmp_path / "pages.csv").read_text().splitlines()
    assert stored(tmp_path / "crawl") == {"/", "/a", "/b"}
    assert {urlsplit(line.partition(",")[0]).path for line in feed[1:]} == {"/", "/a", "/b"}


def test_the_command_line_counts_above_the_file(web: LocalWeb, tmp_path: Path) -> None:
    """An argument and a setting that are given besides are what holds."""
    (tmp_path / "site.toml").write_text(toml(web))
    given = {"JOBDIR": tmp_path / "crawl", "FEEDS": "{}"}
    done = scrapy("crawl", "generic", "-a", f"job={tmp_path / 'site.toml'}", "-a", "max_depth=1", settings=given)
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path / "crawl") == {"/", "/a"}
    assert not (tmp_path / "pages.csv").exists()


def test_a_mistake_ends_it_before_it_begins(tmp_path: Path) -> None:
    """A mistake in the file is a line with its place, no traceback, and no directory."""
    (tmp_path / "site.toml").write_text("[crawl]\nseeds = ['a.example']\nmax_depth = -1\n")
    done = scrapy("crawl", "generic", "-a", f"job={tmp_path / 'site.toml'}", settings={"JOBDIR": tmp_path / "crawl"})
    assert done.returncode == 1
    assert f"sitecrawl: {tmp_path / 'site.toml'}, line 3: max_depth is -1, and has to be 0 or more" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "crawl").exists()


class Crawler:
    """What is asked of Scrapy's."""

    spidercls = GenericSpider

    def __init__(self, **given: object) -> None:
        self.settings = Settings(given, "cmdline")


def taken(path: Path, crawler: Crawler | None = None, **given: str) -> dict[str, object]:
    return with_job_file(crawler or Crawler(), {"job": str(path), **given})  # type: ignore[arg-type]


class TestTaking:
    def test_the_name(self, tmp_path: Path) -> None:
        """A crawl is called as its file says, or else as the file."""
        (tmp_path / "site.toml").write_text("")
        assert taken(tmp_path / "site.toml") == {"job": "site"}
        (tmp_path / "site.toml").write_text("[crawl]\nname = 'other'")
        assert taken(tmp_path / "site.toml") == {"job": "other"}

    def test_a_directory_counts_above_the_name(self, tmp_path: Path) -> None:
        """JOBDIR says where a crawl lives, unless it is what scrapyd gives to every job."""
        (tmp_path / "site.toml").write_text("")
        assert taken(tmp_path / "site.toml", Crawler(JOBDIR="elsewhere"))["job"] == ""
        assert taken(tmp_path / "site.toml", Crawler(JOBDIR="jobs/generic/26d1"), _job="26d1")["job"] == "site"
        assert not has_directory(Settings(), "")

    def test_another_spider(self, tmp_path: Path) -> None:
        """A file that is for one spider is refused by others."""
        (tmp_path / "site.toml").write_text("[crawl]\nspider = 'extract'")
        with pytest.raises(OptionError, match=r"site\.toml is for the spider extract, and not for generic"):
            taken(tmp_path / "site.toml")

    def test_what_is_no_file(self) -> None:
        """The name of a crawl is what it has been."""
        assert with_job_file(Crawler(), {"job": "site"}) == {"job": "site"}  # type: ignore[arg-type]
        assert with_job_file(Crawler(), {}) == {}  # type: ignore[arg-type]

    def test_settings_stand_between_project_and_command_line(self, tmp_path: Path) -> None:
        """The file's settings count above the project's and the spider's, and below the command line's."""
        (tmp_path / "site.toml").write_text("[politeness]\ndelay = 3\nconcurrency = 2\nmax_delay = 4")
        crawler = Crawler(DOWNLOAD_DELAY=9)
        crawler.settings.set("CONCURRENT_REQUESTS_PER_DOMAIN", 8, "spider")
        taken(tmp_path / "site.toml", crawler)
        settings = crawler.settings
        assert settings.getfloat("DOWNLOAD_DELAY") == 9
        assert settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") == 2
        assert settings.getfloat("SITECRAWL_MAX_DELAY") == 4

    def test_paths_begin_beside_the_file(self, tmp_path: Path) -> None:
        """Rules, and those examples that are files, are found beside the job."""
        (tmp_path / "page.html").write_text("x")
        text = "[spider]\nrules = 'rules.yaml'\nexamples = 'page.html, b.example/page'\ntopic = 'page.html'"
        (tmp_path / "site.toml").write_text(text)
        job = read_job(tmp_path / "site.toml")
        assert _arguments_of(job, ExtractSpider.path_arguments)["rules"] == str(tmp_path / "rules.yaml")
        focused = _arguments_of(job, FocusedSpider.path_arguments)
        assert focused["examples"] == f"{tmp_path / 'page.html'},b.example/page"
        assert focused["topic"] == "page.html"


def test_structured_data_by_a_job(web: LocalWeb, tmp_path: Path) -> None:
    """A spider with arguments of its own finds them in the file."""
    (tmp_path / "rules.yaml").write_text("rules:\n  - name: page\n    fields: {title: 'a::text'}\n")
    text = toml(web).replace('"generic"', '"extract"').replace("pages.csv", "items.jsonl")
    (tmp_path / "site.toml").write_text(f"{text}[spider]\nrules = 'rules.yaml'\n")
    done = scrapy("crawl", "extract", "-a", f"job={tmp_path / 'site.toml'}", settings={"JOBDIR": tmp_path / "crawl"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "items.jsonl").read_text().count('"rule"') == 3


def test_the_same_command_goes_on(web: LocalWeb, tmp_path: Path) -> None:
    """Without a JOBDIR the crawl lives where its name says, and the command that the summary gives is the same."""
    (tmp_path / "site.toml").write_text(toml(web))
    words = ("crawl", "generic", "-a", "job=site.toml", "-a", "max_pages=1")
    first = scrapy(*words, cwd=tmp_path, env={"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings"})
    assert first.returncode == 0, first.stderr
    assert "crawl generic -a job=site.toml -a max_pages=1\n" in first.stderr
    assert stored(tmp_path / "crawls" / "site") == {"/"}
    second = scrapy(*words[:4], cwd=tmp_path, env={"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings"})
    assert second.returncode == 0, second.stderr
    assert stored(tmp_path / "crawls" / "site") == {"/", "/a", "/b"}
