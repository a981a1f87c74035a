"""The connection to Redis, and whether that Redis may be trusted with a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import redis
import redis.asyncio
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from sitecrawl.base.errors import OptionError, StorageError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
"""A Redis that is silent for longer is taken for cut off: the command is sent again, and no command counts twice."""

_BACK_OFF: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
_AWAY: Final = (
    OSError,
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    redis.exceptions.ClusterError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.RedisClusterException,
)
"""Of these redis-py has taken the error's name away."""
_TRANSIENT: Final = (
    "LOADING",
    "MISCONF",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MASTERDOWN",
    "NOREPLICAS",
    "BUSY",
    "OOM",
    "REPAIR",
)


def connect(params: Mapping[str, Any]) -> redis.Redis | redis.RedisCluster:
    """A client that waits, for what is asked before the crawl runs. Raises `StorageError`."""
    given = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": ANSWER_SECONDS, **_plain(params)}
    given["retry"] = Retry(ExponentialBackoff(cap=1, base=0.1), 3)
    try:
        client = redis.Redis.from_url(**given) if "url" in given else redis.Redis(**given)
        if not client.info("cluster").get("cluster_enabled"):
            return client
        client.close()
        return redis.RedisCluster.from_url(**given) if "url" in given else redis.RedisCluster(**given)
    except (redis.RedisError, OSError, ValueError) as error:
        raise StorageError(f"Redis at {shown(params)} cannot be reached: {error}") from error


def connect_async(params: Mapping[str, Any], *, cluster: bool, patient: bool = False) -> Any:
    """A client for the event loop. It repeats nothing by itself: the pump does, with the whole step in view.

    `patient`: for who waits for messages, which may be long in coming.
    """
    silence = None if patient else ANSWER_SECONDS
    given = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": silence, **_plain(params)}
    if cluster:
        kind: Any = redis.asyncio.RedisCluster
        # A failover is followed within one call, by asking the others who is master now.
        given["retry"] = Retry(NoBackoff(), 3)
    else:
        kind = redis.asyncio.Redis
        given["retry"] = Retry(NoBackoff(), 0)
    return kind.from_url(**given) if "url" in given else kind(**given)


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """What scrapy-redis would do with these settings is for its own connections alone: bytes stay bytes here."""
    own = {"redis_cls", "decode_responses", "encoding", "retry", "retry_on_timeout", "socket_timeout"}
    own.add("socket_connect_timeout")
    return {name: value for name, value in params.items() if name not in own}


def shown(params: Mapping[str, Any]) -> str:
    """Which Redis it is, for a message: without a password, wherever that stands."""
    url = str(params.get("url", ""))
    if url:
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
    return f"{params.get('host', 'localhost')}:{params.get('port', 6379)}"


def check(client: redis.Redis | redis.RedisCluster) -> None:
    """Raises `OptionError` for a Redis that may lose a crawl. What a managed one does not tell is let pass."""
    for node, facts in _facts(client).items():
        policy = facts.get("maxmemory_policy", "noeviction")
        limited = int(facts.get("maxmemory", 0)) > 0
        if limited and policy != "noeviction":
            raise OptionError(
                f"Redis {node} has maxmemory-policy {policy}: when it is full it throws parts of the crawl away, "
                "and URLs would be lost or fetched twice. Set `maxmemory-policy noeviction`, or "
                "SITECRAWL_CLUSTER_UNSAFE=True if you accept that"
            )
        if not int(facts.get("aof_enabled", 1)):
            raise OptionError(
                f"Redis {node} has no append-only file: a restart would lose the crawl, or its last minutes. "
                "Set `appendonly yes`, or SITECRAWL_CLUSTER_UNSAFE=True if you accept that"
            )


def _facts(client: redis.Redis | redis.RedisCluster) -> dict[str, dict[str, Any]]:
    try:
        if isinstance(client, redis.RedisCluster):
            found = client.info("everything", target_nodes=redis.RedisCluster.PRIMARIES)
            return cast("dict[str, dict[str, Any]]", found if "redis_version" not in found else {"": found})
        return {"": client.info("everything")}
    except redis.RedisError as error:
        raise StorageError(f"Redis does not answer INFO: {error}") from error


def back_off(failures: int) -> float:
    """Seconds to wait before the next attempt to reach a Redis that was away so many times in a row."""
    return _BACK_OFF[min(failures, len(_BACK_OFF)) - 1] if failures else 0.0


def is_transient(error: BaseException) -> bool:
    """Whether an error goes when Redis is well again."""
    if isinstance(error, redis.AuthenticationError | redis.exceptions.NoPermissionError):
        return False
    if isinstance(error, _AWAY):
        return True
    text = str(error)  # a command inside of a script puts a minus before its error
    return any(text.startswith(name) or f"-{name} " in text for name in _TRANSIENT)
