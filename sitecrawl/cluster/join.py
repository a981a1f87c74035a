"""A worker's first words to Redis: it begins the crawl there, or joins it."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final, TypeVar

import redis

from sitecrawl.base.errors import FormatMismatch, OptionError, StorageError
from sitecrawl.base.hashing import HASH_NAME, new_key
from sitecrawl.cluster.address import ClusterOptions, shown
from sitecrawl.cluster.connection import back_off, check, connect, is_transient, refusal
from sitecrawl.cluster.run import PLACE, Run
from sitecrawl.cluster.steps import Keys, script

FORMAT: Final = "sitecrawl-cluster-9"
"""Version of a crawl's format on Redis."""

logger = logging.getLogger(__name__)

_LOOK: Final = 0.2
"""Seconds between two looks whether other workers are still believed alive."""
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Joined:
    """A crawl on Redis that this worker takes part in."""

    options: ClusterOptions
    key: bytes
    """Key of the crawl's fingerprints."""
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
        key = _patiently(lambda: _open_crawl(client, options), shown(options.redis))
        return Joined(options, key, is_cluster)
    except redis.RedisError as error:  # read-only, or not for this user
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {refusal(error)}") from error
    finally:
        client.close()


def begin(joined: Joined, session: str) -> Run:
    """The worker called `session` begins to work: in the run that is under way, or with a new one.

    A crawl has one limit of pages at a time: that of the worker that began while no other was at work. Raises
    `OptionError` if others are, with another limit. One that was killed is believed alive for as long as its leases
    last: that is waited for.
    """
    options, wanted, heard_of = joined.options, _in_words(joined.options.max_pages), 0
    client = connect(options.redis)
    base = Keys(options.crawl, options.shards).base(PLACE)
    args: list[str | int] = [session, int(1000 * options.lease_seconds), wanted, options.max_pages]
    try:
        while True:
            answer: Any = _patiently(lambda: client.eval(script("begin")[0], 1, base, *args), shown(options.redis))
            found, account, alive, max_pages = answer[0].decode(), *map(int, answer[1:])
            if found == wanted:
                return Run(wanted, account, max_pages, is_first=not alive)
            if 0 < heard_of < alive:
                raise OptionError(
                    f"Other workers are at work on the crawl {options.crawl!r} with {found}, not {wanted}: "
                    "start with the same, or when they have ended"
                )
            if not heard_of:
                logger.warning("The crawl has %s, not %s: waiting until no worker is at work", found, wanted)
            heard_of = alive
            _wait(_LOOK)
    except redis.RedisError as error:
        raise StorageError(f"Redis at {shown(options.redis)} refuses the crawl: {refusal(error)}") from error
    finally:
        client.close()


def _in_words(max_pages: int) -> str:
    return f"SITECRAWL_MAX_PAGES={max_pages}" if max_pages else "no limits"


def _open_crawl(client: redis.Redis | redis.RedisCluster, options: ClusterOptions) -> bytes:
    """Make the crawl, or join it; returns the key of its fingerprints. What it was begun with is in each partition.

    Raises `OptionError` if the crawl was begun with other options, `FormatMismatch` for that of another version.
    """
    keys = Keys(options.crawl, options.shards)
    wanted = {
        b"format": FORMAT.encode(),
        b"spider": options.spider.encode(),
        b"hash": HASH_NAME.encode(),
        b"shards": str(options.shards).encode(),
        b"order": options.order.encode(),
        b"max_depth": str(options.max_depth).encode(),
    }
    first = keys.base(PLACE) + "crawl"
    client.hsetnx(first, "key", new_key().hex())
    given: bytes = client.hget(first, "key")  # type: ignore[assignment]
    wanted[b"key"] = given
    for partition in range(options.shards):
        name = keys.base(partition) + "crawl"
        found: dict[bytes, bytes] = client.hgetall(name)  # type: ignore[assignment]
        if wanted.keys() - found.keys():  # it begins, or whoever began it was killed meanwhile
            for field, value in wanted.items():
                client.hsetnx(name, field, value)
            found = client.hgetall(name)  # type: ignore[assignment]
        _compare(found, wanted, options.crawl)
    return bytes.fromhex(given.decode())


def _compare(found: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes], crawl: str) -> None:
    for field, value in wanted.items():
        if found[field] == value:
            continue
        name, begun, now = field.decode(), found[field].decode(), value.decode()
        text = f"The crawl {crawl!r} on this Redis has {name} {begun!r}, not {now!r}"
        if field in {b"format", b"hash"}:
            raise FormatMismatch(f"{text}: use the version that began it")
        raise OptionError(f"{text}: use the same options, or another SITECRAWL_CLUSTER_CRAWL")


def _patiently(ask: Callable[[], Value], where: str) -> Value:
    """The answer, as soon as Redis can give it."""
    for failures in count(1):
        try:
            return ask()
        except (redis.RedisError, OSError) as error:
            if not is_transient(error) or isinstance(error, redis.ReadOnlyError):
                raise
            if failures == 1:
                logger.warning("Waiting for Redis at %s, which does not take the crawl yet: %s", where, error)
        _wait(back_off(failures))
    raise AssertionError("unreachable")


def _wait(seconds: float) -> None:
    """Raises `StorageError` when somebody ends the crawl meanwhile.

    Nothing else runs yet: what Scrapy makes of a signal would wait for Redis, too.
    """
    if current_thread() is not main_thread():
        time.sleep(seconds)
        return
    old = [signal.signal(number, _end) for number in _ENDS]
    try:
        time.sleep(seconds)
    finally:
        for number, handler in zip(_ENDS, old, strict=True):
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    raise StorageError("The crawl was ended while it waited for Redis")
