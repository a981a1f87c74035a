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

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgpack
from redis.asyncio import RedisCluster
from redis.exceptions import NoScriptError

from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.shards import Keys


@cache
def _script(step: str) -> tuple[str, str]:
    """The text of a step, and its SHA-1."""
    text = (files("sitecrawl.cluster") / "lua" / "partition" / f"{step}.lua").read_text(encoding="utf-8")
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Commit(NamedTuple):
    """A lease that is renewed, with an entry or without; bundles that have `arrived` leave the outbox."""

    partition: int
    token: int
    entry: Entry | None = None
    arrived: Sequence[str] = ()


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
        (answer,) = await self._run_all([(step, partition, args)])
        return answer

    async def _run_all(self, calls: Sequence[tuple[str, int, Sequence[Any]]]) -> list[Any]:
        """Steps, each with its partition and arguments, in one round trip."""
        commands = [
            ("EVALSHA", _script(step)[1], 1, self.keys.base(partition), *args) for step, partition, args in calls
        ]
        answers = await self._ask(commands)
        for place, (answer, (step, partition, args)) in enumerate(zip(answers, calls, strict=True)):
            if isinstance(answer, NoScriptError):  # new, restarted or flushed: EVAL loads it as well
                answers[place] = await self.client.eval(_script(step)[0], 1, self.keys.base(partition), *args)
            elif isinstance(answer, BaseException):
                raise answer
        return answers

    async def _read_all(self, command: str, name: str, *args: Any) -> list[Any]:
        """What a command that reads says of a key of each partition."""
        names = [self.keys.base(partition) + name for partition in range(self.keys.shards)]
        return await self._read([(command, key, *args) for key in names])

    async def _read(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answer to each command."""
        answers = await self._ask(commands)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    async def _ask(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answer to each, or its error: in one round trip, or on a Redis Cluster side by side."""
        if not commands:
            return []
        if isinstance(self.client, RedisCluster):
            return await asyncio.gather(
                *(self.client.execute_command(*command) for command in commands), return_exceptions=True
            )
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    async def alive(self) -> list[str]:
        """This worker is. Returns the sessions of all that are."""
        return [name.decode() for name in await self._run("beat", 0, self.session, self._ms)]

    async def holders(self) -> list[str]:
        """The session that has each partition; empty where nobody has."""
        held = await self._read_all("GET", "lease")
        return [lease.decode().partition(":")[2] if lease else "" for lease in held]

    async def lease(self, partition: int, last: int = 0) -> tuple[int, bool] | None:
        """A new token, and whether nobody has had the partition since `last`; None if another worker has it."""
        answer = await self._run("lease", partition, self.session, self._ms, last)
        return None if answer is None else (int(answer[0]), bool(answer[1]))

    async def commit(self, commits: Sequence[Commit]) -> list[int | None]:
        """Renew leases, with an entry or without. Returns each time the newest entry's number, None where another
        worker has the partition now.
        """
        calls = [("commit", one.partition, self._commit_args(one)) for one in commits]
        answers = await self._run_all(calls)
        return [None if isinstance(answer, bytes) else int(answer) for answer in answers]

    def _commit_args(self, commit: Commit) -> list[Any]:
        entry = commit.entry or Entry(commit.partition, 0, b"")
        args = [commit.token, self.session, self._ms, entry.number, entry.data, entry.tally, entry.heard]
        args += [len(commit.arrived), *commit.arrived]
        for target, bundle in entry.sends.items():
            args += (f"{entry.number}:{target}", bundle)
        return args

    async def accepted(self, partition: int, token: int) -> int:
        """The number of the last entry that came with `token`: what its worker did after that does not count."""
        return int(await self.client.hget(f"{self.keys.base(partition)}tokens", str(token)) or 0)

    async def deliver(self, bundles: Sequence[tuple[int, str, int, bytes]]) -> None:
        """Bundles of messages, each with the partition that it is for, who sends it, and its number there: those of
        one sender in the order of their numbers. Each counts once.
        """
        await self._run_all([("deliver", target, parts) for target, *parts in bundles])

    async def inboxes(self, starts: Mapping[int, int], most: int) -> dict[int, list[bytes]]:
        """At most so many bundles that have arrived in each of these partitions, from the given ones on."""
        commands = [
            ("LRANGE", f"{self.keys.base(partition)}inbox", start, start + most - 1)
            for partition, start in starts.items()
        ]
        return dict(zip(starts, await self._read(commands), strict=True))

    async def load(self, partition: int) -> Log:
        """All of a partition, for who has it."""
        base = self.keys.base(partition)
        entries = await self.client.lrange(base + "log", 0, -1)
        number = int(await self.client.hget(base + "state", "entry") or 0)
        outbox = await self.client.hgetall(base + "outbox")
        return Log(entries, number, {name.decode(): bundle for name, bundle in outbox.items()})

    async def compact(self, partition: int, token: int, parts: Sequence[bytes], entries: int) -> bool:
        """Put a snapshot in the place of the first so many entries of the log; False where another worker has it."""
        await self.client.delete(f"{self.keys.base(partition)}snapshot")
        for place, part in enumerate(parts, 1):
            last = entries if place == len(parts) else 0
            if await self._run("compact", partition, token, self.session, last, part) == b"fenced":
                return False
        return True

    async def release(self, partition: int, token: int) -> None:
        """Others may have it."""
        await self._run("release", partition, token, self.session)

    async def standing(self) -> list[Standing]:
        """How it stands with each partition, one after the other."""
        states = await self._read_all("HMGET", "state", "entry", "tally", "heard")
        inboxes, outboxes = await self._read_all("LLEN", "inbox"), await self._read_all("HLEN", "outbox")
        return [
            Standing(int(entry or 0), tally or b"", int(heard or 0), arrived + leaving)
            for (entry, tally, heard), arrived, leaving in zip(states, inboxes, outboxes, strict=True)
        ]

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
