"""How a crawl's frontier is made of its settings: its own, or a worker's share of one on Redis."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from sitecrawl.cluster.board import Board
from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.holdings import Holdings
from sitecrawl.cluster.join import Joined, begin, join
from sitecrawl.cluster.keys import Keys
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.cluster.steps import Steps
from sitecrawl.crawl import configuration
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.contract import Listener
from sitecrawl.frontier.crawl_seen import CrawlSeen, SeenKeeper
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.territory import Territory
from sitecrawl.urls.fingerprint import HASH_NAME

HOST_KEYS_KEPT: Final = 16_384
"""Hosts whose keys stay in memory."""


def join_crawl(crawler: Crawler) -> Joined | None:
    """The crawl on Redis that the settings name, if they do."""
    options = configuration.cluster(crawler.settings, crawler.spidercls.name)
    return join(options) if options is not None else None


def worker_frontier(
    settings: BaseSettings,
    database: Database,
    filter_file: Path,
    joined: Joined,
    host_key: Callable[[str], bytes],
    *,
    fingerprint: Callable[[str], bytes],
    listener: WorkerListener,
) -> SharedFrontier:
    """That of a worker on the crawl that was joined; the rest as in `own_frontier`. Raises `OptionError`."""
    options, holdings = joined.options, Holdings(database, secrets.token_hex(8))
    client = connect_async(options.redis, cluster=joined.is_cluster, replicas=options.replicas)
    steps = Steps(client, Keys(options.crawl, options.shards))

    def make(database: Database, territory: Territory, seen: SeenKeeper) -> DiskFrontier:
        return _disk_frontier(
            settings, database, seen, host_key, fingerprint=fingerprint, listener=listener, territory=territory
        )

    return SharedFrontier(
        database,
        holdings,
        PartitionStore(steps, holdings.session, options.lease_seconds),
        run=begin(joined, holdings.session),
        make=make,
        seen=CrawlSeen(filter_file, configuration.seen(settings), hash_name=HASH_NAME),
        listener=listener,
        clock=time.monotonic,
        cache=options.cache,
        watch=options.watch,
        seeds_key=options.seeds_key,
    )


def board_of(joined: Joined, session: str) -> Board:
    """What the workers tell each other of themselves, over a connection of its own."""
    options = joined.options
    line = connect_async(options.redis, cluster=joined.is_cluster)
    return Board(Steps(line, Keys(options.crawl, options.shards)), session)


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
    seen = CrawlSeen(filter_file, configuration.seen(settings), hash_name=HASH_NAME)
    return _disk_frontier(settings, database, seen, host_key, fingerprint=fingerprint, listener=listener)


def _disk_frontier(
    settings: BaseSettings,
    database: Database,
    seen: SeenKeeper,
    host_key: Callable[[str], bytes],
    *,
    fingerprint: Callable[[str], bytes],
    listener: Listener,
    territory: Territory | None = None,
) -> DiskFrontier:
    options = configuration.frontier(settings)
    if territory is not None:
        options = replace(options, max_pages=0)  # it is that of all workers
    return DiskFrontier(
        database,
        configuration.order(settings),
        seen=seen,
        host_key=lru_cache(maxsize=HOST_KEYS_KEPT)(host_key),
        fingerprint=fingerprint,
        listener=listener,
        clock=time.monotonic,
        wall=time.time,
        politeness=configuration.politeness(settings),
        options=options,
        territory=territory,
    )
