"""Leases are renewed whatever the crawl's loop does, unless it hangs; and who cannot renew them stops in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from bare_workers import working
from redis_servers import Server
from waiting import until, until_async

from sitecrawl.cluster.connection import connect_async, connect_to_renew
from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.leases import LONGEST, Leases, Renewal
from sitecrawl.cluster.partition_store import Commit, PartitionStore
from sitecrawl.cluster.steps import Keys, Steps
from sitecrawl.frontier.urls.record import UrlState

KEYS = Keys("test", 2)
ONE, OTHER = "0" * 16, "1" * 16
LEASE = 1000.0
"""Seconds, so that Redis ends none by itself; the clock of the worker is the tests'."""
SHORT = 50_000
"""Milliseconds that a lease has left where a test is to see that it is renewed."""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Had:
    """Both partitions, as worker `ONE` has them; the clock goes on by hand."""

    def __init__(self, redis: Server, store: PartitionStore, clock: Clock, connect: Any) -> None:
        self.clock = clock
        self.store = store
        self.leases = store.leases
        self.renewal = Renewal(store.leases, KEYS, ONE, connect, clock=clock)
        self._client = redis.client()

    def age(self) -> None:
        for partition in range(KEYS.shards):
            self._client.pexpire(KEYS.base(partition) + "lease", SHORT)

    def renews(self) -> bool:
        """Whether both leases are for longer after a round."""
        self.age()
        self.renewal.round()
        left: list[Any] = [self._client.pttl(KEYS.base(partition) + "lease") for partition in range(KEYS.shards)]
        assert (left[0] > SHORT) == (left[1] > SHORT)
        return bool(left[0] > SHORT)

    def give_away(self, partition: int) -> None:
        """Redis has ended the lease, and another worker has it."""
        self._client.set(KEYS.base(partition) + "lease", f"7:{OTHER}")

    def end(self, partition: int) -> None:
        """The lease is over."""
        self._client.delete(KEYS.base(partition) + "lease")


@asynccontextmanager
async def having(redis: Server, connect: Any = None) -> AsyncIterator[Had]:
    clock = Clock()
    client = connect_async({"url": redis.url}, cluster=False)
    store = PartitionStore(Steps(client, KEYS), ONE, Leases(LEASE, clock), clock)

    had = Had(redis, store, clock, connect or partial(connect_to_renew, {"url": redis.url}, cluster=False))
    for partition in range(KEYS.shards):
        await store.lease(partition)
    try:
        yield had
    finally:
        had.renewal.close()
        await client.aclose()


def test_a_loop_that_does_not_go_on(redis: Server, tmp_path: Path) -> None:
    """While it is busy with something else the thread renews, over a connection of its own."""

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=1, lease_seconds=5.0) as worker:
            with redis.client() as client:
                key = Keys("test", 1).base(0) + "lease"
                await until_async(lambda: worker.has_finished() or client.exists(key), "it has the partition")
                for _ in range(2):
                    client.pexpire(key, 600_000)
                    until(lambda: client.pttl(key) < 300_000, "it is renewed")  # blocks the loop meanwhile

    asyncio.run(story())


