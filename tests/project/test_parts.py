"""Each part alone in a project that has nothing else of sitecrawl, and Scrapy's own way for the rest."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from crawling import PROJECT, scrapy, states_of
from localweb import Answer, LocalWeb, Page, linked
from redis_server import running_redis, socket_of
from waiting import PATIENCE

from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.sitemap.entry import Form
from sitecrawl.page.sitemap.finder import Fetched, find_sitemaps
from sitecrawl.page.sitemap.locations import How
from sitecrawl.pagestore import PageFilter, PageReader

PAGES = 30
SPIDER = """
import scrapy
from scrapy import Request, Spider


class Stock(Spider):
    name = "stock"
    start_urls = ["{root}/"]
    custom_settings = {settings!r}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")


class Pages(Stock):
    name = "pages"

    def parse(self, response):
        from sitecrawl.crawl.page_item import page_item
        from sitecrawl.crawl.build import Crawl
        yield page_item(response, Crawl.of(self.crawler))
        yield from super().parse(response)


class Sitemaps(Spider):
    name = "sitemaps"

    async def start(self):
        from sitecrawl.crawl.sitemaps import sitemaps_of
        for sitemap in await sitemaps_of(self.crawler, "{root}"):
            for entry in sitemap.entries():
                yield Request(entry.url.href)

    def parse(self, response):
        yield {{"url": response.url}}
"""
SITEMAP = "<urlset><url><loc>/3</loc></url><url><loc>/4</loc></url></urlset>"


def site(path: str, host: str) -> Page | None:
    if path in {"/robots.txt", "/missing"}:
        return None
    if path == "/sitemap_index.xml":
        return Answer(SITEMAP.encode(), headers={"Content-Type": "application/xml"})
    if path == "/moved":
        return Answer(status=301, headers={"Location": "/2"})
    number = path.strip("/") or "0"
    if not number.isdigit():
        return None
    following = (n for n in (2 * int(number) + 1, 2 * int(number) + 2) if n < PAGES)
    return linked("/moved", *(f"/{n}" for n in following), title=number)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project as `scrapy startproject` lays it out, without the waiting."""
    (tmp_path / "shop" / "spiders").mkdir(parents=True)
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "spiders" / "__init__.py").touch()
    (tmp_path / "shop" / "settings.py").write_text('BOT_NAME = "shop"\nSPIDER_MODULES = ["shop.spiders"]\n')
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    return tmp_path


def run(folder: Path, web: LocalWeb, spider: str, *words: str, **settings: object) -> tuple[str, list[str]]:
    """The log, and the paths of the items."""
    own = SPIDER.format(root=web.root, settings=settings)
    (folder / "shop" / "spiders" / "own.py").write_text(own)
    out = folder / "items.jsonl"
    out.unlink(missing_ok=True)
    command = ("crawl", spider, "-O", f"{out}", "-s", "JOBDIR=job", *words)
    done = scrapy(*command, cwd=folder, env={"PYTHONPATH": str(PROJECT)})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    items = [json.loads(line)["url"].removeprefix(web.root) for line in out.read_text().splitlines()]
    return done.stderr, sorted(items)


def test_the_scheduler(folder: Path, web: LocalWeb) -> None:
    """Every page once, in our frontier, which knows what was fetched; it stops, and goes on where it was."""
    ours = {"SCHEDULER": "sitecrawl.scheduler.Scheduler", "SITECRAWL_DELAY_FACTOR": 0}
    log, first = run(folder, web, "stock", "-s", "CLOSESPIDER_ITEMCOUNT=8", **ours)
    assert "sitecrawl.scheduler.Scheduler" in log
    _, rest = run(folder, web, "stock", **ours)
    assert set(first) | set(rest) == {"/", *(f"/{n}" for n in range(1, PAGES))}
    assert 8 <= len(first) < PAGES
    states = states_of(folder / "job")
    assert sum(state == UrlState.FETCHED for state in states.values()) >= PAGES
    assert not (folder / "job" / "warc").exists()


def test_the_seen_set(folder: Path, web: LocalWeb) -> None:
    """Under Scrapy's scheduler."""
    _, items = run(folder, web, "stock", DUPEFILTER_CLASS="sitecrawl.dupefilter.DupeFilter")
    assert len(items) == len(set(items)) == PAGES
    assert (folder / "job" / "seen").is_dir()


def test_warc_files(folder: Path, web: LocalWeb) -> None:
    """Middleware and pipeline under Scrapy's scheduler: every exchange is stored, durably, and can be read."""
    parts = {
        "DOWNLOADER_MIDDLEWARES": {"middlewares.CaptureMiddleware": 1000},
        "ITEM_PIPELINES": {"pipelines.WarcPipeline": 900},
    }
    run(folder, web, "stock", **parts)
    with PageReader(folder / "job") as reader:
        stored = {capture.url.removeprefix(web.root) for capture in reader.pages(PageFilter())}
    assert stored == {"/", "/moved", *(f"/{n}" for n in range(1, PAGES))}
    assert scrapy("check-crawl", str(folder / "job")).returncode == 0
    run(folder, web, "stock", **parts)  # Scrapy's scheduler has its own files beside


