"""A worker's frontier as tests want it: rude, with a small cache, on a clock that is the real one."""

from __future__ import annotations

import secrets
import time
from typing import Any, NamedTuple

from waiting import PATIENCE

from sitecrawl.cluster.connection import connect_async, connect_to_renew
from sitecrawl.cluster.holdings import Holdings
from sitecrawl.cluster.leases import Leases, Renewal
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.partitions import Partitions, WorkerListener
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.cluster.steps import Keys, Steps
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.tiered import SeenSet
from sitecrawl.frontier.urls.crawl_seen import SeenKeeper
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.tables import UrlTable
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.urls.fingerprint import Fingerprinter

PATIENT = PolitenessOptions(delay_factor=0.0, failure_delay=0.0, per_ip=0, max_failures=0)
"""No pause and no limit but one request a host; no host is given up."""


class PlainSeen:
    """A small seen set over the frontier's own table."""

    def open(self, database: Database, urls: UrlTable, serial: int) -> SeenSet:
        seen = SeenSet(Clock(2), ScalableBloom(capacity=100, error_rate=0.1), urls)
        seen.rebuild_gradually(urls.keys(), len(urls))
        return seen

    def save(self, database: Database, seen: SeenSet, serial: int) -> None: ...


class CrawlOf(NamedTuple):
    """One on the Redis at a URL, in so many partitions. `lease` seconds after its last word a worker is dead."""

    url: str
    name: str
    partitions: int
    lease: float = 0.4

    def worker(
        self,
        database: Database,
        listener: WorkerListener,
        fingerprints: Fingerprinter,
        *,
        order: str = "aopic",
        politeness: PolitenessOptions = PATIENT,
    ) -> tuple[SharedFrontier, PartitionStore]:
        """What a worker with this database has; its exchange begins when it does."""

        def make(database: Database, territory: Territory, seen: SeenKeeper) -> DiskFrontier:
            return DiskFrontier(
                database,
                order_named(order),
                seen=seen,
                host_key=fingerprints.host,
                fingerprint=fingerprints.url,
                listener=listener,
                clock=time.monotonic,
                wall=time.time,
                politeness=politeness,
                options=FrontierOptions(requisites=True),
                territory=territory,
            )

        holdings, run = Holdings(database, secrets.token_hex(8)), Run("", 0)
        partitions = Partitions(
            holdings,
            self.partitions,
            run=run,
            make=make,
            seen=PlainSeen(),
            listener=listener,
            clock=time.monotonic,
            cache=2,
        )
        client = connect_async({"url": self.url}, cluster=False)
        leases, keys = Leases(self.lease, time.monotonic), Keys(self.name, self.partitions)
        store = PartitionStore(Steps(client, keys), holdings.session, leases, time.monotonic)

        def connect(_: float) -> Any:
            return connect_to_renew({"url": self.url}, PATIENCE, cluster=False)

        renewal = Renewal(leases, keys, holdings.session, connect, clock=time.monotonic)
        return SharedFrontier(partitions, store, renewal, run=run), store
