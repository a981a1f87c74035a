"""The task that talks to Redis: it fetches leases ahead, sends what is done, renews, and sees the end.

It goes round: send parcels, forward outboxes, give hosts back, lease, renew; then it sleeps until there is something
to do. An idle worker is woken by a message when a shard has work again, and looks for itself now and then.

The end. A shard has ended when nothing waits there that may be fetched, nothing is lent, its outbox is empty, and no
worker is about to add its seeds. The crawl has ended when all shards have, at one moment: when they have been found
so twice, and none has changed in between.

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
from typing import Any, Final, Protocol

import redis

from sitecrawl.cluster.desk import Desk
from sitecrawl.cluster.duties import Duties
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.options import MOST_CREDIT, ClusterOptions
from sitecrawl.cluster.parcel import Outcome, Packer, Parcel
from sitecrawl.cluster.scope import SharedScope
from sitecrawl.cluster.seedqueue import SeedQueue
from sitecrawl.cluster.shards import Call, Shards
from sitecrawl.cluster.traffic import FORWARDS_A_CALL, Forward, Traffic, outbox_of
from sitecrawl.errors import StorageError

logger = logging.getLogger(__name__)

_SHARDS_A_ROUND: Final = 4
"""Shards that are asked for leases at once: the best by what they last said."""
_BACK_OFF: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to reach a Redis that is away."""
_CLOSING: Final = 10.0
"""Seconds for which the end waits for Redis; what is not sent by then is sent by the next start."""
_TRANSIENT: Final = ("LOADING", "MISCONF", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "BUSY", "OOM")


class Listener(Protocol):
    """What the frontier wants to know."""

    def leased(self) -> None:
        """There is something to hand out."""

    def taken(self, new: int) -> None:
        """Redis has taken a parcel, with so many new URLs."""

    def stale(self, outcomes: list[Outcome]) -> None:
        """The leases of these were over: their pages are others' to store."""

    def failed(self, error: StorageError) -> None:
        """There is no going on."""

    def waits(self, reason: str) -> None:
        """Redis is away, or full."""


