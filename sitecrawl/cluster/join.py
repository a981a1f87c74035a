"""A worker's first words to Redis: it begins the crawl there, or joins it."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.connection import check, connect, shown
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.cluster.shards import open_crawl


@dataclass(frozen=True, slots=True)
class Joined:
    """A crawl on Redis that this worker takes part in."""

    options: ClusterOptions
    key: bytes
    """Of the crawl's fingerprints."""
    is_cluster: bool


def join(options: ClusterOptions) -> Joined:
    """Begin the crawl on Redis, or join it. Raises `StorageError`, `OptionError` or `FormatMismatch`."""
    client = connect(options.redis)
    try:
        if not options.unsafe:
            check(client)
        return Joined(options, open_crawl(client, options), hasattr(client, "get_primaries"))
    except redis.RedisError as error:  # read-only, full, or not for this user
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {error}") from error
    finally:
        client.close()
