"""The connection to Redis, and whether that Redis may be trusted with a crawl."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.address import SentinelAddress, sentinels_of, shown
from sitecrawl.cluster.clients import (
    AsyncCluster,
    Cluster,
    Confirmed,
    SameServer,
    SlotMoves,
    async_master_of,
    master_of,
)

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
    SlotMoves,
)
"""Messages of errors from which redis-py has removed the name."""
_NO_PASSWORD: Final = re.compile("NOAUTH|HELLO must be called")
_HUNG_UP: Final = (ssl.SSLError, ConnectionResetError, BrokenPipeError)
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


@contextmanager
def closed_is_away() -> Iterator[None]:
    """A connection that the other side has closed is a `redis.ConnectionError` here: uvloop has a `RuntimeError` for
    who writes to it, which redis-py passes on.
    """
    try:
        yield
    except RuntimeError as error:
        if "the handler is closed" not in str(error):
            raise
        raise redis.ConnectionError("the connection was closed") from error


def connect(params: Mapping[str, Any]) -> redis.Redis | redis.RedisCluster:
    """A client that waits, for what is asked before the crawl runs. Raises `StorageError`, or `OptionError`."""
    _check_files(params)
    given = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": ANSWER_SECONDS, **_plain(params)}
    given["retry"] = Retry(ExponentialBackoff(cap=1, base=0.1), 3)
    address = _by_sentinels(given)
    try:
        client: redis.Redis | redis.RedisCluster
        client = _made(redis.Redis, given) if address is None else master_of(address, given)
        if client.info("cluster").get("cluster_enabled"):
            client.close()
            client = _made(Cluster, given)
    except (redis.RedisError, OSError, ValueError) as error:
        raise StorageError(_why_not(error, params)) from error
    return client


def connect_async(params: Mapping[str, Any], *, cluster: bool, patient: bool = False, replicas: int = 0) -> Any:
    """A client for the event loop. It repeats nothing by itself: the pump does, with the whole step in view.

    `patient`: for who waits for messages, which may be long in coming. `replicas`: so many must have what was
    written before there is an answer; not on a Redis Cluster.
    """
    silence = None if patient else ANSWER_SECONDS
    given = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": silence, **_plain(params)}
    if cluster:
        # A failover is followed within one call, by asking the others who is master now.
        return _made(AsyncCluster, {**given, "retry": AsyncRetry(NoBackoff(), 3)})
    given |= {"retry": AsyncRetry(NoBackoff(), 0), "redis_connect_func": SameServer().greet}
    kind = Confirmed if replicas else redis.asyncio.Redis
    address = _by_sentinels(given)
    client: Any = _made(kind, given) if address is None else async_master_of(address, given, kind)
    if replicas:
        client.replicas = replicas
    return client


def connect_to_renew(params: Mapping[str, Any], patience: float, *, cluster: bool) -> Any:
    """A client that waits, and for no longer than `patience` seconds: for the thread that renews leases. Raises
    `redis.RedisError` where a Redis Cluster is away.
    """
    given = {"socket_connect_timeout": min(CONNECT_SECONDS, patience), **_plain(params)}
    given |= {"socket_timeout": min(ANSWER_SECONDS, patience), "retry": Retry(NoBackoff(), 0)}
    address = _by_sentinels(given)
    if address is not None:
        return master_of(address, given)
    return _made(Cluster if cluster else redis.Redis, given)


def _made(kind: Any, given: Mapping[str, Any]) -> Any:
    return kind.from_url(**given) if "url" in given else kind(**given)


def _by_sentinels(given: dict[str, Any]) -> SentinelAddress | None:
    """Take the sentinels' address out of the arguments, if the URL has one."""
    address = sentinels_of(str(given.get("url", "")))
    if address is not None:
        del given["url"]
    return address


def _check_files(params: Mapping[str, Any]) -> None:
    """Raises `OptionError` for a file of a certificate that is not there: redis-py would take Redis for away."""
    named = _arguments(params)
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if name in named and not Path(named[name]).is_file():
            raise OptionError(f"{name} of Redis at {shown(params)} is {named[name]}, and there is no such file")


def _arguments(params: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a URL may have, too."""
    return {**params, **dict(parse_qsl(urlsplit(str(params.get("url", ""))).query))}


def _why_not(error: BaseException, params: Mapping[str, Any]) -> str:
    """Why Redis cannot be reached; of a certificate, what to do."""
    causes, where = list(_causes(error)), shown(params)
    if any(isinstance(cause, redis.AuthenticationError) or _NO_PASSWORD.search(str(cause)) for cause in causes):
        return (
            f"Redis at {where} wants another name and password: redis://NAME:PASSWORD@HOST, or redis://:PASSWORD@HOST"
        )
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"The certificate of Redis at {where} is not trusted: {cause.verify_message.rstrip('.')}. Name the "
                "file of its CA in the URL, ?ssl_ca_certs=FILE, and Redis by the name in the certificate"
            )
    # A server that misses our certificate says so when it has hung up, and the word is often lost.
    hung_up = any(isinstance(cause, _HUNG_UP) or "closed by server" in str(cause) for cause in causes)
    advice = ""
    if hung_up and where.startswith("rediss") and "ssl_certfile" not in _arguments(params):
        advice = " It may want to see a certificate of ours: ?ssl_certfile=FILE&ssl_keyfile=FILE"
    return f"Redis at {where} cannot be reached: {error}{advice}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Drop decoding arguments that scrapy-redis uses for its own connections: bytes stay bytes here."""
    own = {"redis_cls", "decode_responses", "encoding", "retry", "retry_on_timeout", "socket_timeout"}
    own.add("socket_connect_timeout")
    return {name: value for name, value in params.items() if name not in own}


def check(client: redis.Redis | redis.RedisCluster) -> None:
    """Raises `OptionError` for a Redis that may lose a crawl. What a managed one does not tell is let pass."""
    for node, facts in _facts(client).items():
        name = f"Redis {node}".strip()
        policy = facts.get("maxmemory_policy", "noeviction")
        limited = int(facts.get("maxmemory", 0)) > 0
        if limited and policy != "noeviction":
            raise OptionError(
                f"{name} has maxmemory-policy {policy}: when it is full it throws parts of the crawl away, "
                "and URLs would be lost or fetched twice. Set `maxmemory-policy noeviction`, or "
                "SITECRAWL_CLUSTER_UNSAFE=True if you accept that"
            )
        if not int(facts.get("aof_enabled", 1)):
            raise OptionError(
                f"{name} has no append-only file: a restart would lose the crawl, or its last minutes. "
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


def refusal(error: BaseException) -> str:
    """Why Redis refuses a step that it will refuse again."""
    if "WRONGTYPE" in str(error):
        return "a key of the crawl has something else in it, `scrapy check-crawl redis://...` names it"
    return str(error)


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
