"""A worker's first words to Redis: it begins the crawl there, or joins it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.connection import back_off, check, connect, is_transient, shown
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.cluster.shards import open_crawl

logger = logging.getLogger(__name__)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Joined:
    """A crawl on Redis that this worker takes part in."""

    options: ClusterOptions
    key: bytes
    """Of the crawl's fingerprints."""
    is_cluster: bool


def join(options: ClusterOptions) -> Joined:
    """Begin the crawl on Redis, or join it. Raises `StorageError`, `OptionError` or `FormatMismatch`.

    A Redis that is full or loading is waited for, as it is later on; a replica, or one that nobody reaches, is not,
    as its address may be wrong.
    """
    client = connect(options.redis)
    try:
        if not options.unsafe:
            check(client)
        key = _patiently(lambda: open_crawl(client, options), shown(options.redis))
        return Joined(options, key, hasattr(client, "get_primaries"))
    except redis.RedisError as error:  # read-only, or not for this user
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {error}") from error
    finally:
        client.close()


def _patiently(ask: Callable[[], Value], where: str) -> Value:
    """The answer, as soon as Redis can give it. Nothing runs yet, so that a signal ends the process."""
    for failures in count(1):
        try:
            return ask()
        except (redis.RedisError, OSError) as error:
            if not is_transient(error) or isinstance(error, redis.ReadOnlyError):
                raise
            if failures == 1:
                logger.warning("Waiting for Redis at %s, which does not take the crawl yet: %s", where, error)
        time.sleep(back_off(failures))
    raise AssertionError("unreachable")
