"""A project's own DUPEFILTER_CLASS is asked under our scheduler, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import crawl, scrapy, stats_of
from localweb import LocalWeb, linked
from scrapy.dupefilters import RFPDupeFilter
from scrapy.settings import Settings

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.components import own_class
from sitecrawl.dupefilter import DupeFilter

SPIDER = """
from scrapy import Request, Spider
from scrapy.dupefilters import RFPDupeFilter

class NoQueries(RFPDupeFilter):
    told = []

    def open(self):
        self.told.append("open")

    def request_seen(self, request):
        return super().request_seen(request.replace(url=request.url.partition("?")[0]))

    def close(self, reason):
        super().close(reason)
        print(*self.told, "close", reason)

class Queries(Spider):
    name = "queries"
    custom_settings = {"DUPEFILTER_CLASS": NoQueries, "ROBOTSTXT_OBEY": False, "SITECRAWL_DELAY_FACTOR": 0,
                       "LOG_LEVEL": "INFO", "STATS_DUMP": True}

    def __init__(self, root):
        super().__init__(start_urls=[root + "/"])

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
        yield response.follow("/one?again", dont_filter=True, callback=self.end)

    def end(self, response):
        pass
"""


def own(**settings: object) -> object:
    return own_class(Settings(settings))


def test_it_is_asked_for_each_request_that_a_spider_yields(tmp_path: Path) -> None:
    """What it has seen is not fetched, though the frontier has not; `dont_filter` passes; it is opened and closed."""
    file = tmp_path / "queries.py"
    file.write_text(SPIDER)
    pages = {path: linked("/one?a", "/one?b", "/two", "/two") for path in ("/", "/two", "/one")}
    with LocalWeb(lambda path, host: pages.get(path.partition("?")[0])) as web:
        settings = {"JOBDIR": tmp_path / "job"}
        done = scrapy("runspider", str(file), "-a", f"root={web.root}", settings=settings)
        asked = web.paths()
    assert done.returncode == 0, done.stderr
    assert sorted(set(asked)) == ["/", "/one?a", "/one?again", "/two"]
    assert done.stdout.split() == ["open", "close", "finished"]
    assert stats_of(done.stderr)["dupefilter/filtered"] > 0


@pytest.mark.parametrize("named", ["scrapy.dupefilters.RFPDupeFilter", RFPDupeFilter, DupeFilter])
def test_what_the_frontier_does_anyway_is_not_made(named: object) -> None:
    """Scrapy's default, and our own for Scrapy's scheduler, would be a second set of the same URLs."""
    assert own(DUPEFILTER_CLASS=named) is None


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("no_such_module.Filter", "cannot be loaded: No module named 'no_such_module'"),
        ("scrapy.dupefilters.NoSuchFilter", "cannot be loaded: "),
        ("nothing", "cannot be loaded: "),
        (None, "cannot be loaded: "),
        ("json.dumps", "no duplicate filter: it has no request_seen"),
        ("scrapy.dupefilters.BaseDupeFilter", "which filters nothing"),
    ],
)
def test_what_cannot_be_asked_is_an_error(named: object, why: str) -> None:
    """A class that is not there, is none, or filters nothing."""
    with pytest.raises(OptionError, match=why):
        own(DUPEFILTER_CLASS=named)


def test_a_crawl_says_so_in_one_line_and_makes_no_files(tmp_path: Path) -> None:
    """Before anything is made."""
    with LocalWeb({"/": ""}) as web:
        done = crawl(f"{web.root}/", tmp_path / "job", DUPEFILTER_CLASS="no_such_module.Filter")
    assert done.returncode == 1
    why = "and cannot be loaded: No module named 'no_such_module'"
    assert done.stderr.splitlines() == [f"sitecrawl: DUPEFILTER_CLASS is 'no_such_module.Filter', {why}"]
    assert not (tmp_path / "job").exists()
