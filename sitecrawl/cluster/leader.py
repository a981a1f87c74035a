"""What one worker at a time does for all: the lambda page settled between shards, and trust between hosts.

Whoever holds the key `duty` of shard 0 does it, for as long as that key lasts. Two that do it at once do no harm:
what moves between shards goes through the outbox, which counts once, and trust is only ever replaced.

Lambda. Each shard taxes its own pages. What its lambda page holds above its share (by the hosts that wait there) goes
to shards that hold less. So a host is paid alike on every shard, as it would be in one process.

Trust. Shards count which of their hosts link to which (`graph`), and `sitecrawl.credit.trust` makes trust of it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import redis

from sitecrawl.cluster.budget import Transfers
from sitecrawl.cluster.shard_calls import ShardCalls
from sitecrawl.credit.trust import HostGraph

_DUTY_SECONDS: Final = 15.0
_EVERY: Final = 5.0
"""Seconds between two rounds."""
_SMALL: Final = 0.02
"""Of all that lambda holds: less is not worth moving."""
_EFFORT: Final = 50
"""A round of trust that took a second is not repeated for so many seconds."""


class Leader:
    """`transfers` are those between lambda pages."""

    def __init__(self, shard_calls: ShardCalls, transfers: Transfers) -> None:
        self._shard_calls = shard_calls
        self._transfers = transfers
        self._at = 0.0
        self._trust_at = 0.0

    async def __call__(self, now: float) -> None:
        if now < self._at:
            return
        self._at = now + _EVERY
        key = f"{self._shard_calls.keys.base(0)}duty"
        try:
            client = self._shard_calls.client
            mine = await client.set(key, self._shard_calls.session, nx=True, px=int(1000 * _DUTY_SECONDS))
            if not mine and await client.get(key) != self._shard_calls.session.encode():
                return
            await client.pexpire(key, int(1000 * _DUTY_SECONDS))
            await self._settle_lambda()
            if now >= self._trust_at:
                begun = time.monotonic()
                await self._reckon_trust()
                self._trust_at = now + _EFFORT * (time.monotonic() - begun)
        except (redis.RedisError, OSError) as error:
            self._shard_calls.fault(error)

    async def _settle_lambda(self) -> None:
        held = {number: (shard["reserve"], shard["payees"]) for number, shard in self._shard_calls.shards.items()}
        for source, target, amount in transfers(held):
            await self._transfers.carry(source, target, amount)

    async def _reckon_trust(self) -> None:
        client, keys, shards = self._shard_calls.client, self._shard_calls.keys, self._shard_calls.shards
        edges: list[tuple[bytes, bytes, float]] = []
        seeds: list[tuple[bytes, float]] = []
        held: set[bytes] = set()
        for shard in shards:
            if not shards[shard]["known"]:
                continue
            base = keys.base(shard)
            async for pair, pages in client.hscan_iter(f"{base}graph", count=1000):
                source, _, target = pair.partition(b"\0")
                edges.append((source, target, float(pages)))
            seeds += [(host, float(n)) for host, n in (await client.hgetall(f"{base}seedhosts")).items()]
            if shards[shard]["demoted"]:
                held |= await client.smembers(f"{base}demoted")
        trust = await asyncio.to_thread(_trust, edges, seeds, held)
        known = sum(shards[shard]["known"] for shard in shards)
        by_shard: dict[int, dict[bytes, str]] = {}
        for host, share in trust.items():
            if share > 0:
                by_shard.setdefault(keys.shard_of(host.decode()), {})[host] = f"{share:.9g}"
        for shard in shards:
            if shards[shard]["known"]:
                await client.hset(f"{keys.base(shard)}trust", mapping={b"": str(known), **by_shard.get(shard, {})})


def _trust(
    edges: list[tuple[bytes, bytes, float]], seeds: list[tuple[bytes, float]], held: set[bytes]
) -> dict[bytes, float]:
    graph = HostGraph(edges, seeds)
    graph.recompute(held.__contains__)
    hosts = {host for host, _ in seeds} | {target for _, target, _ in edges}
    return {host: graph.trust(host) for host in hosts}


def transfers(shards: dict[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Who gives how much to whom, that every shard's lambda holds its share: (source, target, amount).

    `shards` says of each what its lambda page holds, and how many hosts it pays.
    """
    total = sum(reserve for reserve, _ in shards.values())
    payees = sum(hosts for _, hosts in shards.values())
    if not total or not payees:
        return []
    surplus = {number: reserve - total * hosts // payees for number, (reserve, hosts) in shards.items()}
    least = max(1, int(_SMALL * total))
    givers = sorted((number for number, over in surplus.items() if over >= least), key=surplus.__getitem__)
    takers = sorted((number for number, over in surplus.items() if over <= -least), key=surplus.__getitem__)
    moves = []
    while givers and takers:
        giver, taker = givers[-1], takers[0]
        amount = min(surplus[giver], -surplus[taker])
        moves.append((giver, taker, amount))
        surplus[giver] -= amount
        surplus[taker] += amount
        if surplus[giver] < least:
            givers.pop()
        if surplus[taker] > -least:
            takers.pop(0)
    return moves
