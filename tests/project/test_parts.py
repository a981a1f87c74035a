"""Each part alone in a project that has nothing else of sitecrawl, and Scrapy's own way for the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from crawling import PROJECT, scrapy, states_of
from localweb import Answer, LocalWeb, Page, linked
from redis_server import running_redis, socket_of

from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import PageFilter, PageReader

PAGES = 30
SPIDER = """
import scrapy
from scrapy import Spider


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
"""


def site(path: str, host: str) -> Page | None:
    if path in {"/robots.txt", "/missing"}:
        return None
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
    log, _ = run(folder, web, "stock", **parts)
    assert "WarcPipeline stores what" not in log
    with PageReader(folder / "job") as reader:
        stored = {capture.url.removeprefix(web.root) for capture in reader.pages(PageFilter())}
    assert stored == {"/", "/moved", *(f"/{n}" for n in range(1, PAGES))}
    assert scrapy("check-crawl", str(folder / "job")).returncode == 0
    run(folder, web, "stock", **parts)  # Scrapy's scheduler has its own files beside


def test_warc_files_without_the_middleware(folder: Path, web: LocalWeb) -> None:
    """An empty store is no surprise."""
    log, _ = run(folder, web, "stock", ITEM_PIPELINES={"pipelines.WarcPipeline": 900})
    assert "stores what middlewares.CaptureMiddleware has captured" in log


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
def test_a_site_spider_under_a_foreign_scheduler(folder: Path, web: LocalWeb) -> None:
    """Its links are in our frontier: a crawl that would find nothing to do is an error, and says what to change."""
    settings = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "JOBDIR": folder / "job"}
    done = scrapy("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings)
    assert done.returncode == 1
    assert "SCHEDULER is scrapy.core.scheduler.Scheduler" in done.stderr
    assert "leave SCHEDULER out" in done.stderr
