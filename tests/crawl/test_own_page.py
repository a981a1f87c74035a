"""Pages that a spider fetches and makes nothing of: they are stored as pages, whoever wrote it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from console import command
from crawling import scrapy
from documents import pdf_of
from localweb import Answer, LocalWeb, Page

from sitecrawl.pagestore import Capture, PageReader

SPIDER = """
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Shop(CrawlSpider):
    name = "shop"
    start_urls = ["ROOT/", "ROOT/"]
    rules = (Rule(LinkExtractor(), callback="item", follow=True),)
    custom_settings = CUSTOM

    def item(self, response):
        if response.url.endswith("/broken"):
            raise ValueError("a callback that fails")
        yield {"url": response.url}
"""
OWN_MIDDLEWARE = {"SPIDER_MIDDLEWARES": {"own.Own": 543}}
PAGES: dict[str, Page] = {
    "/": "<html lang=en><title>Home</title><p>Welcome <a href=/apples>a</a> <a href=/broken>b</a> <a href=/list>c</a>"
    "<a href=/gone>d</a> <a href=/paper?pdf>e</a> <a href=/unlinked rel=nofollow>f</a>",
    "/apples": "<title>Apples</title><meta name=robots content=noindex><link rel=canonical href=/a><p>Red apples",
    "/broken": "<title>Broken</title><p>Pears",
    "/unlinked": Answer(b"<title>Moved", 302, {"Location": "/apples"}),
    "/list": Answer(b'{"apples": 1}', headers={"Content-Type": "application/json"}),
    "/paper?pdf": Answer(pdf_of("Plums on paper"), headers={"Content-Type": "application/pdf"}),
}


@pytest.fixture(scope="module", params=[{}, OWN_MIDDLEWARE], ids=["joined", "with a project's middleware"])
def crawl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl by a spider of Scrapy's under the add-on; the crawl's directory is `job`."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "own.py").write_text("class Own:\n    pass\n")
    with LocalWeb(PAGES) as web:
        spider = SPIDER.replace("ROOT", web.root).replace("CUSTOM", repr(request.param))
        (folder / "spider.py").write_text(spider)
        addons = json.dumps({"sitecrawl.addon.Addon": 500})
        settings = {"ADDONS": addons, "SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": "job"}
        done = scrapy("runspider", "spider.py", settings=settings, cwd=folder, env={"PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    return folder


def captures(crawl: Path) -> list[Capture]:
    with PageReader(crawl / "job") as reader:
        return list(reader.captures())


def test_html_and_documents_are_pages(crawl: Path) -> None:
    """Also where the callback fails; a redirect, an error and data are what they were."""
    found = {(one.url.partition("//")[2].partition("/")[2], one.kind) for one in captures(crawl)}
    assert found == {
        ("robots.txt", "robots"), ("", "page"), ("apples", "page"), ("broken", "page"), ("paper?pdf", "page"),
        ("list", "other"), ("gone", "error"), ("unlinked", "redirect"),
    }  # fmt: skip


def test_they_have_the_facts_of_a_page(crawl: Path) -> None:
    """Read off them as they are off those of our own spiders."""
    home, apples = (next(one for one in captures(crawl) if one.title == name) for name in ("Home", "Apples"))
    assert (home.language, home.depth, home.charset, home.noindex, home.hrefs) == ("en", 0, "windows-1252", 0, 6)
    assert (apples.depth, apples.noindex, apples.canonical) == (1, 1, home.url + "a")


def test_commands_find_them(crawl: Path) -> None:
    """Export, search and the list of pages of a WACZ file."""
    rows = [json.loads(line) for line in command("export", "-d", "job", cwd=crawl).stdout.splitlines()]
    assert {row["title"]: row["text"] for row in rows}["Apples"] == "Red apples"
    assert "Plums on paper" in {row["text"] for row in rows}
    assert "Pears" in command("search", "-d", "job", "pears", cwd=crawl).stdout
    assert command("export", "wacz", "-d", "job", "-o", "job.wacz", cwd=crawl).returncode == 0
    with zipfile.ZipFile(crawl / "job.wacz") as archive:
        assert archive.read("pages/pages.jsonl").count(b'"text"') == 4


def test_the_crawl_is_sound(crawl: Path) -> None:
    """What was asked for twice on purpose is no fault, and no link is followed but by the spider."""
    done = command("check-crawl", "job", cwd=crawl)
    assert (done.returncode, "is sound" in done.stdout) == (0, True), done.stdout + done.stderr