@pytest.mark.deep
def test_a_database(folder: Path, web: LocalWeb) -> None:
    """Pages of any spider that makes them, under Scrapy's scheduler."""
    url = f"sqlite:///{folder / 'pages.db'}"
    run(folder, web, "pages", ITEM_PIPELINES={"pipelines.DatabasePipeline": 900}, SITECRAWL_DATABASE_URL=url)
    with closing(sqlite3.connect(folder / "pages.db")) as database:
        assert database.execute("SELECT count(DISTINCT url) FROM pages WHERE title <> ''").fetchone() == (PAGES,)


@pytest.fixture(scope="module")
def store() -> Iterator[redis.Redis]:
    with running_redis() as client:
        yield client


@pytest.mark.deep
def test_redis(folder: Path, web: LocalWeb, store: redis.Redis) -> None:
    """Items go where those of scrapy-redis go; no crawl directory is made for them."""
    parameters = {"unix_socket_path": socket_of(store)}
    run(folder, web, "stock", ITEM_PIPELINES={"pipelines.RedisPipeline": 300}, REDIS_PARAMS=parameters)
    assert store.llen("stock:items") == PAGES
    assert not (folder / "job" / "crawl.json").exists()
    assert not (folder / "crawls").exists()


@pytest.mark.deep
def test_sitemaps_in_a_spider(folder: Path, web: LocalWeb) -> None:
    """One call finds them, with the crawler's own downloads."""
    assert run(folder, web, "sitemaps")[1] == ["/3", "/4"]


async def fetch(url: str) -> Fetched | None:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=PATIENCE) as response:
            headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
            return Fetched(response.url, response.status, response.read(), headers)
    except urllib.error.HTTPError as error:
        return Fetched(url, error.code)


class TestFindSitemaps:
    """The same call without Scrapy."""

    def find(self, pages: dict[str, Page], **more: Any) -> list[tuple[str, How, Form, int]]:
        with LocalWeb(pages) as web:
            found = asyncio.run(find_sitemaps(web.root, fetch, **more))
            return [(s.url.removeprefix(web.root), s.how, s.form, s.count) for s in found]

    def test_what_robots_names(self) -> None:
        """And what is at a usual address."""
        pages: dict[str, Page] = {"/robots.txt": "Sitemap: /here.xml", "/here.xml": SITEMAP, "/sitemap.xml": SITEMAP}
        here, usual = ("/here.xml", How.ROBOTS, Form.URLSET, 2), ("/sitemap.xml", How.USUAL, Form.URLSET, 2)
        assert self.find(pages) == [here, usual]

    def test_what_the_front_page_names(self) -> None:
        """In any of many languages; what is no sitemap is left out."""
        pages: dict[str, Page] = {
            "/": '<meta charset="utf-8"><a href="/m">网站地图</a><a href="/n">Sitemap</a>',
            "/m": SITEMAP,
            "/n": "none",
        }
        assert self.find(pages) == [("/m", How.LINK, Form.URLSET, 2)]

    def test_a_usual_address(self) -> None:
        """Each that is one."""
        found = self.find({"/sitemap_index.xml": SITEMAP, "/sitemap.txt": "http://a.example/1"})
        assert found == [
            ("/sitemap_index.xml", How.USUAL, Form.URLSET, 2),
            ("/sitemap.txt", How.USUAL, Form.TEXT, 1),
        ]

    def test_none(self) -> None:
        """A site that answers everything with its front page has none."""
        with LocalWeb(lambda path, host: linked(*(f"/{n}" for n in range(9)))) as web:
            assert asyncio.run(find_sitemaps(web.root, fetch)) == []

    def test_at_most_so_many(self) -> None:
        """A robots.txt may name thousands."""
        pages: dict[str, Page] = {f"/{n}.xml": SITEMAP for n in range(5)}
        pages["/robots.txt"] = "\n".join(f"Sitemap: /{n}.xml" for n in range(5))
        assert len(self.find(pages, most=2)) == 2


@pytest.mark.deep
def test_a_site_spider_under_a_foreign_scheduler(folder: Path, web: LocalWeb) -> None:
    """Its links are in our frontier: a crawl that would find nothing to do is an error, and says what to change."""
    settings = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "JOBDIR": folder / "job"}
    done = scrapy("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings)
    assert done.returncode == 1
    assert "SCHEDULER is scrapy.core.scheduler.Scheduler" in done.stderr
    assert "leave SCHEDULER out" in done.stderr
