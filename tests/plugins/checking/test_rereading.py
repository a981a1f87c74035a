"""The links of stored pages, read again after a repair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pagestore_helpers import STARTED, exchange, page, warc_files
from scrapy import Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.page.items import Link
from sitecrawl.pagestore import Capture, PageReader, WarcStore
from sitecrawl.plugins.checking.rereading import Rereading

ROOT = "http://site.example/"


class Any(Spider):
    name = "any"


class Reread:
    """A crawl whose store holds a page, a redirect, an error, a page by POST and another page."""

    def __init__(self, directory: Path) -> None:
        settings = {"JOBDIR": str(directory), "SITECRAWL_PLUGINS_OFF": ["checking"]}  # it would read them, too
        crawler = get_crawler(Any, settings | {"ADDONS": {"sitecrawl.addon.Addon": 500}})
        crawler.spider = crawler.spidercls()
        crawler.engine = cast("ExecutionEngine", SimpleNamespace(_slot=None))
        self.crawler: Crawler = crawler
        self.parts = Crawl.of(crawler)
        store(directory)
        self.found: list[tuple[str, str]] = []
        """Page and target of each link that was handed over."""
        self.on_page: Callable[[Capture], None] = lambda _: None
        self.rereading = Rereading(crawler, self._follow)

    def _follow(self, links: list[Link], parts: list[Link], capture: Capture) -> int:
        self.found += [(capture.url.removeprefix(ROOT), link.url.removeprefix(ROOT)) for link in links]
        self.on_page(capture)
        return len(links)

    def say(self, row: int | None) -> None:
        """Let the database say up to which row links have been read; None: nothing is to be read."""
        batch = self.parts.database.batch()
        if row is None:
            batch.delete("meta", LINKS_READ)
        else:
            batch.put("meta", LINKS_READ, row.to_bytes(8))
        self.parts.database.write(batch)

    @property
    def said(self) -> int | None:
        """What a checkpoint of now says."""
        batch = self.parts.database.batch()
        self.rereading.prepare(batch)
        self.parts.database.write(batch)
        data = self.parts.database.get("meta", LINKS_READ)
        return None if data is None else int.from_bytes(data)

    @property
    def keeps_alive(self) -> bool:
        answers = self.crawler.signals.send_catch_log(
            signals.spider_idle, spider=self.crawler.spider, dont_log=DontCloseSpider
        )
        return any(isinstance(getattr(answer, "value", None), DontCloseSpider) for _, answer in answers)

    def run(self, until: Callable[[], bool]) -> None:
        """Open the spider, and let the loop turn until then."""

        async def turn() -> None:
            self.crawler.signals.send_catch_log(signals.spider_opened, spider=self.crawler.spider)
            while not until():  # noqa: ASYNC110 - what it waits for has no event
                await asyncio.sleep(0)

        asyncio.run(turn())

    def read_all(self) -> list[tuple[str, str]]:
        self.run(lambda: not self.keeps_alive)
        return self.found


def is_reading() -> bool:
    """Whether the loop has still to do with it."""
    return any("Rereading._run" in repr(task.get_coro()) for task in asyncio.all_tasks())


def store(directory: Path) -> None:
    """What is stored, with these ids."""
    html = b"<a href=/%s>to</a>"
    warcs = WarcStore(directory)
    exchanges = [
        exchange(ROOT, html % b"a"),
        exchange(ROOT + "old", b"", 301, [(b"Location", b"/new")], started=STARTED + 1),
        exchange(ROOT + "gone", html % b"error", 404, started=STARTED + 2),
        exchange(ROOT + "form", html % b"form", started=STARTED + 3, method="POST"),
        exchange(ROOT + "a", html % b"b", started=STARTED + 4),
    ]
    for of in exchanges:
        warcs.put(of, page(of) if of.status == 200 else None)
    warcs.checkpoint()
    warcs.close()


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Reread]:
    made = Reread(tmp_path / "job")
    yield made
    made.parts.checkpoints.close_files()


def test_without_a_repair_nothing_is_read(crawl: Reread) -> None:
    """Nothing is opened, and the crawl may end."""
    crawl.run(lambda: True)
    assert not crawl.keeps_alive
    assert crawl.found == []


def test_links_of_pages_and_targets_of_redirects(crawl: Reread) -> None:
    """Errors, and answers to other requests than GET, lead nowhere; afterwards nothing is left to be read."""
    crawl.say(0)
    assert crawl.read_all() == [("", "a"), ("old", "new"), ("a", "b")]
    assert crawl.said is None
    assert crawl.crawler.stats is not None
    assert crawl.crawler.stats.get_value("links/reread_new") == 3


def test_it_goes_on_where_a_checkpoint_has_seen_it(crawl: Reread) -> None:
    """What was read before is not read again."""
    crawl.say(2)
    assert crawl.read_all() == [("a", "b")]


def test_the_crawl_stays_alive_meanwhile(crawl: Reread) -> None:
    """It is idle, for nothing waits yet."""
    crawl.say(0)
    alive: list[bool] = []
    crawl.on_page = lambda _: alive.append(crawl.keeps_alive)
    crawl.read_all()
    assert alive
    assert all(alive)


def test_a_crawl_that_is_stopped_goes_on_with_it(crawl: Reread) -> None:
    """Its checkpoints say how far it has come; what follows is left for the next start."""
    crawl.say(0)
    engine = vars(crawl.crawler.engine)

    def stop(_: Capture) -> None:
        engine["_slot"] = SimpleNamespace(closing=True)

    crawl.on_page = stop
    crawl.run(lambda: bool(crawl.found) and not is_reading())
    assert crawl.found == [("", "a")]
    assert crawl.said == 1


def test_a_page_that_cannot_be_read(crawl: Reread, caplog: pytest.LogCaptureFixture) -> None:
    """It is named, and the others are read."""
    (file,) = warc_files(crawl.parts.directory.path)
    with PageReader(crawl.parts.directory.path) as reader:
        first = reader.get(1)
    assert first is not None
    content = bytearray(file.read_bytes())
    content[first.warc_offset + first.warc_length // 2] ^= 1
    file.write_bytes(content)
    crawl.say(0)
    assert crawl.read_all() == [("old", "new"), ("a", "b")]
    assert f"The links of {ROOT} cannot be read again" in caplog.text
