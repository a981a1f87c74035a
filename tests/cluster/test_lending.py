"""Who has which partitions: a worker that comes late gets its share, and one that has done all keeps what it has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import redis as redis_py
from bare_workers import Worker, working
from frontiers import FINGERPRINTS
from redis_servers import Server
from waiting import until_async

from sitecrawl.cluster.partition_store import Extent, PartitionStore
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.territory import Territory

SHARDS = 4


async def done(worker: Worker, *urls: str) -> None:
    """All there is has been fetched."""
    worker.seed(*urls)
    for visit in await worker.visits(len(urls)):
        worker.frontier.downloaded(visit, 0.0)
        worker.frontier.done(visit, UrlState.FETCHED, status=200)
    worker.checkpoint()
    await until_async(lambda: worker.has_finished() or worker.frontier.is_idle, "the end")


def held(*workers: Worker) -> tuple[int, ...]:
    """How many partitions each has, after their schedulers have looked once more."""
    for worker in workers:
        worker.has_finished()
    return tuple(len(worker.frontier.holdings.held) for worker in workers)


@pytest.mark.parametrize(("watch", "shares"), [(True, (2, 2)), (False, (4, 0))])
def test_a_worker_that_comes_when_all_is_done(
    tmp_path: Path, redis: Server, *, watch: bool, shares: tuple[int, int]
) -> None:
    """Where the crawl goes on it gets half of the partitions. Where it ends none moves: nobody would have it."""

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=SHARDS, watch=watch) as one:
            await until_async(lambda: held(one) == (SHARDS,), "all partitions")
            await done(one, "http://a.example/", "http://b.example/")
            async with working(redis, tmp_path / "two", shards=SHARDS, watch=watch) as two:
                await until_async(lambda: two.frontier.is_working, "another worker")
                later = one.frontier.exchange.commands + 40
                await until_async(
                    lambda: held(one, two) == shares and one.frontier.exchange.commands > later,
                    lambda: f"shares of {shares}, not {held(one, two)}",
                )

    asyncio.run(story())


def test_a_worker_without_work_is_lent_some(tmp_path: Path, redis: Server) -> None:
    """Also beyond its number; who has most keeps one. Both do nothing but what is said here."""
    hosts = ["a.example", "b.example", "c.example", "d.example", "e.example", "f.example", "g.example", "h.example"]
    partition = Territory(SHARDS, {}).partition
    of_each = {partition(FINGERPRINTS.host(host)): host for host in hosts}
    assert len(of_each) == SHARDS

    async def story() -> None:
        async with (
            working(redis, tmp_path / "one", shards=SHARDS) as one,
            working(redis, tmp_path / "two", shards=SHARDS) as two,
        ):
            one.seed(*(f"http://{host}/" for host in of_each.values()))
            fetched = set[str]()

            def fetch() -> bool:
                """Only one of them fetches."""
                one.checkpoint()
                two.checkpoint()
                if (visit := two.look()) is not None:
                    two.frontier.downloaded(visit, 0.0)
                    two.frontier.done(visit, UrlState.FETCHED, status=200)
                    fetched.add(visit.url)
                return len(fetched) == SHARDS - 1

            await until_async(fetch, lambda: f"three of four, not {fetched} with {held(one, two)}")
            assert [held.counts.states[UrlState.QUEUED] for held in one.frontier.holdings.held.values()].count(1) == 1

    asyncio.run(story())


def test_what_is_above_a_share_leaves_at_once(tmp_path: Path, redis: Server) -> None:
    """Two of four, together; one with a page in flight does not go, and asks for no checkpoint until that is done."""

    async def story() -> None:
        async with working(redis, tmp_path / "one", shards=SHARDS, watch=True) as one:
            await until_async(lambda: held(one) == (SHARDS,), "all partitions")
            one.seed(*(f"http://{letter}.example/" for letter in "abcdefgh"))
            visits = await one.visits(len("abcdefgh"))
            async with working(redis, tmp_path / "two", shards=SHARDS, watch=True) as two:
                await until_async(lambda: two.frontier.is_working, "another worker")
                mine = one.frontier.holdings.held.values()
                await until_async(lambda: any(place.is_leaving for place in mine), "one that leaves")
                assert sum(place.is_leaving for place in mine) == SHARDS // 2
                wants_change = [one.frontier.partitions.wants_change]
                for visit in visits:
                    one.frontier.downloaded(visit, 0.0)
                    one.frontier.done(visit, UrlState.FETCHED, status=200)
                wants_change.append(one.frontier.partitions.wants_change)
                assert wants_change == [False, True]
                await until_async(lambda: held(one, two) == (2, 2), lambda: f"half of them, not {held(one, two)}")

    asyncio.run(story())


def test_redis_goes_away_while_a_partition_comes(
    tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was lent, and cannot be read: the worker asks for it again, and does not renew what it has not got."""
    real = PartitionStore.extent

    async def goes_away(store: PartitionStore, partition: int) -> Extent:
        monkeypatch.setattr(PartitionStore, "extent", real)
        raise redis_py.ConnectionError("away")

    async def story() -> None:
        monkeypatch.setattr(PartitionStore, "extent", goes_away)
        async with working(redis, tmp_path / "one", lease_seconds=1000.0) as one:
            await until_async(lambda: one.heard.counts["cluster/faults"], "the fault")
            assert not one.frontier.exchange.renewal.leases.held
            await until_async(lambda: held(one) == (1,), "the partition")

    asyncio.run(story())
