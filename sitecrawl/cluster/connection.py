"""The connection to Redis, and whether that Redis may be trusted with a crawl.

**A slot that moves** to another node of a Redis Cluster does so key by key, and a step on a shard of which a half is
here and a half there would find half a crawl. Redis has a word for that time: it answers ASK for every key that is
not (or no longer) here. The only key that a step names is one that never exists, the beginning of all of its shard's;
so from the first moment of the move to the last every step is answered ASK, on the old node, and the new one is asked
nothing. It is enough not to follow that answer. `_Cluster` follows MOVED, and for ASK raises `_SlotMoves`.

**Another server** may answer at the same address, or by the same sentinels' word: one that was restarted, or a
replica that has taken over. It may have forgotten what the other one had answered. redis-py makes a broken connection
anew without a word when it was idle; `_SameServer` refuses the first connection to another server, so that whoever
calls hears of it as of any answer that was lost.

**A master that dies** takes with it what its replicas do not have yet. `_Confirmed` ends each round trip with WAIT,
and has no answer for what too few of them have.
"""

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
import redis.asyncio.client
import redis.asyncio.sentinel
import redis.sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import ClusterError, ResponseError
from redis.retry import Retry

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.address import SentinelAddress, sentinels_of, shown

_WAIT_MS: Final = 2000
"""For so long Redis waits for its replicas, in an answer's time."""
_RUN_ID: Final = re.compile(rb"^run_id:(\w+)", re.MULTILINE)


class _SlotMoves(redis.RedisError):
    """The key's slot is on its way to another node."""


class _Cluster(redis.RedisCluster):
    """See the module."""

    RedisClusterRequestTTL = 1
    """Attempts of a command, redirections included: one."""

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `_SlotMoves`."""
        send: Any = super().execute_command
        try:
            return send(*args, **kwargs)
        except ClusterError as error:
            _redirected(error)
        try:
            return send(*args, **kwargs)  # after MOVED it goes to the right node
        except ClusterError as error:
            raise _redirected(error) from error


class _AsyncCluster(redis.asyncio.RedisCluster):
    """See the module."""

    RedisClusterRequestTTL = 1

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `_SlotMoves`."""
        try:
            return await super().execute_command(*args, **kwargs)
        except ClusterError as error:
            _redirected(error)
        try:
            return await super().execute_command(*args, **kwargs)
        except ClusterError as error:
            raise _redirected(error) from error


def _redirected(error: ClusterError) -> _SlotMoves:
    """Raises `error` itself where it says something else, such as that the cluster is down."""
    if type(error) is not ClusterError:
        raise error
    return _SlotMoves("a slot is on its way to another node")


class _SameServer:
    """See the module. `greet` is for redis-py's `redis_connect_func`."""

    def __init__(self) -> None:
        self._run = b""

    async def greet(self, connection: Any) -> None:
        """redis-py connect hook: check the server. Raises `redis.ConnectionError` once for each other server."""
        await connection.on_connect()
        before, self._run = self._run, await _run_of(connection)
        if before not in {b"", self._run}:
            raise redis.ConnectionError("it was restarted, or another one has taken over")


async def _run_of(connection: Any) -> bytes:
    """The run id of the server; of one that tells none, something that it shares with none."""
    await connection.send_command("INFO", "server")
    try:
        found = _RUN_ID.search(await connection.read_response())
    except ResponseError:
        found = None
    return found[1] if found else repr(connection).encode()


class _Confirmed(redis.asyncio.Redis):
    """See the module."""

    replicas = 1
    """Replicas that must have a write (count)."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Raises `redis.ConnectionError` where too few replicas have it."""
        pipeline = self.pipeline(transaction=False)
        pipeline.execute_command(*args, **options)
        (answer,) = await pipeline.execute()
        return answer

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:  # noqa: FBT001, FBT002 - as there
        made = _ConfirmedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        made.replicas = self.replicas
        return made


