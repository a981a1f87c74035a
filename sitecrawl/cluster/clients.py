"""redis-py's clients, with what a crawl asks of them beyond sending commands.

**A slot that moves** to another node of a Redis Cluster does so key by key, and a step on a shard of which a half is
here and a half there would find half a crawl. Redis has a word for that time: it answers ASK for every key that is
not (or no longer) here. The only key that a step names is one that never exists, the beginning of all of its shard's;
so from the first moment of the move to the last every step is answered ASK, on the old node, and the new one is asked
nothing. It is enough not to follow that answer. `Cluster` follows MOVED, and for ASK raises `SlotMoves`.

**Another server** may answer at the same address, or by the same sentinels' word: one that was restarted, or a
replica that has taken over. It may have forgotten what the other one had answered. redis-py makes a broken connection
anew without a word when it was idle; `SameServer` refuses the first connection to another server, so that whoever
calls hears of it as of any answer that was lost.

**A master that dies** takes with it what its replicas do not have yet. `Confirmed` ends each round trip with WAIT,
and has no answer for what too few of them have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import redis
import redis.asyncio
import redis.asyncio.client
import redis.asyncio.sentinel
import redis.sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ClusterError, ResponseError
from redis.retry import Retry

from sitecrawl.cluster.address import SentinelAddress

_WAIT_MS: Final = 2000
"""For so long Redis waits for its replicas, in an answer's time."""
_RUN_ID: Final = re.compile(rb"^run_id:(\w+)", re.MULTILINE)


class SlotMoves(redis.RedisError):
    """The key's slot is on its way to another node."""


class Cluster(redis.RedisCluster):
    """See the module."""

    RedisClusterRequestTTL = 1
    """Attempts of a command, redirections included: one."""

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `SlotMoves`."""
        send: Any = super().execute_command
        try:
            return send(*args, **kwargs)
        except ClusterError as error:
            _redirected(error)
        try:
            return send(*args, **kwargs)  # after MOVED it goes to the right node
        except ClusterError as error:
            raise _redirected(error) from error


class AsyncCluster(redis.asyncio.RedisCluster):
    """See the module."""

    RedisClusterRequestTTL = 1

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `SlotMoves`."""
        try:
            return await super().execute_command(*args, **kwargs)
        except ClusterError as error:
            _redirected(error)
        try:
            return await super().execute_command(*args, **kwargs)
        except ClusterError as error:
            raise _redirected(error) from error


def _redirected(error: ClusterError) -> SlotMoves:
    """Raises `error` itself where it says something else, such as that the cluster is down."""
    if type(error) is not ClusterError:
        raise error
    return SlotMoves("a slot is on its way to another node")


class SameServer:
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


class Confirmed(redis.asyncio.Redis):
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


def master_of(address: SentinelAddress, given: Mapping[str, Any]) -> redis.Redis:
    """A client of the master, whichever the sentinels name when it connects. `given`: for its connections."""
    sentinels: Any = _Sentinels(address.sentinels, sentinel_kwargs=_asking(address, given))  # type: ignore[no-untyped-call]
    found: redis.Redis = sentinels.master_for(address.service, **given, **address.master)
    return found


def async_master_of(
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
