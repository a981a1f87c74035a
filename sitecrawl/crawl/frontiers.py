"""How a crawl's frontier is made of its settings: its own, or a worker's share of one on Redis."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
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
from sitecrawl.cluster.partitions import Partitions
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.cluster.steps import Steps
from sitecrawl.crawl import configuration, sharing
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.contract import Listener
from sitecrawl.frontier.crawl_seen import CrawlSeen, SeenKeeper
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.territory import Territory
from sitecrawl.sheets import Sheets
from sitecrawl.urls.fingerprint import HASH_NAME

HOST_KEYS_KEPT: Final = 16_384
"""Hosts whose keys stay in memory."""


def join_crawl(crawler: Crawler) -> Joined | None:
    """The crawl on Redis that the settings name, if they do."""
    options = sharing.cluster(crawler.settings, crawler.spidercls.name)
    return join(options) if options is not None else None


class FrontierFactory:
    """Makes the frontiers of one crawl in this process, all on the same `terms`. Raises `OptionError`.

    `host_key` gives the key of a host by its name, `fingerprint` that of a URL. `filter_file` is the seen set's.
    """

    def __init__(
        self,
        settings: BaseSettings,
        sheets: Sheets,
        filter_file: Path,
        *,
        host_key: Callable[[str], bytes],
        fingerprint: Callable[[str], bytes],
    ) -> None:
        self._settings = settings
        self.terms = configuration.live_terms(settings, sheets)
        self._filter_file = filter_file
        self._host_key = lru_cache(maxsize=HOST_KEYS_KEPT)(host_key)
        self._fingerprint = fingerprint

    def own(self, database: Database, listener: Listener) -> DiskFrontier:
        """That of a crawl in this process alone."""
        return self._over(database, self._seen(), listener)

    def of_worker(self, database: Database, joined: Joined, listener: WorkerListener) -> SharedFrontier:
        """That of a worker on the crawl that was joined. Raises `OptionError`."""
        self.terms.max_pages = 0  # it is that of all workers
        options, holdings = joined.options, Holdings(database, secrets.token_hex(8))
        run = begin(joined, holdings.session)

        def make(database: Database, territory: Territory, seen: SeenKeeper) -> DiskFrontier:
            return self._over(database, seen, listener, territory)

        partitions = Partitions(
            holdings,
            options.shards,
            run=run,
            make=make,
            seen=self._seen(),
            listener=listener,
            clock=time.monotonic,
            cache=options.cache,
        )
        client = connect_async(options.redis, cluster=joined.is_cluster, replicas=options.replicas)
        steps = Steps(client, Keys(options.crawl, options.shards))
        store = PartitionStore(steps, holdings.session, options.lease_seconds)
        return SharedFrontier(partitions, store, run=run, watch=options.watch, seeds_key=options.seeds_key)

    def _seen(self) -> CrawlSeen:
        return CrawlSeen(self._filter_file, configuration.seen(self._settings), hash_name=HASH_NAME)

    def _over(
        self, database: Database, seen: SeenKeeper, listener: Listener, territory: Territory | None = None
    ) -> DiskFrontier:
        return DiskFrontier(
            database,
            configuration.order(self._settings),
            seen=seen,
            host_key=self._host_key,
            fingerprint=self._fingerprint,
            listener=listener,
            clock=time.monotonic,
            wall=time.time,
            politeness=configuration.politeness(self._settings),
            options=configuration.frontier(self._settings),
            terms=self.terms,
            territory=territory,
        )


def board_of(joined: Joined, session: str) -> Board:
    """What the workers tell each other of themselves, over a connection of its own."""
    options = joined.options
    line = connect_async(options.redis, cluster=joined.is_cluster)
    return Board(Steps(line, Keys(options.crawl, options.shards)), session)
