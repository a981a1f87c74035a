"""`scrapy sitemaps` on a real crawl."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import command
from crawling import scrapy
from localweb import Answer, LocalWeb, Page, linked

from sitecrawl.crawl.sitemaps.locations import GUESSES, usual
from sitecrawl.urls.url import parse

XML = {"Content-Type": "application/xml"}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    site: dict[str, Page] = {
        "/": linked("/1"),
        "/robots.txt": "Sitemap: /s.xml\nSitemap: /lost.xml",
        "/s.xml": Answer(b"<urlset><url><loc>/1</loc></url><url><loc>http://b.example/</loc></url>", headers=XML),
        "/1": linked(title="1"),
        "/hand.txt": "",
        "/2": linked(title="2"),
    }
    with LocalWeb(site) as served:
        site["/hand.txt"] = f"{served.root}/2"
        yield served


@pytest.fixture(scope="module")
def job(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sitemaps") / "job"
    gather(web, directory)
    return directory


def gather(web: LocalWeb, directory: Path) -> None:
    settings = {"JOBDIR": directory, "SITECRAWL_DELAY_FACTOR": 0}
    done = scrapy("crawl", "sitemap", "-a", f"domains={web.root}", settings=settings)
    assert done.returncode == 0, done.stderr


def sitemaps(job: Path, *words: str) -> str:
    done = command("sitemaps", "-d", str(job), *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_list(job: Path, web: LocalWeb) -> None:
    """The table has a sitemap a line, with what it listed and when it is visited next."""
    header, line = sitemaps(job).splitlines()
    assert header.split()[:7] == ["state", "form", "how", "entries", "new", "good", "spam"]
    assert line.split()[:7] == ["valid", "urlset", "robots", "1", "1", "100%", "50%"]
    assert line.endswith(f"{web.root}/s.xml")
    assert sitemaps(job, "list") == sitemaps(job)


def test_all(job: Path, web: LocalWeb) -> None:
    """--all shows the addresses where there was none, and where sitemaps are looked for."""
    urls = set(sitemaps(job, "--all", "--format", "urls").splitlines())
    guesses = {url.href for url in list(usual(parse(web.root)))[:GUESSES]}
    assert guesses < urls
    (missing,) = (url for url in urls - guesses if url.startswith(f"{web.root}/sitemap-"))
    named = {f"{web.root}/{path}" for path in ("", "robots.txt", "s.xml", "lost.xml")}
    assert urls == named | guesses | {missing}
    assert len(sitemaps(job, "--all", "--limit", "2", "--format", "urls").splitlines()) == 2
    assert sitemaps(job, "--host", "b.example") == ""


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_formats_for_programs(job: Path, name: str) -> None:
    """Each row has all figures."""
    lines = sitemaps(job, "--format", name).splitlines()
    (row,) = [json.loads(line) for line in lines] if name == "jsonl" else list(csv.DictReader(lines))
    assert (int(row["alien"]), int(row["new"]), row["state"], row["form"]) == (1, 1, "valid", "urlset")
    assert {"etag", "success_rate", "latency", "links_a_day", "next_visit", "parent"} <= row.keys()


def test_show(job: Path, web: LocalWeb) -> None:
    """All that is known of one."""
    facts = dict(line.split(maxsplit=1) for line in sitemaps(job, "show", f"{web.root}/s.xml").splitlines())
    assert (facts["url"], facts["form"], facts["visits"]) == (f"{web.root}/s.xml", "urlset", "1")


def test_addresses(job: Path, web: LocalWeb) -> None:
    """The addresses of the valid ones, a line each."""
    assert sitemaps(job, "--format", "urls") == f"{web.root}/s.xml\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "http://a.example/x"], 1, "is no sitemap that the crawl in"),
        (["show"], 2, "name one of"),
        (["add", "http://a.example/x"], 2, "name one of"),
        (["--limit", "0"], 2, "no number of lines"),
    ],
)
def test_errors(job: Path, words: list[str], code: int, message: str) -> None:
    """What is wrong is one line."""
    done = command("sitemaps", "-d", str(job), *words)
    assert (done.returncode, message in done.stderr + done.stdout) == (code, True)


def test_no_crawl(tmp_path: Path) -> None:
    """A directory without a crawl is one line and exit code 1."""
    done = command("sitemaps", "-d", str(tmp_path))
    assert done.returncode == 1
    assert "holds no crawl" in done.stderr
    assert "cannot be used as a crawl's directory" in command("sitemaps", "-d", "x" * 300).stderr
