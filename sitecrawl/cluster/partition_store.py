"""A crawl's partitions on Redis: who has which, the log of each, and what partitions tell one another.

Redis keeps, lends, counts and fences; it judges nothing. Of a partition there are, behind `Keys.base`:

    lease      string   token:session of the worker that has it, for as long as it lasts
    token      string   the newest token: each is given once
    tokens     hash     each token that brought an entry -> the number of its last one
    log        list     entries (`cluster.entries`): replayed, they are the partition
    snapshot   list     what is to take the place of the log
    state      hash     entry: number of the newest entry; tally; sent, heard: bundles of messages
    outbox     hash     number:partition -> a bundle for that partition that may not have arrived
    inbox      list     bundles that have
    senders    hash     who sends -> the number of his last bundle
    trust      hash     session -> MessagePack {host: trust that flows to it} from that worker's hosts

and of partition 0 `workers`, a sorted set of sessions by the time up to which they are believed alive, and `trusted`,
a hash of what trust each has.

Each step is one Lua file that runs in one partition, and happens wholly or not at all. To repeat one whose answer was
lost does no harm. All calls raise `redis.RedisError`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgpack
from redis.exceptions import NoScriptError

from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.shards import Keys


@cache
def _script(step: str) -> tuple[str, str]:
    """The text of a step, and its SHA-1."""
    text = (files("sitecrawl.cluster") / "lua" / "partition" / f"{step}.lua").read_text(encoding="utf-8")
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Fenced(Exception):
    """The partition is not this worker's any more."""


class Standing(NamedTuple):
    """How it stands with a partition."""

    entry: int
    tally: bytes
    heard: int
    waiting: int
    """Bundles that are on their way from or to it."""


@dataclass(frozen=True, slots=True)
class Log:
    """What there is of a partition."""

    entries: Sequence[bytes]
    number: int
    """Of the newest entry."""
    outbox: Mapping[str, bytes]


class PartitionStore:
    """`client` is an asyncio client, of one Redis or of a cluster; `session` the worker's name; a lease that is not
    renewed lasts for `lease_seconds`.
    """

    def __init__(self, client: Any, keys: Keys, session: str, lease_seconds: float) -> None:
        self.client = client
        self.keys = keys
        self.session = session
        self._ms = int(1000 * lease_seconds)

    async def _run(self, step: str, partition: int, *args: Any) -> Any:
        text, sha = _script(step)
        base = self.keys.base(partition)
        try:
            return await self.client.evalsha(sha, 1, base, *args)
        except NoScriptError:  # new, restarted or flushed: EVAL loads it as well
            return await self.client.eval(text, 1, base, *args)

    async def alive(self) -> list[str]:
        """This worker is. Returns the sessions of all that are."""
        return [name.decode() for name in await self._run("beat", 0, self.session, self._ms)]

    async def holders(self) -> list[str]:
        """The session that has each partition; empty where nobody has."""
        held = [await self.client.get(self.keys.base(one) + "lease") for one in range(self.keys.shards)]
        return [lease.decode().partition(":")[2] if lease else "" for lease in held]

    async def lease(self, partition: int, last: int = 0) -> tuple[int, bool] | None:
        """A new token, and whether nobody has had the partition since `last`; None if another worker has it."""
        answer = await self._run("lease", partition, self.session, self._ms, last)
        return None if answer is None else (int(answer[0]), bool(answer[1]))

    async def commit(
        self, partition: int, token: int, entry: Entry | None = None, arrived: Sequence[str] = ()
    ) -> int:
        """Renew the lease, with an entry or without; bundles that have `arrived` are forgotten. Returns the newest
        entry's number. Raises `Fenced`.
        """
        one = entry or Entry(partition, 0, b"")
        sends = [part for target, bundle in one.sends.items() for part in (f"{one.number}:{target}", bundle)]
        answer = await self._run(
            "commit",
            partition,
            token,
            self.session,
            self._ms,
            one.number,
            one.data,
            one.tally,
            one.heard,
            len(arrived),
            *arrived,
            *sends,
        )
        if isinstance(answer, bytes):
            raise Fenced(f"Partition {partition} was taken over: {answer.decode()}")
        return int(answer)

    async def accepted(self, partition: int, token: int) -> int:
        """The number of the last entry that came with `token`: what its worker did after that does not count."""
        return int(await self.client.hget(f"{self.keys.base(partition)}tokens", str(token)) or 0)

    async def deliver(self, partition: int, sender: str, number: int, bundle: bytes) -> None:
        """Messages for a partition, the `number`th bundle of its sender. Once they count once."""
        await self._run("deliver", partition, sender, number, bundle)

    async def inbox(self, partition: int, start: int, most: int) -> list[bytes]:
        """Bundles that have arrived, from the `start`th on."""
        found: list[bytes] = await self.client.lrange(f"{self.keys.base(partition)}inbox", start, start + most - 1)
        return found

    async def load(self, partition: int) -> Log:
        """All of a partition, for who has it."""
        base = self.keys.base(partition)
        entries = await self.client.lrange(base + "log", 0, -1)
        number = int(await self.client.hget(base + "state", "entry") or 0)
        outbox = await self.client.hgetall(base + "outbox")
        return Log(entries, number, {name.decode(): bundle for name, bundle in outbox.items()})

    async def compact(self, partition: int, token: int, parts: Sequence[bytes], entries: int) -> None:
        """Put a snapshot in the place of the first so many entries of the log. Raises `Fenced`."""
        await self.client.delete(f"{self.keys.base(partition)}snapshot")
        for place, part in enumerate(parts, 1):
            last = entries if place == len(parts) else 0
            if await self._run("compact", partition, token, self.session, last, part) == b"fenced":
                raise Fenced(f"Partition {partition} was taken over")

    async def release(self, partition: int, token: int) -> None:
        """Others may have it."""
        await self._run("release", partition, token, self.session)

    async def standing(self) -> list[Standing]:
        """How it stands with each partition, one after the other."""
        found = []
        for partition in range(self.keys.shards):
            base = self.keys.base(partition)
            entry, tally, heard = await self.client.hmget(base + "state", "entry", "tally", "heard")
            waiting = await self.client.llen(base + "inbox") + await self.client.hlen(base + "outbox")
            found.append(Standing(int(entry or 0), tally or b"", int(heard or 0), waiting))
        return found

    # Trust

    async def tell_trust(self, total: float, seeds: float, flows: Mapping[int, Mapping[bytes, float]]) -> None:
        """What trust this worker's hosts have, and what flows from them to hosts of each partition."""
        await self.client.hset(self.keys.base(0) + "trusted", self.session, msgpack.packb([total, seeds]))
        for partition, flow in flows.items():
            await self.client.hset(f"{self.keys.base(partition)}trust", self.session, msgpack.packb(dict(flow)))

    async def hear_trust(
        self, partitions: Sequence[int], alive: Sequence[str]
    ) -> tuple[float, float, dict[bytes, float]]:
        """The trust and the seeds of the other workers that are `alive`, and what flows to hosts of `partitions`."""
        others = {name.encode() for name in alive} - {self.session.encode()}
        told = await self.client.hgetall(self.keys.base(0) + "trusted")
        sums = [msgpack.unpackb(data) for name, data in told.items() if name in others]
        inflow: dict[bytes, float] = {}
        for partition in partitions:
            for name, data in (await self.client.hgetall(f"{self.keys.base(partition)}trust")).items():
                if name in others:
                    for host, amount in msgpack.unpackb(data).items():
                        inflow[host] = inflow.get(host, 0.0) + amount
        return sum(total for total, _ in sums), sum(seeds for _, seeds in sums), inflow
