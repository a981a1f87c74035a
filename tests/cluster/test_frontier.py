"""A worker's frontier on a real Redis, without Scrapy around it: what is durable when, and what faults cost."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from cluster_helpers import Steps, audit, seed
from cluster_workers import Worker, working
from redis_servers import Server
from waiting import until_async

from sitecrawl.cluster.journal import Journal
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.visit import Visit


def test_what_is_left_of_a_parcel_is_durable_before_it_is_sent(redis: Server, tmp_path: Path) -> None:
    """A restart would be told that the parcel has been taken: with a stale page in it, that page would be stored
    twice and its credit be spent twice.
    """

    async def run() -> None:
        async with working(redis, tmp_path) as worker:
            await worker.seed("http://a.example/", "http://b.example/")
            stale, good = sorted(await worker.visits(2), key=lambda visit: visit.url)
            for visit in (stale, good):
                worker.frontier.done(visit, UrlState.FETCHED, status=200)
            steps.expire(0, token_of(worker, stale))
            taken_then = []

            def checkpoint() -> None:
                taken_then.append(steps.state(0).get("fetched", 0))
                worker.checkpoint()

            worker.heard.checkpoint = checkpoint
            steps.call(0, "lease", "two", want=1, hosts=1, span=1, most=1)
            worker.checkpoint()
            await until_async(lambda: steps.state(0).get("fetched"), "Redis has the page")
            assert taken_then == [0]
            (parcel,) = Journal(worker.database).load()
            assert [outcome.key for outcome in parcel.outcomes] == [good.key]
        audit(steps)

    with redis.client() as client:
        steps = Steps(client, shards=1)
        asyncio.run(run())


LATE = 2_000_000_000_000
"""A token that no shard has come to: they count from the time in milliseconds."""


def token_of(worker: Worker, visit: Visit) -> int:
    return next(token for (_, token), lease in worker.frontier.hosts.leases.items() if visit.key in lease.open)


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_redis_that_cannot_be_written_is_asked_seldom(fault: str, redis: Server, tmp_path: Path) -> None:
    """It still answers what writes nothing; that is not taken for the end of the fault, and there is one warning."""

    async def run() -> None:
        async with working(redis, tmp_path) as worker:
            await worker.seed("http://a.example/", "http://b.example/")
            for visit in await worker.visits(2):
                worker.frontier.done(visit, UrlState.FETCHED, status=200)
            if fault == "full":
                client.config_set("maxmemory", "1")
            else:
                client.replicaof("127.0.0.1", 1)
            client.config_resetstat()
            begun = time.monotonic()
            worker.checkpoint()
            await until_async(lambda: worker.frontier.pump.shard_calls.failures >= 4, "four attempts in vain")
            assert time.monotonic() - begun > 0.5  # the last of the pauses between them
            calls = {name: found["calls"] for name, found in client.info("commandstats").items()}
            assert 2 <= calls["cmdstat_evalsha"] <= 10
            client.config_set("maxmemory", "0")
            client.replicaof("NO", "ONE")
            await until_async(lambda: steps.state(0).get("fetched") == 2, "Redis has both pages")
        audit(steps)

    with redis.client() as client:
        steps = Steps(client, shards=1)
        asyncio.run(run())


def test_lease_of_a_lost_answer_comes_back(redis: Server, tmp_path: Path) -> None:
    """Also where another shard has lent this worker something under the same token."""

    async def run() -> None:
        async with working(redis, tmp_path, shards=2) as worker:
            hosts = {steps.keys.shard_of(name): name for name in (f"h{n}.example" for n in range(20))}
            for shard in range(2):
                steps.client.hset(steps.keys.base(shard) + "state", "token", LATE - 1)
            await worker.seed(f"http://{hosts[0]}/")
            (visit,) = await worker.visits(1)
            pump = worker.frontier.pump
            steps.add(seed(f"http://{hosts[1]}/"))
            assert steps.lease(1, pump.shard_calls.session)[0][0] == token_of(worker, visit) == LATE
            pump.shard_calls.fault(ConnectionError("lost"))
            pump.kick()
            await until_async(lambda: not steps.client.exists(f"{steps.keys.base(1)}l:{LATE}"), "it has come back")
            assert steps.client.exists(f"{steps.keys.base(0)}l:{LATE}")
        audit(steps)

    with redis.client() as client:
        steps = Steps(client, shards=2)
        asyncio.run(run())


def test_a_cancellation_that_was_swallowed_is_said_again(redis: Server, tmp_path: Path) -> None:
    """Before Python 3.12 `asyncio.wait_for` may swallow one; a worker ends all the same."""
    heard: list[str] = []

    async def deaf() -> None:
        while len(heard) < 2:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                heard.append("cancelled")

    async def run() -> None:
        async with working(redis, tmp_path) as worker:
            worker.frontier.pump._tasks.append(asyncio.create_task(deaf()))
            await asyncio.wait_for(worker.frontier.pump.cease(), 30)
        assert heard == ["cancelled"] * 2

    asyncio.run(run())