class _ConfirmedPipeline(redis.asyncio.client.Pipeline):
    replicas = 1

    async def execute(self, raise_on_error: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 - as the base has it
        self.execute_command("WAIT", self.replicas, _WAIT_MS)
        *answers, reached = await super().execute(raise_on_error)
        if reached < self.replicas:
            raise redis.ConnectionError(f"{reached} replicas have what was written, not {self.replicas}")
        return answers


class _Sentinels(redis.sentinel.Sentinel):
    """Asks them over connections that are made for it: it does so rarely."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Raises `redis.ConnectionError`."""
        try:
            found: tuple[str, int] = super().discover_master(service_name)  # type: ignore[no-untyped-call]
        except redis.sentinel.MasterNotFoundError as error:
            raise _no_master(service_name) from error
        finally:
            for sentinel in self.sentinels:
                sentinel.close()
        return found


class _AsyncSentinels(redis.asyncio.sentinel.Sentinel):
    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Raises `redis.ConnectionError`."""
        try:
            found: tuple[str, int] = await super().discover_master(service_name)
        except redis.asyncio.sentinel.MasterNotFoundError as error:
            raise _no_master(service_name) from error
        finally:
            for sentinel in self.sentinels:
                await sentinel.aclose()
        return found


def _no_master(service: str) -> redis.ConnectionError:
    return redis.ConnectionError(f"no sentinel that answers knows a master {service!r} that is up")


def _master_of(address: SentinelAddress, given: Mapping[str, Any]) -> redis.Redis:
    """A client of the master, whichever the sentinels name when it connects. `given`: for its connections."""
    sentinels: Any = _Sentinels(address.sentinels, sentinel_kwargs=_asking(address, given))  # type: ignore[no-untyped-call]
    found: redis.Redis = sentinels.master_for(address.service, **given, **address.master)
    return found


def _async_master_of(
    address: SentinelAddress, given: Mapping[str, Any], kind: type[redis.asyncio.Redis]
) -> redis.asyncio.Redis:
    """The same for the event loop."""
    sentinels: Any = _AsyncSentinels(address.sentinels, sentinel_kwargs=_asking(address, given))  # type: ignore[no-untyped-call]
    found: redis.asyncio.Redis = sentinels.master_for(address.service, redis_class=kind, **given, **address.master)
    return found


def _asking(address: SentinelAddress, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for asking a sentinel: a silent one is given up like an unreachable one."""
    patience = given["socket_connect_timeout"]
    times = {"socket_connect_timeout": patience, "socket_timeout": patience}
    return {**times, "retry": Retry(NoBackoff(), 0), **address.asking}


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
    _SlotMoves,
)
_NO_PASSWORD: Final = re.compile("NOAUTH|HELLO must be called")
_HUNG_UP: Final = (ssl.SSLError, ConnectionResetError, BrokenPipeError)
_TRANSIENT: Final = (
    *("LOADING", "MISCONF", "READONLY", "CLUSTERDOWN", "TRYAGAIN"),
    *("MASTERDOWN", "NOREPLICAS", "BUSY", "OOM", "REPAIR"),
)
"""First words of errors that a script passes on, from which redis-py has removed the class."""


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
        client = _made(redis.Redis, given) if address is None else _master_of(address, given)
        if client.info("cluster").get("cluster_enabled"):
            client.close()
            client = _made(_Cluster, given)
    except (redis.RedisError, OSError, ValueError) as error:
        raise StorageError(_why_not(error, params)) from error
    return client


def connect_async(params: Mapping[str, Any], *, cluster: bool, replicas: int = 0) -> Any:
    """A client for the event loop. It repeats nothing by itself: the pump does, with the whole step in view.

    `replicas`: so many must have what was written before there is an answer; not on a Redis Cluster.
    """
    given = {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": ANSWER_SECONDS, **_plain(params)}
    if cluster:
        # A failover is followed within one call, by asking the others who is master now.
        return _made(_AsyncCluster, {**given, "retry": AsyncRetry(NoBackoff(), 3)})
    given |= {"retry": AsyncRetry(NoBackoff(), 0), "redis_connect_func": _SameServer().greet}
    kind = _Confirmed if replicas else redis.asyncio.Redis
    address = _by_sentinels(given)
    client: Any = _made(kind, given) if address is None else _async_master_of(address, given, kind)
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
        return _master_of(address, given)
    return _made(_Cluster if cluster else redis.Redis, given)


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