def test_a_loop_that_hangs(redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is renewed any more, which is said once; until it goes on. Then it was slow, and has twice as long: or
    a partition that takes so long to be let in would go round for ever.
    """

    async def story() -> None:
        async with having(redis) as had:
            rounds = int(had.renewal.hung_seconds / had.renewal.step)
            for times in (1, 2, 4):
                assert [had.renews() for _ in range(rounds * times + 2)] == [True] * rounds * times + [False] * 2
                assert len(caplog.messages) == 1
                assert "hangs" in caplog.text
                caplog.clear()
                had.renewal.moved()
                assert had.renews()

    asyncio.run(story())


def test_a_process_that_was_stopped(redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Its loop has not moved meanwhile, and does not hang."""

    async def story() -> None:
        async with having(redis) as had:
            had.clock.now += 100 * had.renewal.hung_seconds
            assert had.renews()
            assert not caplog.messages

    asyncio.run(story())


class Slow:
    """A Redis that takes so many seconds for an answer, and gives up none that is waited for as long."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = 0.0
        self.calls = 0
        self.patience = 0.0

    def __call__(self, patience: float) -> Slow:
        self.patience = patience
        return self

    def pipeline(self, *, transaction: bool) -> Slow:
        self.calls = 0
        return self

    def execute_command(self, *words: object) -> None:
        self.calls += 1

    def execute(self, *, raise_on_error: bool) -> list[int]:
        self.clock.now += min(self.seconds, self.patience)
        if self.seconds > self.patience:
            raise redis_py.TimeoutError("silent")
        return [1] * self.calls

    def close(self) -> None: ...


@pytest.mark.parametrize("seconds", [LEASE / 10, LEASE, 3 * LEASE, 20 * LEASE])
def test_a_redis_that_is_slower_than_a_lease(seconds: float) -> None:
    """Leases, and the patience with which they are renewed, grow until renewals come in time, and stay so for as long
    as that is so. Then they are as the settings say.
    """
    clock = Clock()
    leases, redis = Leases(LEASE, clock), Slow(clock)
    renewal = Renewal(leases, KEYS, ONE, redis, clock=clock)
    leases.hold(0, 1, 0.0)

    def is_sure(rounds: int) -> list[bool]:
        found = []
        for _ in range(rounds):
            renewal.moved()
            renewal.round()
            found.append(leases.is_sure(0))
            clock.now += renewal.step
        return found

    redis.seconds = seconds
    is_sure(12)
    assert all(is_sure(30))
    redis.seconds = 0.0
    assert all(is_sure(30))
    assert leases.seconds == LEASE


def test_a_worker_that_is_slower_than_its_leases(redis: Server) -> None:
    """Rounds of its thread are far apart: they grow as well."""

    async def story() -> None:
        async with having(redis) as had:
            for _ in range(12):
                had.renewal.moved()
                had.renewal.round()
                had.clock.now += 30 * LEASE
            assert had.leases.is_sure(0)

    asyncio.run(story())


def test_half_a_lease_without_an_answer(redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is handed out any more, while the lease is still this worker's, which is said once; and again once it
    is renewed.
    """

    class Away:
        """Redis, which is not reached while `is_away`."""

        is_away = True

    def connect(patience: float) -> Any:
        if Away.is_away:
            raise redis_py.ConnectionError("no route")
        return connect_to_renew({"url": redis.url}, patience, cluster=False)

    async def story() -> None:
        async with having(redis, connect) as had:
            for _ in range(2):
                assert not had.renews()
                assert had.leases.is_sure(0)
                had.clock.now += LEASE / 4
            assert had.leases.are_all_unsure
            assert not had.leases.is_sure(0)
            assert not caplog.messages
            for _ in range(2):
                assert not had.renews()
            assert len(caplog.messages) == 1
            Away.is_away = False
            assert had.renews()
            assert had.leases.is_sure(0)
            assert not had.leases.are_all_unsure

    asyncio.run(story())


def test_a_lease_that_is_lost(redis: Server) -> None:
    """Nothing of that partition is handed out from then on, and the other is this worker's as before."""

    async def story() -> None:
        async with having(redis) as had:
            token = had.leases.held[1]
            had.give_away(1)
            had.renewal.round()
            assert [had.leases.is_sure(partition) for partition in range(2)] == [True, False]
            assert had.leases.has_lost(1, token)
            await had.store.release(1, token)
            assert not had.leases.has_lost(1, token)
            assert list(had.leases.held) == [0]

    asyncio.run(story())


def test_redis_is_full(redis: Server) -> None:
    """Leases are renewed all the same: no page that waits for room is fetched by another worker as well."""

    async def story() -> None:
        async with having(redis) as had:
            with redis.client() as client:
                try:
                    client.config_set("maxmemory", "1")
                    assert had.renews()
                finally:
                    client.config_set("maxmemory", "0")

    asyncio.run(story())


def test_leases_grow_with_the_time_that_renewing_takes(redis: Server) -> None:
    """Twice the slowest renewal of late is half a lease; none is shorter than the settings say, or much longer."""

    async def story() -> None:
        async with having(redis) as had:
            found = []
            for seconds in (LEASE / 10, LEASE / 2, 10 * LEASE):
                had.renewal.moved()
                had.renewal.round()
                had.clock.now += seconds
                had.renewal.moved()
                had.renewal.round()
                found.append(had.leases.seconds)
            assert found == [LEASE, 2 * LEASE, LONGEST * LEASE]
            assert had.leases.ms > 3900 * LEASE

    asyncio.run(story())


def test_a_partition_that_rests(redis: Server) -> None:
    """A renewal that was on its way when the partition was given back does not keep it from others."""

    async def story() -> None:
        async with having(redis) as had:
            token = had.leases.held[0]
            await had.store.release(0, token, rest=SHORT / 1000)
            assert await had.store.commit([Commit(0, token)]) == [None]
            assert await had.store.commit([Commit(0, token, Entry(0, 1, b"late"))]) == [None]
            with redis.client() as client:
                assert 0 < client.pttl(KEYS.base(0) + "lease") <= SHORT  # type: ignore[operator]
            assert await had.store.lease(0, token) is not None  # who had it may have it at once

    asyncio.run(story())


def test_a_lease_that_is_over_and_nobody_has(redis: Server) -> None:
    """Redis stood still, and all leases are over: they begin again with the next renewal, or the next entry."""

    async def story() -> None:
        async with having(redis) as had:
            for partition in range(KEYS.shards):
                had.end(partition)
            assert await had.store.commit([Commit(0, had.leases.held[0], Entry(0, 1, b"page"))]) == [1]
            assert had.renews()
            assert not any(had.leases.has_lost(*one) for one in had.leases.held.items())
            other = PartitionStore(had.store.steps, OTHER, Leases(LEASE, had.clock), had.clock)
            assert [await other.lease(partition) for partition in range(KEYS.shards)] == [None, None]

    asyncio.run(story())


@pytest.mark.parametrize("is_given_back", [False, True])
def test_a_lease_that_another_worker_had(redis: Server, *, is_given_back: bool) -> None:
    """It begins again for nobody: who had it last has written, or gone."""

    async def story() -> None:
        async with having(redis) as had:
            had.end(0)
            other = PartitionStore(had.store.steps, OTHER, Leases(LEASE, had.clock), had.clock)
            lent = await other.lease(0)
            assert lent is not None
            if is_given_back:
                await other.release(0, lent[0])
            else:
                had.end(0)
            assert await had.store.commit([Commit(0, had.leases.held[0], Entry(0, 1, b"late"))]) == [None]
            assert await other.commit([Commit(0, lent[0])]) == [None if is_given_back else 0]

    asyncio.run(story())


def test_a_worker_that_cannot_renew_hands_out_nothing(redis: Server, tmp_path: Path) -> None:
    """Also where there is something to be fetched; what it has in flight goes on."""

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=1) as worker:
            worker.seed("http://a.example/", "http://b.example/")
            (visit,) = await worker.visits(1)
            leases = worker.frontier.exchange.renewal.leases
            (token,) = leases.held.values()
            leases.is_over(0, token)
            assert worker.frontier.next() is None
            assert visit.key in worker.frontier.in_flight

    asyncio.run(story())


