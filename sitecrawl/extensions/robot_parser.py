"""`sitecrawl.http.robots_txt` as Scrapy's `ROBOTSTXT_PARSER`: rules of one crawler, at a bounded cost."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser
from scrapy.utils.python import to_unicode

from sitecrawl.base import limits
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.http.robots_txt import RobotsTxt
from sitecrawl.urls.url import target_of


class BoundedRobotParser(RobotParser):
    """Rules of a robots.txt for `ROBOTSTXT_USER_AGENT`, whatever name is asked for."""

    def __init__(self, rules: RobotsTxt, crawler: Crawler) -> None:
        self._rules = rules
        self._crawler = crawler
        if rules.is_cut:
            self._count(limits.ROBOTS_RULES.stat)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        settings = crawler.settings
        rules = RobotsTxt(
            robotstxt_body,
            robots_agent(settings),
            max_rules=limits.ROBOTS_RULES.value,
            max_work=limits.ROBOTS_WORK.value,
        )
        return cls(rules, crawler)

    @property
    def size(self) -> int:
        """Approximate bytes of memory."""
        return self._rules.size

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        target = target_of(to_unicode(url).partition("#")[0])
        if self._rules.is_too_much(target):
            self._count(limits.ROBOTS_WORK.stat)
        return self._rules.allows(target)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self._rules.crawl_delay

    def _count(self, stat: str) -> None:
        assert self._crawler.stats
        self._crawler.stats.inc_value(stat)
