"""A spider that has seen enough of an answer: that is no failure of the host."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from crawling import scrapy, states_of
from localweb import LocalWeb, linked

from sitecrawl.frontier.urls.record import UrlState

PAGES = 16
SPIDER = """
import json
from pathlib import Path
from scrapy import Request, Spider, signals
from scrapy.exceptions import StopDownload

class Impatient(Spider):
    name = "impatient"

    def __init__(self, root, pages, told):
        self.root, self.pages, self.told = root, int(pages), Path(told)
        self.stopped = []

    @classmethod
    def from_crawler(cls, crawler, **given):
        spider = super().from_crawler(crawler, **given)
        crawler.signals.connect(spider.head, signals.headers_received)
        return spider

    async def start(self):
        for number in range(self.pages):
            yield Request(f"{self.root}/{number}", errback=self.failed)

    def head(self, request):
        raise StopDownload(fail=True)

    def failed(self, failure):
        if isinstance(failure.value, StopDownload):
            self.stopped.append((type(failure.value).__name__, failure.value.response.status))

    def closed(self, reason):
        self.told.write_text(json.dumps([self.stopped, reason]))
"""


def test_a_spider_that_stops_downloads(tmp_path: Path) -> None:
    """Its errback hears of each page, all are asked for, and each is done with; robots.txt comes whole."""
    job, file, told = tmp_path / "job", tmp_path / "impatient.py", tmp_path / "told.json"
    file.write_text(SPIDER)
    robots = "User-agent: *\nDisallow: /3\n"
    with LocalWeb(lambda path, _: robots if path == "/robots.txt" else linked(title=path)) as web:
        words = ("runspider", str(file), "-a", f"root={web.root}", "-a", f"pages={PAGES}", "-a", f"told={told}")
        settings = {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_MAX_HOST_FAILURES": 2}
        done = scrapy(*words, settings=settings)
        assert sorted(web.paths()) == sorted(f"/{number}" for number in range(PAGES) if number != 3)
    assert done.returncode == 0, done.stderr
    assert json.loads(told.read_text()) == [[["StopDownload", 200]] * (PAGES - 1), "finished"]
    assert Counter(states_of(job).values()) == {UrlState.FETCHED: PAGES - 1, UrlState.EXCLUDED: 1}
