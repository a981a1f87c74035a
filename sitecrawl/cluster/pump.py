"""The task that talks to Redis: it fetches leases ahead, sends what is done, renews, and sees the end.

It goes round: send parcels, forward outboxes, give hosts back, lease, renew; then it sleeps until there is something
to do. An idle worker is woken by a message when a shard has work again, and looks for itself now and then.

The end. A shard has ended when nothing waits there that may be fetched, nothing is lent, its outbox is empty, and no
worker is about to add its seeds. The crawl has ended when all shards have, or have but for what waits, of which none
may lend any more (`budget`); at one moment: when they have been found so twice, and none has changed in between. With
a depth limit that is the end of a level, as long as something waits for a deeper one.

Faults. Whatever fails because Redis cannot be reached is kept and sent again: parcels and forwards have numbers, so
none counts twice; what a lost answer has lent is resigned afterwards, or runs out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.budget import Budget, Transfers
from sitecrawl.cluster.in_transit import InTransit, outbox_of
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.leader import Leader
from sitecrawl.cluster.leased_hosts import Lease, LeasedHosts, Returned
from sitecrawl.cluster.leasing import Leasing
from sitecrawl.cluster.listener import WorkerListener
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.cluster.parcel import Packer, Parcel
from sitecrawl.cluster.seedqueue import SeedQueue
from sitecrawl.cluster.sending import Sending
from sitecrawl.cluster.shard_calls import ShardCalls
from sitecrawl.cluster.shards import Call, Shards
from sitecrawl.cluster.shared_scope import SharedScope
from sitecrawl.cluster.tallies import Tallies
from sitecrawl.cluster.wakeups import Wakeups

logger = logging.getLogger(__name__)

_CLOSING: Final = 10.0
"""Seconds for which the end waits for Redis; what is not sent by then is sent by the next start."""
_DEAF: Final = 0.1
"""Seconds after which a task that was told to end is told again."""
_TRIMMING: Final = 0.2
"""Seconds after which what has arrived is taken out of the outboxes."""
_RENEWALS: Final = 3
"""Renewals in the length of a lease."""


class Pump:
    """See the module. `connect` gives another connection, to wait for messages on; `is_busy` says whether the worker
    itself has something under way; `died` is told of a lease whose host is to be given up; `account` is that of the
    crawl's `max_pages`.
    """

    def __init__(
        self,
        shards: Shards,
        options: ClusterOptions,
        *,
        leased_hosts: LeasedHosts,
        journal: Journal,
        packer: Packer,
        listener: WorkerListener,
        connect: Callable[[], Any],
        is_busy: Callable[[], bool],
        died: Callable[[Lease], None],
        account: int,
        revival: float = 3600.0,
    ) -> None:
        self._options = options
        self._leased_hosts = leased_hosts
        self._listener = listener
        self._is_busy = is_busy
        self._revival = revival
        self.shard_calls = ShardCalls(shards, journal.session, options.lease_seconds, on_fault=self._faulted)
        self.stream = f"{journal.session}.{secrets.token_hex(4)}"
        """Numbers begin anew with each start, so each start has streams of its own."""
        self.in_transit = InTransit(packer, journal.session)
        self.scope = SharedScope(shards.client, shards.keys.base(0) + "scope", listener.widened)
        self._sending = Sending(
            self.shard_calls,
            options,
            self.in_transit,
            packer=packer,
            journal=journal,
            leased_hosts=leased_hosts,
            scope=self.scope,
            listener=listener,
            kick=self.kick,
        )
        self.budget = Budget(self.shard_calls, options.limits.max_pages, account, self._transfers("budget"))
        self.tallies = Tallies(
            self.shard_calls,
            options.limits,
            self.stream,
            clock=time.monotonic,
            every=options.lease_seconds / _RENEWALS,
            met=listener.limit_met,
        )
        self.leasing = Leasing(self.shard_calls, options, leased_hosts, self.scope, self.budget, on_dead=died)
        self._leader = Leader(self.shard_calls, self._transfers("lambda"))
        self.seeds: SeedQueue | None = None
        self.ended = False
        self.closing = False
        self.resting = False
        """Whether nothing is to be lent for now: this machine could not fetch it."""
        self.starting = True
        """The worker's spider has not yet said what it begins with."""
        self._told_starting: bool | None = None
        self._kick = asyncio.Event()
        self._wakeups = Wakeups(connect, shards.keys.channel, self._called)
        self._tasks: list[asyncio.Task[None]] = []
        self._renewed = 0.0

    def _faulted(self) -> None:
        """Redis may come back as a replica that has taken over, or without its last second: what it has answered so
        far is no longer certain. What is to be forwarded is read again from the outboxes (`_adopt_own`).
        """
        self._listener.counted("cluster/faults", 1)
        self.in_transit.forget_answers()
        self.scope.forget_answers()
        self.leasing.forget_answers()

    def _transfers(self, step: str) -> Transfers:
        return Transfers(self.shard_calls, step, f"{self.stream}.{step}", self.in_transit.forward)

    # Life

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._wakeups.listen())]

    def kick(self) -> None:
        """There is something to do."""
        self._kick.set()

    def send(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            self.in_transit.parcels[parcel.shard].append(parcel)
            self.ended = False
        self._kick.set()

    async def close(self) -> None:
        """Send what is left, give everything back, and stop."""
        self.closing = True
        for lease in list(self._leased_hosts.leases.values()):
            self._leased_hosts.withdraw(lease)
        self._kick.set()
        if self._tasks:
            await asyncio.wait(self._tasks[:1], timeout=_CLOSING)
        await self.cease()
        with contextlib.suppress(redis.RedisError, OSError):
            await self.shard_calls.client.aclose()

    async def cease(self) -> None:
        """End the tasks where they are. Before Python 3.12 `asyncio.wait_for`, which redis-py uses, may swallow a
        cancellation: so it is said until it is heard, or a worker might never end.
        """
        pending = set(self._tasks)
        while pending:
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=_DEAF)
        await self._wakeups.close()

    async def _run(self) -> None:
        try:
            await self._recover()
            while not self._is_over():
                await self._round()
                await self._sleep()
            await self._tell_starting(starting=False)
            await self._resign((), leaves=True)
        except StorageError as error:
            self._listener.failed(error)
        except Exception as error:
            logger.exception("The worker's connection to Redis broke down")
            self._listener.failed(StorageError(f"The worker's connection to Redis broke down: {error!r}"))

    def _is_over(self) -> bool:
        return self.closing and not self.in_transit and not self._leased_hosts.given_back

    async def _round(self) -> None:
        now = time.monotonic()
        await self.tallies(now)
        if self.shard_calls.in_doubt and not await self._is_back():
            return
        await self._sending.send_parcels()
        await self._sending.send_forwards()
        await self._give_back(now)
        if not (self.closing or self.resting):
            if await self.leasing.lease(now):
                self._listener.woken()
            if self.leasing.wanted > 0:
                await self.budget.level()
        await self._renew(now)
        while self.leasing.orphans:
            await self._adopt(*self.leasing.orphans.pop())
        if self.closing:
            return
        if self._leased_hosts.leases:  # an idle worker costs Redis as little as possible
            await self._leader(now)
        if self.seeds is not None:
            await self.seeds(now)
        if self._is_idle():
            await self._look_for_the_end()

    async def _sleep(self) -> None:
        if self.shard_calls.failures:
            await asyncio.sleep(self.shard_calls.pause)
            return
        seconds = self._until_next(time.monotonic())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()

    def _until_next(self, now: float) -> float:
        if self.in_transit.is_sending:
            return 0.0
        times = [self._renewed + self._options.lease_seconds / _RENEWALS, self.tallies.next_look()]
        if self.seeds is not None:
            times.append(self.seeds.next_look(now))
        if self.leasing.wanted > 0 and not (self.closing or self.resting):
            times.append(self.leasing.next_look())
        if self.in_transit:
            times.append(now if self.closing else now + _TRIMMING)
        return max(0.005, min(times) - now)

    # What was lent

    async def _give_back(self, now: float) -> None:
        by_shard: dict[int, list[Returned]] = {}
        for returned in self._leased_hosts.given_back:
            by_shard.setdefault(returned.lease.shard, []).append(returned)
        revival = int(1000 * self._revival)
        calls = [
            Call(
                shard,
                "release",
                self.shard_calls.args(shard, hosts=[one.fields(now) for one in hosts], revival=revival),
            )
            for shard, hosts in by_shard.items()
        ]
        for hosts, answer in zip(by_shard.values(), await self.shard_calls.call(calls), strict=True):
            if answer is not None:
                for returned in hosts:
                    self._leased_hosts.given_back.remove(returned)
                    self._leased_hosts.forget_if_over(returned.lease)

    async def _renew(self, now: float) -> None:
        """Leases last on, and what has arrived leaves the outboxes."""
        due = now - self._renewed >= self._options.lease_seconds / _RENEWALS
        if self._told_starting is not self.starting or (self.starting and due):
            await self._tell_starting(starting=self.starting)
        tokens: dict[int, list[int]] = {}
        if due:
            self._renewed = now
            for lease in self._leased_hosts.leases.values():
                tokens.setdefault(lease.shard, []).append(lease.token)
        arrived = {place: list(fields) for place, fields in self.in_transit.arrived.items() if fields}
        if due:
            tokens.setdefault(0, [])  # where a worker is believed alive by all others
        places = arrived.keys() | {(shard, self.shard_calls.session) for shard in tokens}
        await self._call_renew(
            {place: (tokens.get(place[0], []), arrived.get(place, [])) for place in sorted(places)}
        )

    async def _call_renew(self, places: dict[tuple[int, str], tuple[list[int], list[str]]]) -> None:
        calls = []
        for (shard, owner), (tokens, arrived) in places.items():
            ours = owner == self.shard_calls.session
            args = self.shard_calls.args(shard, tokens=tokens if ours else [], arrived=arrived)
            calls.append(Call(shard, "renew", args if ours else {**args, "owner": owner}))
        for place, answer in zip(places, await self.shard_calls.call(calls), strict=True):
            if answer is not None:
                self.in_transit.trimmed(place, places[place][1])
                for token in answer[b"over"]:
                    self._leased_hosts.lose(place[0], token)

    async def _tell_starting(self, *, starting: bool) -> None:
        args = self.shard_calls.args(0, tokens=[], arrived=[], starting=int(starting))
        (answer,) = await self.shard_calls.call([Call(0, "renew", args)])
        if answer is not None:
            self._told_starting = starting

    async def _is_back(self) -> bool:
        """After a fault: give back what a lost answer may have lent, and carry what it may have put into an outbox.

        Whether any shard takes it, and so writes.
        """
        answers = await self._resign(self._leased_hosts.leases)
        await self._adopt_own()
        self.shard_calls.in_doubt = self.shard_calls.failures > 0
        return any(answer is not None for answer in answers)

    async def _resign(
        self, keep: Iterable[tuple[int, int]], *, leaves: bool = False
    ) -> list[dict[bytes, Any] | None]:
        """Give back what was lent, but for these shards and tokens. Each shard counts its tokens for itself."""
        kept: dict[int, list[int]] = {shard: [] for shard in self.shard_calls.shards}
        for shard, token in keep:
            kept[shard].append(token)
        calls = [
            Call(shard, "resign", self.shard_calls.args(shard, keep=tokens, leaves=int(leaves)))
            for shard, tokens in kept.items()
        ]
        return await self.shard_calls.call(calls)

    # After a crash: this worker's own, or another's

    async def _recover(self) -> None:
        """What the journal has goes first; then all that this worker was lent before is given back."""
        while True:
            await self._tell_starting(starting=True)
            await self._sending.send_parcels()
            if not self.shard_calls.failures:
                await self._resign(())
                await self._adopt_own()
                await self.budget.open()
            if not self.shard_calls.failures:
                return
            await asyncio.sleep(self.shard_calls.pause)

    async def _adopt_own(self) -> None:
        for shard in self.shard_calls.shards:
            if not self.shard_calls.failures:
                await self._adopt(shard, self.shard_calls.session)

    async def _adopt(self, shard: int, owner: str) -> None:
        """Forward what a worker that is no more has left in an outbox; whoever does so twice does no harm."""
        try:
            fields = await self.shard_calls.client.hgetall(f"{self.shard_calls.keys.base(shard)}out:{owner}")
        except (redis.RedisError, OSError) as error:
            self.shard_calls.fault(error)
            return
        for target, forward in outbox_of(shard, owner, fields):
            if forward not in self.in_transit.forwards[target]:
                self.in_transit.forward(target, forward)
        self._kick.set()

    # The end

    def _is_idle(self) -> bool:
        return not (
            self.shard_calls.failures
            or self.shard_calls.in_doubt
            or self.in_transit
            or self._leased_hosts.leases
            or self._leased_hosts.given_back
            or self.starting
            or (self.seeds is not None and not self.seeds.is_empty)
            or self._is_busy()
        )

    def _has_ended(self) -> bool:
        """Whether nothing is lent or on its way, and nothing is left to lend, or may be: as all shards last said."""
        shards = self.shard_calls.shards.values()
        if not all(shard.settled for shard in shards):
            return False
        return self.budget.is_spent or all(shard.ends for shard in shards)

    async def _look_for_the_end(self) -> None:
        """Of the crawl; or, where it goes level by level, of this level."""
        shards, deeper = self.shard_calls.shards, self.leasing.next_level()
        waits = self._options.watch and deeper is None and not self.budget.is_spent
        if self.ended or waits or not self._has_ended():
            return
        versions = []
        for _ in range(2):
            if await self.leasing.ask(list(shards), self._options.ahead, time.monotonic()):
                self._listener.woken()
                return
            if not self._has_ended() or not self._is_idle():
                return
            versions.append([shard["version"] for shard in shards.values()])
        if versions[0] != versions[1]:
            return
        if (deeper := self.leasing.next_level()) is not None and not self.budget.is_spent:
            self.leasing.descend(deeper)
            self._kick.set()
        elif not self._options.watch or self.budget.is_spent:
            self.ended = True
            self._listener.woken()

    def _called(self, shard: int) -> None:
        """The shard has said that there is work, or that the crawl may have ended."""
        self.shard_calls.shards[shard].look_at = 0.0
        self.tallies.look()
        self._kick.set()