class Shard:
    """What is known of a shard since it last answered."""

    __slots__ = ("at", "ends", "look_at", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        self.at = 0.0
        self.ends = False
        self.look_at = 0.0
        """When it may have something to lend, in monotonic seconds."""

    def __getitem__(self, name: str) -> int:
        return int(self.numbers.get(name, 0))

    def heard(self, found: dict[bytes, Any], now: float) -> None:
        self.numbers = {name.decode(): value for name, value in found.items()}
        self.at = now


class Pump:
    """See the module."""

    def __init__(
        self,
        shards: Shards,
        options: ClusterOptions,
        desk: Desk,
        journal: Journal,
        packer: Packer,
        listener: Listener,
        connect_plain: Callable[[], Any],
    ) -> None:
        self._shards = shards
        self.client = shards.client
        self._options = options
        self._desk = desk
        self._journal = journal
        self._packer = packer
        self._listener = listener
        self._connect_plain = connect_plain
        self.session = journal.session
        self.stream = f"{self.session}.{secrets.token_hex(4)}"
        """Numbers begin anew with each start, so each start has streams of its own."""
        self.traffic = Traffic(packer, self.session)
        self.shards = {number: Shard() for number in range(options.shards)}
        self.ended = False
        self.starting = True
        self._told_starting: bool | None = None
        self.closing = False
        self.busy: Callable[[], bool] = lambda: False
        """Whether the worker itself has something under way."""
        self._duties = Duties(
            shards,
            self.session,
            self.stream,
            numbers=self.shards.__getitem__,
            forward=self.traffic.forward,
            common=self._common,
            fault=self.fault,
        )
        self.seeds: SeedQueue | None = None
        self.scope = SharedScope(self.client, shards.keys.base(0) + "scope")
        self._kick = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._renewed = 0.0
        self._failures = 0
        self._in_doubt = False
        self.calls = 0

    # Life

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._listen())]

    def kick(self) -> None:
        """There is something to do."""
        self._kick.set()

    def send(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            self.traffic.parcels[parcel.shard].append(parcel)
            self.ended = False
        self._kick.set()

    async def close(self) -> None:
        """Send what is left, give everything back, and stop."""
        self.closing = True
        for lent in list(self._desk.lent.values()):
            self._desk.withdraw(lent)
        self._kick.set()
        deadline = time.monotonic() + _CLOSING
        while (self.traffic or self._desk.given_back) and time.monotonic() < deadline and not self._tasks[0].done():
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(redis.RedisError, OSError, TimeoutError):
            async with asyncio.timeout(2):
                if self._options.shards and not self.traffic:
                    await self._resign(())
                    await self._tell_starting(False)
        with contextlib.suppress(redis.RedisError, OSError):
            await self.client.aclose()

    async def _run(self) -> None:
        try:
            await self._recover()
            while True:
                await self._round()
                await self._sleep()
        except StorageError as error:
            self._listener.failed(error)
        except Exception as error:
            logger.exception("The worker's connection to Redis broke down")
            self._listener.failed(StorageError(f"The worker's connection to Redis broke down: {error!r}"))

    async def _round(self) -> None:
        now = time.monotonic()
        await self._send_parcels(now)
        await self._send_forwards(now)
        await self._give_back(now)
        if not self.closing:
            await self._lease(now)
        await self._renew(now)
        if self.closing:
            return
        if self._desk.lent:  # an idle worker costs Redis as little as possible
            await self._duties(now)
        if self.seeds is not None:
            await self.seeds(now)
        if self._is_idle():
            await self._look_for_the_end()

    async def _sleep(self) -> None:
        if self._kick.is_set() and not self._failures:
            self._kick.clear()
            return
        seconds = self._until_next(time.monotonic())
        if self._failures:
            seconds = _BACK_OFF[min(self._failures, len(_BACK_OFF)) - 1]
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()

    def _until_next(self, now: float) -> float:
        times = [self._renewed + self._options.lease_seconds / 3]
        if self.seeds is not None:
            times.append(now + 2.0)
        if self._wants() > 0 and not self.closing:
            times += [shard.look_at for shard in self.shards.values()]
        if any(self.traffic.arrived.values()):
            times.append(now + 0.2)
        if any(self.traffic.parcels.values()) or any(self.traffic.forwards.values()):
            return 0.0
        return max(0.005, min(times) - now)

    @property
    def poll(self) -> float:
        """Seconds after which an idle worker looks at a shard that has said nothing: three looks a second in all."""
        return max(2.0, self._options.shards / 3)

    # Calls

    async def _call(self, calls: list[Call], now: float) -> list[dict[bytes, Any] | None]:
        """Answers, None for those that did not come. Raises `StorageError` for what will not come right by itself."""
        self.calls += len(calls)
        answers = await self._shards.call_many(calls)
        found: list[dict[bytes, Any] | None] = []
        problem: BaseException | None = None
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, BaseException):
                problem = answer
                found.append(None)
            else:
                self.shards[call.shard].heard(answer[b"shard"], now)
                found.append(answer)
        if problem is not None:
            self.fault(problem)
        elif self._failures:
            self._failures = 0
            logger.warning("Redis answers again")
        return found

    def fault(self, error: BaseException) -> None:
        if not is_transient(error):
            raise StorageError(f"Redis refuses the crawl's work: {error}") from error
        self._failures += 1
        self._in_doubt = True
        self._listener.waits(f"{error or type(error).__name__}")
        if self._failures == 1:
            logger.warning("Waiting for Redis: %s", error or type(error).__name__)

    def _common(self, shard: int) -> dict[str, Any]:
        return {
            "session": self.session,
            "ms": int(1000 * self._options.lease_seconds),
            "channel": self._shards.keys.channel,
            "shard": shard,
        }

    # What is done

    async def _send_parcels(self, now: float) -> None:
        try:
            await self.scope.tell()
        except (redis.RedisError, OSError) as error:
            self.fault(error)
            return
        while shards := [shard for shard, queue in self.traffic.parcels.items() if queue]:
            batches = {shard: self.traffic.batch(shard) for shard in shards}
            calls = [
                Call(shard, "apply", self._apply_args(shard, [self._packer.pack(parcel) for parcel in batch]))
                for shard, batch in batches.items()
            ]
            answers = await self._call(calls, now)
            for batch, answer in zip(batches.values(), answers, strict=True):
                if answer is not None:
                    self._answered(batch, answer)
            if None in answers:
                return

    def _apply_args(self, shard: int, parcels: list[dict[str, Any]]) -> dict[str, Any]:
        share = self._options.seed_share
        most = MOST_CREDIT // self._options.shards
        return {**self._common(shard), "parcels": parcels, "share": share, "most_credit": most}

    def _answered(self, batch: list[Parcel], answer: dict[bytes, Any]) -> None:
        for parcel, what in zip(batch, answer[b"answers"], strict=False):
            if isinstance(what, int):
                self.traffic.taken(parcel)
                self._journal.taken(parcel)
                for outcome in parcel.outcomes:
                    self._desk.acknowledged(parcel.shard, outcome.token, outcome.key)
            else:
                dropped = parcel.drop(what)
                self._journal.changed(parcel)
                for outcome in dropped:
                    self._desk.lose(parcel.shard, outcome.token)
                self._listener.stale(dropped)
        self._listener.taken(answer[b"new"])

    async def _send_forwards(self, now: float) -> None:
        while shards := [shard for shard, queue in self.traffic.forwards.items() if queue]:
            batches = {shard: list(self.traffic.forwards[shard])[:FORWARDS_A_CALL] for shard in shards}
            calls = [
                Call(shard, "apply", self._apply_args(shard, [forward.parcel() for forward in batch]))
                for shard, batch in batches.items()
            ]
            answers = await self._call(calls, now)
            for (shard, batch), answer in zip(batches.items(), answers, strict=True):
                if answer is not None:
                    for forward in batch:
                        self.traffic.has_arrived(shard, forward)
                    self._listener.taken(answer[b"new"])
            if None in answers:
                return

    async def _give_back(self, now: float) -> None:
        if not self._desk.given_back:
            return
        by_shard: dict[int, list[Any]] = {}
        for entry in self._desk.given_back:
            by_shard.setdefault(entry[0].shard, []).append(entry)
        calls = [
            Call(shard, "release", {**self._common(shard), "hosts": [_returned(*entry, now) for entry in entries],
                                    "revival": self._revival_ms})
            for shard, entries in by_shard.items()
        ]
        for entries, answer in zip(by_shard.values(), await self._call(calls, now), strict=True):
            if answer is not None:
                for entry in entries:
                    self._desk.given_back.remove(entry)
                    self._desk.forget_if_over(entry[0])

    revival = 3600.0
    """Seconds after which a host that has ceased to answer is asked again."""

    @property
    def _revival_ms(self) -> int:
        return int(1000 * self.revival)

    # Leases

    def _wants(self) -> int:
        """URLs that are wanted: nothing until half of what is kept ahead is gone."""
        room = self._options.ahead - self._desk.waiting
        wanted = room if 2 * room >= self._options.ahead else 0
        if self._options.max_pages:
            taken = self.total("fetched") + self.total("leased")
            wanted = min(wanted, self._options.max_pages - taken)
        return wanted

    def total(self, name: str) -> int:
        """Over all shards, as they last said."""
        return sum(shard[name] for shard in self.shards.values())

    async def _lease(self, now: float) -> None:
        wanted = self._wants()
        due = [number for number, shard in self.shards.items() if shard.look_at <= now]
        if wanted <= 0 or not due:
            return
        due.sort(key=lambda number: self.shards[number].numbers.get("best", 0.0), reverse=True)
        rich = [number for number in due if self.shards[number]["ready"]][:_SHARDS_A_ROUND]
        asked = rich + [number for number in due if not self.shards[number]["ready"]]
        await self._ask(asked, max(1, -(-wanted // max(1, len(rich)))), now)

    async def _ask(self, asked: list[int], want: int, now: float) -> bool:
        """Ask these shards for leases; whether any came."""
        options = self._options
        args = {
            "want": want,
            "hosts": want,
            "span": int(1000 * options.host_seconds),
            "most": options.host_batch,
        }
        answers = await self._call([Call(shard, "lease", {**self._common(shard), **args}) for shard in asked], now)
        if any(answer is not None and answer[b"leases"] for answer in answers):
            try:
                await self.scope.hear()
            except (redis.RedisError, OSError) as error:
                self.fault(error)  # and resigns what was lent just now
                return False
        came = False
        for number, answer in zip(asked, answers, strict=True):
            if answer is None:
                continue
            came |= self._lent(number, answer, now)
            for orphan in answer[b"orphans"]:
                await self._adopt(number, orphan.decode())
        if came:
            self._listener.leased()
        return came

    def _lent(self, number: int, answer: dict[bytes, Any], now: float) -> bool:
        shard = self.shards[number]
        for lease in answer[b"leases"]:
            lent = self._desk.take(number, lease, now)
            if self._desk.is_dead(lent):
                self.on_dead(lent)
        shard.ends = bool(answer[b"ends"])
        times = [self.poll]
        if shard["ready"]:
            times.append(0.0 if answer[b"leases"] else 0.2)
        for name in ("rest", "expires"):
            if shard.numbers.get(name, -1) >= 0:
                times.append(shard.numbers[name] / 1000 + 0.002)
        shard.look_at = now + min(times)
        return bool(answer[b"leases"])

    on_dead: Callable[[Any], None] = staticmethod(lambda lent: None)
    """Called with a lease of a host that is to be given up."""

    async def _renew(self, now: float) -> None:
        due = now - self._renewed >= self._options.lease_seconds / 3 or self._in_doubt
        if self._in_doubt and not self._failures:
            await self._resign(lent.token for lent in self._desk.lent.values())
            self._in_doubt = self._failures > 0
        tokens: dict[int, list[int]] = {}
        if due:
            self._renewed = now
            for lent in self._desk.lent.values():
                tokens.setdefault(lent.shard, []).append(lent.token)
        arrived = {place: fields for place, fields in self.traffic.arrived.items() if fields}
        own = {shard: fields for (shard, owner), fields in arrived.items() if owner == self.session}
        calls = [
            Call(shard, "renew", {**self._common(shard), "tokens": tokens.get(shard, []), "arrived": own.get(shard, [])})
            for shard in sorted(tokens.keys() | own.keys())
        ]
        places = [(call.shard, self.session) for call in calls]
        for (shard, owner), fields in arrived.items():
            if owner != self.session:
                args = {**self._common(shard), "tokens": [], "arrived": fields, "owner": owner}
                calls.append(Call(shard, "renew", args))
                places.append((shard, owner))
        if self._told_starting is not self.starting or (self.starting and due):
            await self._tell_starting(self.starting)
        if not calls:
            return
        for place, answer in zip(places, await self._call(calls, now), strict=True):
            if answer is not None:
                self.traffic.arrived.pop(place, None)
                for token in answer[b"over"]:
                    self._desk.lose(place[0], token)

    async def _tell_starting(self, starting: bool) -> None:
        args = {**self._common(0), "tokens": [], "arrived": [], "starting": int(starting)}
        (answer,) = await self._call([Call(0, "renew", args)], time.monotonic())
        if answer is not None:
            self._told_starting = starting

    async def _resign(self, keep: Iterable[int]) -> None:
        """Give back what was lent under tokens that are not known here."""
        kept = list(keep)
        calls = [Call(shard, "resign", {**self._common(shard), "keep": kept}) for shard in self.shards]
        await self._call(calls, time.monotonic())

    # After a crash: this worker's own, or another's

    async def _recover(self) -> None:
        """What the journal has goes first; then all that this worker was lent before is given back."""
        while True:
            try:
                await self._tell_starting(True)
                await self._send_parcels(time.monotonic())
                if not self._failures and not any(self.traffic.parcels.values()):
                    await self._resign(())
                    for shard in self.shards:
                        await self._adopt(shard, self.session)
                if not self._failures:
                    return
            except (redis.RedisError, OSError) as error:
                self.fault(error)
            await asyncio.sleep(_BACK_OFF[min(self._failures, len(_BACK_OFF)) - 1])

    async def _adopt(self, shard: int, owner: str) -> None:
        """Forward what a worker that is no more has left in an outbox; whoever does so twice does no harm."""
        under_way = {
            (forward.source, forward.stream, forward.seq, target)
            for target, queue in self.traffic.forwards.items()
            for forward in queue
        }
        try:
            fields = await self.client.hgetall(f"{self._shards.keys.base(shard)}out:{owner}")
        except (redis.RedisError, OSError) as error:
            self.fault(error)
            return
        for target, forward in outbox_of(shard, owner, fields):
            if (forward.source, forward.stream, forward.seq, target) not in under_way:
                self.traffic.forward(target, forward)
        self._kick.set()

    # The end

    def _is_idle(self) -> bool:
        return not (
            self._failures
            or self._in_doubt
            or self.traffic
            or self._desk.lent
            or self._desk.given_back
            or self.starting
            or (self.seeds is not None and not self.seeds.is_empty)
            or self.busy()
        )

    async def _look_for_the_end(self) -> None:
        if self.ended or self._options.watch or not all(shard.ends for shard in self.shards.values()):
            return
        versions = []
        for _ in range(2):
            if await self._ask(list(self.shards), self._options.ahead, time.monotonic()):
                return
            if self._failures or not all(shard.ends for shard in self.shards.values()) or not self._is_idle():
                return
            versions.append([shard["version"] for shard in self.shards.values()])
        if versions[0] == versions[1]:
            self.ended = True
            self._listener.leased()

    # Being woken

    async def _listen(self) -> None:
        """Wait for messages that a shard has work; without them the worker looks for itself, only later."""
        while True:
            client = self._connect_plain()
            try:
                async with client.pubsub() as channel:
                    await channel.subscribe(self._shards.keys.channel)
                    async for message in channel.listen():
                        if message["type"] == "message":
                            self.shards[int(message["data"])].look_at = 0.0
                            self._kick.set()
            except (redis.RedisError, OSError, ValueError, KeyError):
                await asyncio.sleep(1.0)
            finally:
                with contextlib.suppress(redis.RedisError, OSError):
                    await client.aclose()


def is_transient(error: BaseException) -> bool:
    """Whether an error goes when Redis is well again."""
    if isinstance(error, redis.AuthenticationError | redis.exceptions.NoPermissionError):
        return False
    if isinstance(error, redis.ConnectionError | redis.TimeoutError | OSError | redis.exceptions.ClusterError):
        return True
    if isinstance(error, redis.exceptions.RedisClusterException | redis.exceptions.OutOfMemoryError):
        return True
    return any(str(error).lstrip("-").startswith(name) or f"{name} " in str(error)[:80] for name in _TRANSIENT)


def _returned(lent: Any, keys: list[bytes], dead: int, now: float) -> list[Any]:
    """A host that is given back, as `release` takes it."""
    host = lent.host
    pause = max(0.0, host.free_at - now)
    spent = now - lent.begun + pause
    pace = int(1000 * spent / lent.served) if lent.served else 0
    failures = int(host.failures)
    return [lent.token, host.name, int(1000 * pause), failures, host.crawl_delay, max(pace, 1) if lent.served else 0, dead, keys]
