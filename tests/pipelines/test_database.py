"""The database pipeline in a crawl: a spider that yields pages, in a process of its own."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import sqlalchemy as sa
from crawling import scrapy, stats_of
from localweb import LocalWeb

from sitecrawl.pagestore.database import _page_table

PAGES = 450

SPIDER = """
from scrapy import Spider
from sitecrawl.page.items import PageItem

class Shop(Spider):
    name = "shop"

    def __init__(self, root, pages):
        self.start_urls, self.pages = [root], int(pages)

    def parse(self, response):
        for number in range(self.pages):
            yield PageItem(f"http://site.example/{number}", 200, 1.0 + number, body=b"body %d" % number, size=6)
        yield {"price": 1}
"""
SETTINGS = """
ADDONS = {"sitecrawl.addon.Addon": 500}
ITEM_PIPELINES = {"pipelines.DatabasePipeline": 300}
ROBOTSTXT_OBEY = False
LOG_LEVEL = "INFO"
"""
"""Of a project that is not this one."""


@pytest.fixture(scope="module")
def web():
    web = LocalWeb(lambda path, host: "<title>Shop</title>")
    yield web
    web.close()


@pytest.fixture
def crawl(tmp_path, web):
    """Runs the spider in a directory; gives its stats and its log."""
    (tmp_path / "shop.py").write_text(SPIDER)
    (tmp_path / "shop_settings.py").write_text(SETTINGS)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n")

    def run(name: str, url: str, pages: int = PAGES, **settings: object) -> tuple[dict[str, object], str]:
        words = ("runspider", "shop.py", "-a", f"root={web.root}/{pages}", "-a", f"pages={pages}")
        given = {"JOBDIR": tmp_path / name, "SITECRAWL_DATABASE_URL": url, **settings}
        log = scrapy(*words, settings=given, cwd=tmp_path).stderr
        (reason,) = re.findall(r"'finish_reason': '(\w+)'", log)
        counts = stats_of(log)
        names = ("database/pages", "item_scraped_count")
        return {"finish_reason": reason, **{name: counts.get(name) for name in names}}, log

    return run


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'shop.db'}"


def rows(url: str) -> list[sa.Row[Any]]:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = list(connection.execute(sa.select(_page_table("pages"))))
    engine.dispose()
    return found


def test_a_crawls_pages_are_in_the_table(crawl, url):
    """Every page is there, also those of the last, unfilled batch; items that are no pages pass."""
    stats, log = crawl("job", url)
    assert stats == {"finish_reason": "finished", "database/pages": PAGES, "item_scraped_count": PAGES + 1}, log
    assert {row.url for row in rows(url)} == {f"http://site.example/{number}" for number in range(PAGES)}


def test_a_resumed_crawl_is_the_same_crawl(crawl, url):
    """Pages that come again with the same JOBDIR replace their rows; those of another JOBDIR are others."""
    crawl("job", url, 3)
    crawl("job", url, 4)
    assert len(rows(url)) == 4
    crawl("other", url, 4)
    assert len(rows(url)) == 8


def test_without_a_url_it_is_off(crawl):
    """A pipeline that has no database to write to switches itself off, and says why."""
    stats, log = crawl("job", "", 3)
    assert stats["item_scraped_count"] == 4
    assert "SITECRAWL_DATABASE_URL names no database" in log


def test_a_database_that_refuses_pages_ends_the_crawl(crawl, url):
    """The crawl stops with a reason, instead of going on and losing pages."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        _page_table("pages").create(connection)
        connection.execute(
            sa.text("CREATE TRIGGER full BEFORE INSERT ON pages BEGIN SELECT RAISE(FAIL, 'no room'); END")
        )
    engine.dispose()
    stats, log = crawl("job", url, 1_000)
    assert stats["finish_reason"] == "storage_error"
    assert "takes no pages: no room" in log
    assert rows(url) == []


ITEMS = {"ITEM_PIPELINES": json.dumps({"pipelines.ItemsPipeline": 300})}


def test_items(crawl, url):
    """Each item is a row, and pages pass."""
    stats, log = crawl("job", url, 3, **ITEMS)
    assert stats == {"finish_reason": "finished", "database/pages": None, "item_scraped_count": 4}, log
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert [json.loads(item)["price"] for (item,) in connection.execute(sa.text("SELECT item FROM items"))] == [1]
    engine.dispose()
