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
from sitecrawl.plugins.dashboard.meter import Meter
from sitecrawl.urls.url import parse


class Any(Spider):
    name = "any"


def crawler_in(directory: Path, **settings: object) -> Crawler:
    return get_crawler(Any, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(directory), **settings})


@contextmanager
def runtime_in(directory: Path, **settings: object) -> Iterator[Crawl]:
    runtime = Crawl.of(crawler_in(directory, **settings))
    yield runtime
    runtime.checkpoints.close_files()


def fetch(runtime: Crawl, url: str) -> tuple[Fetch, Request]:
    """The fetch of `url`, as the scheduler begins it."""
    runtime.seeding.seed([parse(url)])
    visit = runtime.frontier.next()
    assert visit is not None
    begun = runtime.fetches.begin(visit, Request(visit.url, meta={VISIT: visit.key}))
    return begun, begun.request


def test_one_crawler_has_one_crawl(tmp_path: Path) -> None:
    """All components of a crawler share it, and it stays the crawler's when it is closed."""
    crawler = crawler_in(tmp_path)
    runtime = Crawl.of(crawler)
    assert Crawl.of(crawler) is runtime
    runtime.checkpoints.close_files()
    assert Crawl.of(crawler) is runtime


def test_two_crawlers_in_a_process_do_not_share_a_directory(tmp_path: Path) -> None:
    """The second is told that it is in use; another directory is fine."""
    with runtime_in(tmp_path / "1"), runtime_in(tmp_path / "2"), pytest.raises(CrawlDirectoryInUse):
        Crawl.of(crawler_in(tmp_path / "1"))


def test_a_start_that_fails_leaves_no_lock(tmp_path: Path) -> None:
    """After a wrong setting the same process can open the directory with a right one."""
    with pytest.raises(OptionError):
        Crawl.of(crawler_in(tmp_path, SITECRAWL_ORDER="random"))
    with runtime_in(tmp_path):
        pass


def test_a_crawler_that_never_ran_is_freed(tmp_path: Path) -> None:
    """An engine that fails after the runtime was made leaves nothing that keeps the directory open."""
    crawler = crawler_in(tmp_path)
    runtime = weakref.ref(Crawl.of(crawler))
    del crawler
    until(lambda: gc.collect() >= 0 and runtime() is None, "it is freed, also by a thread that began with it")
    with runtime_in(tmp_path):
        pass


def test_only_the_request_itself_belongs_to_its_fetch(tmp_path: Path) -> None:
    """A copy of its `meta` says where a request comes from, not that it is the same."""
    with runtime_in(tmp_path) as runtime:
        begun, request = fetch(runtime, "http://a.example/")
        assert runtime.fetches.of(request) is begun
        for other in (request.copy(), Request("http://b.example/", meta=request.meta)):
            assert runtime.fetches.of(other) is None
            assert runtime.fetches.behind(other) is begun
        assert runtime.fetches.behind(Request("http://c.example/")) is None
        runtime.fetches.finish(begun)
        assert runtime.fetches.behind(request) is None


@pytest.mark.parametrize(("status", "errors"), [(200, []), (404, []), (403, []), (429, ["429"]), (503, ["503"])])
def test_a_wrong_guess_is_no_error(tmp_path: Path, status: int, errors: list[str]) -> None:
    """Nor is a page; but a server that fails is one."""
    with runtime_in(tmp_path) as runtime:
        begun, request = fetch(runtime, "http://a.example/sitemap.xml")
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
    with runtime_in(tmp_path) as runtime:
        begun, _ = fetch(runtime, "http://a.example/")
        runtime.checkpoints.write()
        begun.arrived(200)
        runtime.fetches.finish(begun)
    with runtime_in(tmp_path) as runtime:
        assert runtime.directory.resumed
        begun, _ = fetch(runtime, "http://a.example/")
        begun.arrived(200)
        runtime.fetches.finish(begun)
        runtime.checkpoints.save()
    with runtime_in(tmp_path) as runtime:
        assert runtime.frontier.is_finished()
        assert runtime.frontier.figures.fetched == 1


def test_a_page_does_not_repeat_itself(tmp_path: Path) -> None:
    """A page that was under way at a crash is worth as much when it is fetched again."""
    for is_last in (False, True):
        with runtime_in(tmp_path) as runtime:
            begun, _ = fetch(runtime, "http://a.example/")
            begun.arrived(200)
            begun.parsed(PageItem("http://a.example/", 200, 0.0, content_type="text/html", body=b"<p>hello"))
            if is_last:
                runtime.fetches.finish(begun)
            runtime.checkpoints.write()
            assert runtime.ours.whole is not None
            good = runtime.ours.whole.judge.good
    assert good == 1


def test_a_full_crawl_waits_for_no_host(tmp_path: Path) -> None:
    """With as many URLs under way as there may be, no alarm is due: it would go off at once, for ever."""
    with runtime_in(tmp_path, SITECRAWL_MAX_PAGES=1, DOWNLOAD_DELAY=0.001) as runtime:
        runtime.seeding.seed([parse("http://a.example/1"), parse("http://a.example/2")])
        visit = runtime.frontier.next()
        assert visit is not None
        runtime.frontier.downloaded(visit, 0.0)
        assert runtime.frontier.next() is None
        assert runtime.frontier.next_time() is None
