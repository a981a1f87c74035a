"""One crawl put together: who shares it, whose requests are whose, and what is left when it cannot start."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler
from waiting import until

from sitecrawl.base.errors import CrawlDirectoryInUse, OptionError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import GUESS, VISIT
from sitecrawl.page.items import PageItem
from sitecrawl.plugins.dashboard.figures import Meter
from sitecrawl.urls.url import parse


class Any(Spider):
    name = "any"


def crawler_in(directory: Path, **settings: object) -> Crawler:
    return get_crawler(Any, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(directory), **settings})


@contextmanager
def crawl_in(directory: Path, **settings: object) -> Iterator[Crawl]:
    crawl = Crawl.of(crawler_in(directory, **settings))
    yield crawl
    crawl.checkpoints.close_files()


def fetch(crawl: Crawl, url: str) -> tuple[Fetch, Request]:
    """The fetch of `url`, as the scheduler begins it."""
    crawl.seeding.seed([parse(url)])
    visit = crawl.frontier.next()
    assert visit is not None
    begun = crawl.fetches.begin(visit, Request(visit.url, meta={VISIT: visit.key}))
    return begun, begun.request


def test_one_crawler_has_one_crawl(tmp_path: Path) -> None:
    """All components of a crawler share it, and it stays the crawler's when it is closed."""
    crawler = crawler_in(tmp_path)
    crawl = Crawl.of(crawler)
    assert Crawl.of(crawler) is crawl
    crawl.checkpoints.close_files()
    assert Crawl.of(crawler) is crawl


def test_two_crawlers_in_a_process_do_not_share_a_directory(tmp_path: Path) -> None:
    """The second is told that it is in use; another directory is fine."""
    with crawl_in(tmp_path / "1"), crawl_in(tmp_path / "2"), pytest.raises(CrawlDirectoryInUse):
        Crawl.of(crawler_in(tmp_path / "1"))


def test_a_start_that_fails_leaves_no_lock(tmp_path: Path) -> None:
    """After a wrong setting the same process can open the directory with a right one."""
    with pytest.raises(OptionError):
        Crawl.of(crawler_in(tmp_path, SITECRAWL_ORDER="random"))
    with crawl_in(tmp_path):
        pass


def test_a_crawler_that_never_ran_is_freed(tmp_path: Path) -> None:
    """An engine that fails after the crawl was made leaves nothing that keeps the directory open."""
    crawler = crawler_in(tmp_path)
    crawl = weakref.ref(Crawl.of(crawler))
    del crawler
    until(lambda: gc.collect() >= 0 and crawl() is None, "it is freed, also by a thread that began with it")
    with crawl_in(tmp_path):
        pass


def test_only_the_request_itself_belongs_to_its_fetch(tmp_path: Path) -> None:
    """A copy of its `meta` says where a request comes from, not that it is the same."""
    with crawl_in(tmp_path) as crawl:
        begun, request = fetch(crawl, "http://a.example/")
        assert crawl.fetches.of(request) is begun
        for other in (request.copy(), Request("http://b.example/", meta=request.meta)):
            assert crawl.fetches.of(other) is None
            assert crawl.fetches.behind(other) is begun
        assert crawl.fetches.behind(Request("http://c.example/")) is None
        crawl.fetches.finish(begun)
        assert crawl.fetches.behind(request) is None


@pytest.mark.parametrize(("status", "errors"), [(200, []), (404, []), (403, []), (429, ["429"]), (503, ["503"])])
def test_a_wrong_guess_is_no_error(tmp_path: Path, status: int, errors: list[str]) -> None:
    """Nor is a page; but a server that fails is one."""
    with crawl_in(tmp_path) as crawl:
        begun, request = fetch(crawl, "http://a.example/sitemap.xml")
        begun.arrived(status)
        request.meta[GUESS] = True
        meter = Meter()
        meter.finished(begun)
        assert [*meter.errors] == errors
        del request.meta[GUESS]
        meter.finished(begun)
        assert [*meter.errors] == ([str(status)] if status >= 400 else [])


def test_what_is_not_saved_is_fetched_again(tmp_path: Path) -> None:
    """A visit counts as done from the next checkpoint on; without one it is work again."""
    with crawl_in(tmp_path) as crawl:
        begun, _ = fetch(crawl, "http://a.example/")
        crawl.checkpoints.write()
        begun.arrived(200)
        crawl.fetches.finish(begun)
    with crawl_in(tmp_path) as crawl:
        assert crawl.directory.resumed
        begun, _ = fetch(crawl, "http://a.example/")
        begun.arrived(200)
        crawl.fetches.finish(begun)
        crawl.checkpoints.save()
    with crawl_in(tmp_path) as crawl:
        assert crawl.frontier.is_finished()
        assert crawl.frontier.figures.fetched == 1


def test_a_page_does_not_repeat_itself(tmp_path: Path) -> None:
    """A page that was under way at a crash is worth as much when it is fetched again."""
    for is_last in (False, True):
        with crawl_in(tmp_path) as crawl:
            begun, _ = fetch(crawl, "http://a.example/")
            begun.arrived(200)
            begun.page = PageItem("http://a.example/", 200, 0.0, content_type="text/html", body=b"<p>hello")
            if is_last:
                crawl.fetches.finish(begun)
            crawl.checkpoints.write()
            assert crawl.ours.whole is not None
            good = crawl.ours.whole.judge.good
    assert good == 1


def test_a_full_crawl_waits_for_no_host(tmp_path: Path) -> None:
    """With as many URLs under way as there may be, no alarm is due: it would go off at once, for ever."""
    with crawl_in(tmp_path, SITECRAWL_MAX_PAGES=1, DOWNLOAD_DELAY=0.001) as crawl:
        crawl.seeding.seed([parse("http://a.example/1"), parse("http://a.example/2")])
        visit = crawl.frontier.next()
        assert visit is not None
        crawl.frontier.downloaded(visit, 0.0)
        assert crawl.frontier.next() is None
        assert crawl.frontier.next_time() is None