def test_redis_takes_nothing_for_half_a_lease(redis: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is fetched, though the lease is renewed; and again when Redis has taken what there was."""

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=1) as worker:
            worker.seed("http://a.example/", "http://b.example/")
            (visit,) = await worker.visits(1)
            with redis.client() as client:
                client.config_set("maxmemory", "1")
                try:
                    worker.frontier.downloaded(visit, 0.0)
                    worker.frontier.done(visit, UrlState.FETCHED, status=200, row=1)
                    worker.checkpoint()
                    assert not worker.frontier.exchange.is_behind
                    await until_async(lambda: worker.frontier.exchange.waits_since, "Redis refuses it")
                    monkeypatch.setattr(worker.frontier.exchange, "_clock", lambda: time.monotonic() + 1000.0)
                    told: bool = worker.frontier.exchange.is_behind
                    assert told
                    assert worker.frontier.next() is None
                finally:
                    client.config_set("maxmemory", "0")
            assert await worker.visits(1)

    asyncio.run(story())


def test_what_is_lost_is_told(redis: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Pages of which Redis has not heard do not count, and are counted; one line of the log is enough for all."""
    urls = [f"http://{name}.example/" for name in "abcdefgh"]

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=4) as worker:
            worker.seed(*urls)
            visits = await worker.visits(len(urls))
            with redis.client() as client:
                for partition in range(4):
                    client.set(Keys("test", 4).base(partition) + "lease", f"7:{OTHER}")
            for row, visit in enumerate(visits, 1):
                worker.frontier.downloaded(visit, 0.0)
                worker.frontier.done(visit, UrlState.FETCHED, status=200, row=row)
            worker.checkpoint()
            with worker.frontier.partitions.reading(0):  # so that none goes yet
                await until_async(lambda: worker.heard.counts["cluster/lost_partitions"] == 4, "the loss")
                worker.checkpoint()
                worker.checkpoint()
            worker.checkpoint()
            assert sorted(worker.heard.stale_rows) == [*range(1, 9)]
            assert not worker.frontier.holdings.held

    asyncio.run(story())
    assert caplog.text.count("is not this worker's any more") == 1
