"""The steps on Redis: each is one Lua file, runs on one shard, and happens wholly or not at all."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import msgpack
import redis
from redis.exceptions import NoScriptError

from sitecrawl.base.errors import FormatMismatch, OptionError
from sitecrawl.cluster.lua_constants import lua_constants
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.frontier.options import TrapOptions
from sitecrawl.urls.fingerprint import HASH_NAME, Fingerprinter, host_hash

FORMAT: Final = "sitecrawl-cluster-3"
_PRELUDE: Final = ("shard", "judge", "seen")


_TRAPS: Final = TrapOptions()


@cache
def script(step: str, traps: TrapOptions = _TRAPS) -> tuple[str, str]:
    """The text of a step with all that it stands on, and its SHA-1."""
    folder = files("sitecrawl.cluster") / "lua"
    parts = [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in (*_PRELUDE, step)]
    text = "\n".join([lua_constants(traps), *parts])
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Call(NamedTuple):
    """One step on one shard."""

    shard: int
    step: str
    args: Mapping[str, Any]


class Keys:
    """The names of a crawl's keys."""

    def __init__(self, crawl: str, shards: int) -> None:
        self.crawl = crawl
        self.shards = shards
        self.channel = f"sitecrawl:{crawl}:wake"

    def base(self, shard: int) -> str:
        """What all keys of a shard begin with. The hash tag keeps them in one slot."""
        return f"sitecrawl:{{{self.crawl}.{shard}}}:"

    def done(self, shard: int, key: bytes, buckets: int) -> str:
        """Where a URL stands when it is done, by its fingerprint: as in `seen.lua`."""
        return f"{self.base(shard)}done:{int.from_bytes(key[4:8], 'big') % buckets}"

    def shard_of(self, host: str) -> int:
        return host_hash(host) % self.shards


def pack(value: object) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=False)
    return packed


def unpack(data: bytes) -> Any:
    return msgpack.unpackb(data, raw=True, strict_map_key=False)


class Shards:
    """Calls steps. `client` is an asyncio client, of one Redis or of a cluster."""

    def __init__(self, client: Any, keys: Keys, *, cluster: bool) -> None:
        self.client = client
        self.keys = keys
        self._cluster = cluster

    async def call(self, shard: int, step: str, args: Mapping[str, Any]) -> dict[bytes, Any]:
        """Raises `redis.RedisError`."""
        text, sha = script(step)
        base, packed = self.keys.base(shard), pack(args)
        try:
            answer = await self.client.evalsha(sha, 1, base, packed)
        except NoScriptError:  # new, restarted or flushed: EVAL loads it as well
            answer = await self.client.eval(text, 1, base, packed)
        found: dict[bytes, Any] = unpack(answer)
        return found

    async def call_many(self, calls: Sequence[Call]) -> list[dict[bytes, Any] | BaseException]:
        """The answer of each, or what went wrong with it: in one round trip, or on a cluster side by side."""
        if self._cluster or len(calls) == 1:
            return await asyncio.gather(*(self.call(*call) for call in calls), return_exceptions=True)
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            pipeline.evalsha(script(call.step)[1], 1, self.keys.base(call.shard), pack(call.args))
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except (redis.RedisError, OSError) as error:
            return [error] * len(calls)
        return [await self._answer(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _answer(self, call: Call, answer: Any) -> dict[bytes, Any] | BaseException:
        if isinstance(answer, NoScriptError):
            try:
                return await self.call(*call)
            except redis.RedisError as error:
                return error
        if isinstance(answer, BaseException):
            return answer
        found: dict[bytes, Any] = unpack(answer)
        return found


def open_crawl(client: redis.Redis | redis.RedisCluster, options: ClusterOptions) -> bytes:
    """Make the crawl, or join it; returns the key of its fingerprints.

    Raises `OptionError` if the crawl was begun with other options, `FormatMismatch` for that of another version.
    """
    keys = Keys(options.crawl, options.shards)
    wanted = {
        b"format": FORMAT.encode(),
        b"spider": options.spider.encode(),
        b"hash": HASH_NAME.encode(),
        b"shards": str(options.shards).encode(),
        b"buckets": str(options.buckets).encode(),
        b"order": options.order.encode(),
        b"max_depth": str(options.max_depth).encode(),
        b"hold": b"01"[options.hold : options.hold + 1],
    }
    first = keys.base(0) + "crawl"
    client.hsetnx(first, "key", Fingerprinter.new_key().hex())
    given: bytes = client.hget(first, "key")  # type: ignore[assignment]
    wanted[b"key"] = given
    for shard in range(options.shards):
        name = keys.base(shard) + "crawl"
        for field, value in wanted.items():
            client.hsetnx(name, field, value)
        _compare(client.hgetall(name), wanted, options.crawl)  # type: ignore[arg-type]
    return bytes.fromhex(given.decode())


def call_join(client: redis.Redis | redis.RedisCluster, options: ClusterOptions, session: str) -> dict[bytes, Any]:
    """The answer of `join.lua`. Raises `redis.RedisError`."""
    args = {
        "session": session,
        "ms": int(1000 * options.lease_seconds),
        "limits": str(options.limits),
        "max_pages": options.limits.max_pages,
    }
    answer: Any = client.eval(script("join")[0], 1, Keys(options.crawl, options.shards).base(0), pack(args))
    found: dict[bytes, Any] = unpack(answer)
    return found


def _compare(found: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes], crawl: str) -> None:
    for field, value in wanted.items():
        if found[field] == value:
            continue
        name, begun, now = field.decode(), found[field].decode(), value.decode()
        text = f"The crawl {crawl!r} on this Redis has {name} {begun!r}, not {now!r}"
        if field in {b"format", b"hash"}:
            raise FormatMismatch(f"{text}: use the version that began it")
        raise OptionError(f"{text}: use the same options, or another SITECRAWL_CLUSTER_CRAWL")
