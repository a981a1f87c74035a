"""A worker's frontier on Redis. Imported only if a crawl is shared, because importing `redis` takes long."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial

from sitecrawl.cluster.connection import connect_async, connect_to_renew
from sitecrawl.cluster.holdings import Holdings
from sitecrawl.cluster.join import Joined, begin
from sitecrawl.cluster.leases import Leases, Renewal
from sitecrawl.cluster.partition_store import PartitionStore
from sitecrawl.cluster.partitions import Partitions, WorkerListener
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.cluster.steps import Keys, Steps
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen, SeenKeeper
from sitecrawl.frontier.urls.territory import Territory


def shared_frontier(
    joined: Joined,
    database: Database,
    make: Callable[[Database, Territory, SeenKeeper], DiskFrontier],
    seen: CrawlSeen,
    listener: WorkerListener,
) -> SharedFrontier:
    """The frontier of a worker on the joined crawl; `make` makes that of its partitions. Raises `OptionError`."""
    options, holdings = joined.options, Holdings(database, secrets.token_hex(8))
    run = begin(joined, holdings.session)
    partitions = Partitions(
        holdings,
        options.shards,
        run=run,
        make=make,
        seen=seen,
        listener=listener,
        clock=time.monotonic,
        cache=options.cache,
    )
    client = connect_async(options.redis, cluster=joined.is_cluster, replicas=options.replicas)
    steps = Steps(client, Keys(options.crawl, options.shards))
    leases = Leases(options.lease_seconds, time.monotonic)
    store = PartitionStore(steps, holdings.session, leases, time.monotonic)
    renewing = partial(connect_to_renew, options.redis, cluster=joined.is_cluster)
    renewal = Renewal(leases, steps.keys, holdings.session, renewing, clock=time.monotonic)
    return SharedFrontier(partitions, store, renewal, run=run, watch=options.watch, seeds_key=options.seeds_key)
