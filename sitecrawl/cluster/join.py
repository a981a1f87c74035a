"""A worker's first words to Redis: it begins the crawl there, or joins it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

import redis

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.address import shown
from sitecrawl.cluster.connection import back_off, check, connect, is_transient
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.cluster.shards import call_join, open_crawl

logger = logging.getLogger(__name__)

_LOOK: Final = 0.2
"""Seconds between two looks whether other workers are still believed alive."""

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
        is_cluster = hasattr(client, "get_primaries")
        if is_cluster and options.replicas:
            raise OptionError("SITECRAWL_CLUSTER_REPLICAS is for one Redis and its replicas, not for a Redis Cluster")
        key = _patiently(lambda: open_crawl(client, options), shown(options.redis))
        return Joined(options, key, is_cluster)
    except redis.RedisError as error:  # read-only, or not for this user
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {error}") from error
    finally:
        client.close()


def begin(joined: Joined, session: str) -> int:
    """The worker called `session` begins to work. Returns the account of `max_pages`, as `account.lua` has it.

    A crawl has one set of limits at a time: that of the worker that began while no other was at work. Raises
    `OptionError` if others are, with other limits. One that was killed is believed alive for as long as its leases
    last: that is waited for.
    """
    options, heard_of = joined.options, 0
    client = connect(options.redis)
    try:
        while True:
            answer = _patiently(lambda: call_join(client, options, session), shown(options.redis))
            found = answer[b"limits"].decode()
            if found == str(options.limits):
                return int(answer[b"account"])
            if 0 < heard_of < answer[b"alive"]:
                raise OptionError(
                    f"Other workers are at work on the crawl {options.crawl!r} with {found}, not {options.limits}: "
                    "start with the same, or when they have ended"
                )
            if not heard_of:
                logger.warning("The crawl has %s, not %s: waiting until no worker is at work", found, options.limits)
            heard_of = int(answer[b"alive"])
            time.sleep(_LOOK)
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
