"""A spider that has seen enough of an answer: that is no failure of the host."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from crawling import environment, states_of
from localweb import LocalWeb, linked
from waiting import PATIENCE

from sitecrawl.frontier.record import UrlState

PAGES = 16
CRAWL = """
import json, sys
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import StopDownload

directory, root, pages = sys.argv[1:]

class Impatient(Spider):
    name = "impatient"

    @classmethod
    def from_crawler(cls, crawler):
        spider = super().from_crawler(crawler)
        crawler.signals.connect(spider.head, signals.headers_received)
        spider.stopped = []
        return spider

    async def start(self):
        for number in range(int(pages)):
            yield Request(f"{root}/{number}", errback=self.failed)

    def head(self, request):
        raise StopDownload(fail=True)

    def failed(self, failure):
        if isinstance(failure.value, StopDownload):
            self.stopped.append((type(failure.value).__name__, failure.value.response.status))

process = AsyncCrawlerProcess({
    "ADDONS": {"sitecrawl.addon.Addon": 500},
    "JOBDIR": directory,
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_MAX_HOST_FAILURES": 2,
})
crawler = process.create_crawler(Impatient)
process.crawl(crawler)
process.start()
print(json.dumps([crawler.spider.stopped, crawler.stats.get_value("finish_reason")]))
"""


def test_a_spider_that_stops_downloads(tmp_path: Path) -> None:
    """Its errback hears of each page, all are asked for, and each is done with; robots.txt comes whole."""
    job = tmp_path / "job"
    robots = "User-agent: *\nDisallow: /3\n"
    with LocalWeb(lambda path, _: robots if path == "/robots.txt" else linked(title=path)) as web:
        command = [sys.executable, "-c", CRAWL, str(job), web.root, str(PAGES)]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert sorted(web.paths()) == sorted(f"/{number}" for number in range(PAGES) if number != 3)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[["StopDownload", 200]] * (PAGES - 1), "finished"]
    assert Counter(states_of(job).values()) == {UrlState.FETCHED: PAGES - 1, UrlState.EXCLUDED: 1}
