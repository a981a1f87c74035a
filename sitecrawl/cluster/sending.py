"""What a worker has done goes to the shards: its parcels, and what the shards' outboxes hold for one another.

An answer that is lost leaves in doubt whether a shard has taken them: they are sent again. They have numbers, so none
counts twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import redis

from sitecrawl.cluster.in_transit import FORWARDS_A_CALL, InTransit
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.leased_hosts import LeasedHosts
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.options import ClusterOptions, limits_of
from sitecrawl.cluster.parcel import Packer, Parcel
from sitecrawl.cluster.shard_calls import ShardCalls
from sitecrawl.cluster.shards import Call
from sitecrawl.cluster.shared_scope import SharedScope


class Sending:
    """See the module. `kick` says that there is something to do."""

    def __init__(
        self,
        shard_calls: ShardCalls,
        options: ClusterOptions,
        in_transit: InTransit,
        *,
        packer: Packer,
        journal: Journal,
        leased_hosts: LeasedHosts,
        scope: SharedScope,
        listener: WorkerListener,
        kick: Callable[[], None],
    ) -> None:
        self._shard_calls = shard_calls
        self._options = options
        self._in_transit = in_transit
        self._packer = packer
        self._journal = journal
        self._leased_hosts = leased_hosts
        self._scope = scope
        self._listener = listener
        self._kick = kick

    async def send_parcels(self) -> None:
        try:
            await self._scope.tell()
        except (redis.RedisError, OSError) as error:
            self._shard_calls.fault(error)
            return
        while batches := self._in_transit.batches():
            calls = [
                self._apply(shard, [self._packer.pack(one) for one in batch]) for shard, batch in batches.items()
            ]
            answers = await self._shard_calls.call(calls)
            for batch, answer in zip(batches.values(), answers, strict=True):
                if answer is not None:
                    self._answered(batch, answer)
            if None in answers:
                return

    def _apply(self, shard: int, parcels: list[dict[str, Any]]) -> Call:
        return Call(shard, "apply", self._shard_calls.args(shard, parcels=parcels, **limits_of(self._options)))

    def _answered(self, batch: list[Parcel], answer: dict[bytes, Any]) -> None:
        for parcel, what in zip(batch, answer[b"answers"], strict=False):
            if isinstance(what, int):
                self._in_transit.taken(parcel)
                self._journal.taken(parcel)
                for outcome in parcel.outcomes:
                    self._leased_hosts.acknowledged(parcel.shard, outcome.token, outcome.key)
                continue
            self._drop_stale(parcel, what)
        self._found(answer[b"new"])

    def _drop_stale(self, parcel: Parcel, stale: Iterable[int]) -> None:
        """The leases of these were over: their pages are others' to store.

        What is left of their parcel is sent when this returns, and it has to be durable by then: a restart that sends
        the parcel as it was would be told that it has been taken, whole.
        """
        dropped = parcel.drop(stale)
        self._journal.changed(parcel)
        for outcome in dropped:
            self._leased_hosts.lose(parcel.shard, outcome.token)
        self._listener.counted("cluster/stale", len(dropped))
        self._listener.withdrawn([outcome.row for outcome in dropped if outcome.row])
        self._listener.checkpoint()

    def _found(self, new: int) -> None:
        """Redis has taken a parcel, with so many new URLs."""
        self._listener.counted("links/new", new)
        if new:
            self._kick()

    async def send_forwards(self) -> None:
        while shards := [shard for shard, queue in self._in_transit.forwards.items() if queue]:
            batches = {shard: list(self._in_transit.forwards[shard])[:FORWARDS_A_CALL] for shard in shards}
            calls = [self._apply(shard, [one.parcel() for one in batch]) for shard, batch in batches.items()]
            answers = await self._shard_calls.call(calls)
            for (shard, batch), answer in zip(batches.items(), answers, strict=True):
                if answer is not None:
                    for forward in batch:
                        self._in_transit.has_arrived(shard, forward)
                    self._found(answer[b"new"])
            if None in answers:
                return
