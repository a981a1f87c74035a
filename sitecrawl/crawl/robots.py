"""Requests for robots.txt, which stand before the pages of their hosts."""

from __future__ import annotations

from collections.abc import Callable

from scrapy.http import Response
from scrapy.settings import BaseSettings

from sitecrawl.crawl.components import ROBOTS, has_component


class RobotsRequests:
    """Those of one crawl, and who hears of their answers."""

    def __init__(self, settings: BaseSettings) -> None:
        self.are_made = settings.getbool("ROBOTSTXT_OBEY") and has_component(
            settings, "DOWNLOADER_MIDDLEWARES", ROBOTS
        )
        """Whether each host's robots.txt is fetched first."""
        self.under_way = 0
        """Number of requests in flight, each of which a page waits for."""
        self.on_answer: list[Callable[[str, Response | None], None]] = []
        """Called with the address of each requested robots.txt and the answer, None without one."""
