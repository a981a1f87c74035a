"""Fetches under way."""

from __future__ import annotations

from pathlib import Path

from crawling import scrapy, stats_of
from localweb import LocalWeb, linked

PAGES = 100
SPIDER = """
from sitecrawl.crawl.build import Crawl
from sitecrawl.spiders.site import SiteSpider

class Counting(SiteSpider):
    name = "counting"

    def parse(self, response, **kwargs):
        crawl = Crawl.of(self.crawler)
        crawl.checkpoints.stop()  # so that none comes by time
        self.crawler.stats.max_value("most/fetches", len(crawl.fetches))
        return super().parse(response, **kwargs)
"""


def test_a_page_teaches_before_many_more_are_chosen(tmp_path: Path) -> None:
    """What Scrapy is done with is told to the frontier while the crawl goes on, and not at the next checkpoint."""
    spider = tmp_path / "counting.py"
    spider.write_text(SPIDER)
    pages = {"/": linked(*(f"/{number}" for number in range(1, PAGES)))}
    with LocalWeb(lambda path, host: pages.get(path, "a page")) as web:
        settings = {
            "JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "CONCURRENT_REQUESTS": 4,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "STATS_DUMP": True, "LOG_LEVEL": "INFO",
        }  # fmt: skip
        done = scrapy("runspider", str(spider), "-a", f"seeds={web.root}/", settings=settings)
    assert done.returncode == 0, done.stderr
    stats = stats_of(done.stderr)
    assert stats["downloader/response_status_count/200"] >= PAGES
    assert stats["most/fetches"] <= 32
