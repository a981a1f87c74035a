"""Here alone is chosen whether a crawl's frontier is its own or shared on Redis."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from scrapy.crawler import Crawler

from sitecrawl.cluster.frontier import ClusterFrontier, Joined, join
from sitecrawl.crawl import configuration
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.crawl_seen import CrawlSeen
from sitecrawl.frontier.disk import Frontier

logger = logging.getLogger(__name__)

HOST_KEYS_KEPT: Final = 16_384
"""Hosts whose keys stay in memory."""


def join_crawl(crawler: Crawler) -> Joined | None:
    """The crawl on Redis that the settings name, if they do."""
    options = configuration.cluster(crawler.settings, crawler.spidercls.name)
    if options is not None and crawler.settings.getint("DEPTH_LIMIT") > 0:
        logger.warning(
            "Workers do not go level by level: what is first found by a longer way counts as that deep, so a depth "
            "limit of %d may leave out some pages that one process would fetch",
            crawler.settings.getint("DEPTH_LIMIT"),
        )
    return join(options) if options is not None else None


def open_frontier(
    crawler: Crawler, database: Database, joined: Joined | None, seen: CrawlSeen, host_key: Callable[[str], bytes]
) -> Frontier | ClusterFrontier:
    """The frontier of a crawl on Redis, if it has `joined` one."""
    settings = crawler.settings
    if joined is not None:
        return ClusterFrontier(
            database,
            joined,
            host_key=host_key,
            clock=time.monotonic,
            politeness=configuration.politeness(settings),
            max_depth=settings.getint("DEPTH_LIMIT"),
        )
    return Frontier(
        database,
        configuration.order(settings),
        seen=seen.open,
        host_key=lru_cache(maxsize=HOST_KEYS_KEPT)(host_key),
        clock=time.monotonic,
        wall=time.time,
        politeness=configuration.politeness(settings),
        options=configuration.frontier(settings),
    )
