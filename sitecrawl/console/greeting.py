"""A crawl's first lines: what is crawled, where its pages go, how to stop it and go on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from sitecrawl.base import declared
from sitecrawl.base.display import counted, printable
from sitecrawl.cluster.line import say, to_parent
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.directories import is_job

_NAMED: Final = 3
"""Most seeds that are named."""
_LONGEST: Final = 1000


class Greeting:
    """Scrapy extension, before the dashboard's, with the summary (`SITECRAWL_SUMMARY`). Silent in workers, whose
    parent says it, and in scrapyd's jobs.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Greeting:
        settings = crawler.settings
        wanted = declared.SUMMARY.read(settings) and has_our_scheduler(settings)
        if not wanted or is_job() or to_parent() is not None:
            raise NotConfigured
        greeting = cls(crawler)
        crawler.signals.connect(greeting.spider_opened, signal=signals.spider_opened)
        return greeting

    def spider_opened(self, spider: Spider) -> None:
        crawl = Crawl.of(self._crawler)
        fetched = crawl.frontier.figures.fetched if crawl.directory.resumed else None
        for line in first_lines(subject_of(spider), crawl.directory.path, fetched):
            say(line)


def first_lines(subject: str, directory: Path, fetched: int | None = None) -> Iterator[str]:
    """Lines that name subject and directory. `fetched`: URLs fetched so far, if the crawl is resumed."""
    begun = "" if fetched is None else f"; it goes on, with {counted(fetched, 'URL')} fetched so far"
    yield f"Crawling: {printable(subject, _LONGEST)}{begun}"
    yield f"Data: {printable(shlex.quote(str(directory)), _LONGEST)}"


def subject_of(spider: Spider) -> str:
    """Seeds, spider and scope in words; for a spider without our arguments its name."""
    arguments = getattr(spider, "arguments", None)
    seeds, scope = getattr(arguments, "seeds", ()), getattr(arguments, "scope", None)
    if not seeds:
        return f"spider {spider.name}"
    named = ", ".join(seed.href for seed in seeds[:_NAMED])
    more = f" and {len(seeds) - _NAMED:,} more seeds" if len(seeds) > _NAMED else ""
    return f"{named}{more} (spider {spider.name}, scope {getattr(scope, 'kind', 'of its own')})"


def how_to_stop(resume: str | None) -> str:
    """How to end the crawl, and the command `resume` that goes on with it."""
    return "Ctrl-C stops it" + (f". To go on: {printable(resume, 100_000)}" if resume is not None else "")
