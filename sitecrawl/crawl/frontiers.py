"""How a crawl's frontier is made of its settings: its own, or a worker's share of one on Redis."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from sitecrawl.cluster.frontier import ClusterFrontier
from sitecrawl.cluster.join import Joined, join
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.crawl import configuration
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.contract import Capability, Listener
from sitecrawl.frontier.crawl_seen import CrawlSeen
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.urls.fingerprint import HASH_NAME

HOST_KEYS_KEPT: Final = 16_384
"""Hosts whose keys stay in memory."""


def capabilities(settings: BaseSettings) -> Capability:
    """What the frontier of such a crawl can do. Raises `OptionError`."""
    is_shared = configuration.redis_of(settings) is not None and not configuration.only_looks()
    return (ClusterFrontier if is_shared else DiskFrontier).can


def join_crawl(crawler: Crawler) -> Joined | None:
    """The crawl on Redis that the settings name, if they do."""
    options = configuration.cluster(crawler.settings, crawler.spidercls.name)
    return join(options) if options is not None else None


def worker_frontier(
    settings: BaseSettings,
    database: Database,
    joined: Joined,
    host_key: Callable[[str], bytes],
    *,
    listener: WorkerListener,
) -> ClusterFrontier:
    """That of a worker on the crawl that was joined."""
    return ClusterFrontier(
        database,
        joined,
        host_key=host_key,
        listener=listener,
        clock=time.monotonic,
        politeness=configuration.politeness(settings),
    )


def own_frontier(
    settings: BaseSettings,
    database: Database,
    filter_file: Path,
    host_key: Callable[[str], bytes],
    *,
    fingerprint: Callable[[str], bytes],
    listener: Listener,
) -> DiskFrontier:
    """That of a crawl in this process alone; `filter_file` is the seen set's. `host_key` gives the key of
    a host by its name, `fingerprint` that of a URL."""
    return DiskFrontier(
        database,
        configuration.order(settings),
        seen=CrawlSeen(filter_file, configuration.seen(settings), hash_name=HASH_NAME),
        host_key=lru_cache(maxsize=HOST_KEYS_KEPT)(host_key),
        fingerprint=fingerprint,
        listener=listener,
        clock=time.monotonic,
        wall=time.time,
        politeness=configuration.politeness(settings),
        options=configuration.frontier(settings),
    )
