"""A crawl's partitions on Redis: who has which, the log of each, and what partitions tell one another.

Redis keeps, lends, counts and fences; it judges nothing. Its keys: docs/design/cluster.md.

To repeat a step whose answer was lost does no harm. All calls raise `redis.RedisError`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgpack

from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.leases import Leases
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.standing import Standing
from sitecrawl.cluster.steps import Steps

_COUNTED: Final = ("entry", "lent", "sent", "gone", "arrived", "heard")
_ENTRIES: Final = 32
"""Entries of a log that are read at once, each some hundred kB at most."""


class Commit(NamedTuple):
    """A lease that is renewed, with an entry or without; bundles that have `arrived` leave the outbox."""

    partition: int
    token: int
    entry: Entry | None = None
    arrived: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """Size of a partition on Redis."""

    number: int
    """Number of the newest entry."""
    snapshot: int
    """Bytes."""
    log: int
    """Bytes."""
    outbox: Mapping[str, bytes]


class PartitionStore:
    """`session` is the worker's name; what it is lent is in `leases`. `clock` is theirs."""

    def __init__(self, steps: Steps, session: str, leases: Leases, clock: Callable[[], float]) -> None:
        self.steps = steps
        self.keys = steps.keys
        self.session = session
        self.leases = leases
        self._client = steps.client
        self._clock = clock

    async def free(self) -> list[int]:
        """Partitions that may be lent: of nobody, or, as far as Redis knows, of this worker; none that rests."""
        leases = await self.steps.read_all("GET", "lease")
        own = f":{self.session}".encode()
        return [at for at, lease in enumerate(leases) if not lease or (lease.endswith(own) and lease != b"0" + own)]

    async def lease(self, partition: int, last: int = 0) -> tuple[int, bool] | None:
        """A new token, and whether nobody has had the partition since `last`; None if another worker has it."""
        asked_at, ms = self._clock(), self.leases.ms
        answer = await self.steps.run("lease", partition, self.session, ms, last)
        if answer is None:
            return None
        self.leases.hold(partition, int(answer[0]), asked_at + ms / 2000)
        return int(answer[0]), bool(answer[1])

    async def is_lent_to_namesake(self, partition: int, token: int) -> bool:
        """Whether a worker with this one's name has the partition, with another token than this one."""
        lease: bytes = await self._client.get(self.keys.base(partition) + "lease") or b""
        other, _, name = lease.decode(errors="replace").partition(":")
        return name == self.session and other not in {"0", str(token)}

    async def commit(self, commits: Sequence[Commit]) -> list[int | None]:
        """Renew leases, with an entry or without. Returns each time the newest entry's number, None where another
        worker has the partition now, or Redis has less of it than it once had.
        """
        calls = [("commit", one.partition, self._commit_args(one)) for one in commits]
        answers = await self.steps.run_all(calls)
        return [None if isinstance(answer, bytes) else int(answer) for answer in answers]

    def _commit_args(self, commit: Commit) -> list[Any]:
        entry = commit.entry or Entry(commit.partition, 0, b"")
        args = [commit.token, self.session, self.leases.ms, entry.number, entry.data, entry.tally, *entry.heard]
        args += [len(commit.arrived), *commit.arrived]
        for target, bundle in entry.sends.items():
            args += (f"{entry.number}:{target}", bundle)
        return args

    async def accepted(self, partition: int, token: int) -> int:
        """The number of the last entry that came with `token`: what its worker did after that does not count."""
        return int(await self._client.hget(f"{self.keys.base(partition)}tokens", str(token)) or 0)

    async def deliver(self, bundles: Sequence[tuple[int, str, int, bytes]]) -> None:
        """Bundles of messages, each with the partition that it is for, who sends it, and its number there: those of
        one sender in the order of their numbers. Each counts once. What one sender has for one partition goes in one
        step: a bundle that came before an earlier one would shut that out.
        """
        steps: defaultdict[tuple[int, str], list[int | bytes]] = defaultdict(list)
        for target, sender, number, bundle in bundles:
            steps[target, sender] += (number, bundle)
        await self.steps.run_all([("deliver", target, [sender, *parts]) for (target, sender), parts in steps.items()])

    async def inboxes(self, starts: Mapping[int, int], most: int) -> dict[int, list[bytes]]:
        """At most so many bundles that have arrived in each of these partitions, from the given ones on."""
        commands = [
            ("LRANGE", f"{self.keys.base(partition)}inbox", start, start + most - 1)
            for partition, start in starts.items()
        ]
        return dict(zip(starts, await self.steps.read(commands), strict=True))

    async def outbox(self, partition: int) -> dict[str, bytes]:
        """Bundles that may not have arrived, by number and partition."""
        found = await self._client.hgetall(f"{self.keys.base(partition)}outbox")
        return {name.decode(): bundle for name, bundle in found.items()}

    async def extent(self, partition: int) -> Extent:
        """For who has the partition."""
        base = self.keys.base(partition)
        numbers = await self._client.hmget(base + "state", "entry", "parts", "log")
        entry, snapshot, log = (int(one or 0) for one in numbers)
        return Extent(entry, snapshot, log, await self.outbox(partition))

    def snapshot(self, partition: int) -> AsyncIterator[bytes]:
        """The parts of a partition's snapshot, for who has it."""
        return self._pieces(f"{self.keys.base(partition)}snapshot", 1)

    def log(self, partition: int) -> AsyncIterator[bytes]:
        """The entries that came after the snapshot, for who has the partition."""
        return self._pieces(f"{self.keys.base(partition)}log", _ENTRIES)

    async def _pieces(self, key: str, most: int) -> AsyncIterator[bytes]:
        start = 0
        while found := await self._client.lrange(key, start, start + most - 1):
            for one in found:
                yield one
            start += most

    async def put_part(self, partition: int, token: int, place: int, part: bytes) -> bool:
        """A part of a snapshot, and which it is from 0 on; False if there is no going on with it."""
        answer = await self.steps.run("part", partition, token, self.session, place, part)
        return bool(answer == b"done")

    async def drop_parts(self, partition: int) -> None:
        """Delete the parts of an unfinished snapshot."""
        await self._client.unlink(f"{self.keys.base(partition)}parts")

    async def compact(self, partition: int, token: int, parts: int, size: int, number: int) -> bytes:
        """So many parts, of `size` bytes together, take the place of the log up to an entry. Returns `done`, or why
        not: `early` if that has yet to come, `fenced` if another worker has the partition, `lost` if parts are not
        there.
        """
        answer: bytes = await self.steps.run("compact", partition, token, self.session, parts, size, number)
        return answer

    async def release(self, partition: int, token: int, rest: float = 0.0) -> None:
        """Others may have it, after so many seconds."""
        self.leases.drop(partition, token)
        await self.steps.run("release", partition, token, self.session, int(1000 * rest))

    async def standing(self) -> list[Standing]:
        """State of each partition, in order."""
        found = []
        for tally, *counted in await self.steps.read_all("HMGET", "state", "tally", *_COUNTED):
            entry, lent, sent, gone, arrived, heard = (int(number or 0) for number in counted)
            found.append(Standing(entry, tally or b"", heard, sent - gone + arrived - heard, bool(lent)))
        return found

    # Trust

    async def share_trust(
        self,
        total: float,
        seeds: float,
        flows: Mapping[int, Mapping[bytes, float]],
        held: Sequence[int],
        alive: Sequence[str],
    ) -> tuple[float, float, dict[bytes, float]]:
        """Tell the trust and the seeds of this worker's hosts, and the flows from them to hosts of each partition.
        Returns the trust and the seeds of the other workers that are `alive`, and what flows from their hosts to
        hosts of the partitions `held`.
        """
        trusted, sums = self.keys.base(PLACE) + "trusted", msgpack.packb([total, seeds])
        tells = [("HSET", trusted, self.session, sums)]
        tells += [("HSET", self._trust(at), self.session, msgpack.packb(dict(flow))) for at, flow in flows.items()]
        asks = [("HGETALL", trusted), *(("HGETALL", self._trust(at)) for at in held)]
        told, *received = (await self.steps.read([*tells, *asks]))[len(tells) :]
        others = {name.encode() for name in alive} - {self.session.encode()}
        inflow: dict[bytes, float] = {}
        for by_worker in received:
            for name in others & by_worker.keys():
                for host, amount in msgpack.unpackb(by_worker[name]).items():
                    inflow[host] = inflow.get(host, 0.0) + amount
        found = [msgpack.unpackb(told[name]) for name in others & told.keys()]
        return sum(trust for trust, _ in found), sum(count for _, count in found), inflow

    def _trust(self, partition: int) -> str:
        return f"{self.keys.base(partition)}trust"
