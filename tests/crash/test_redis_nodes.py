"""A Redis that is more than one server, and changes under a crawl: a master dies, a slot moves. Nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from console import command
from fleet import Worker, fleet, stored, urls_of, web_of
from partitions import totals
from redis_servers import cluster, moving_slot, program, valkey, watched
from waiting import until

pytestmark = pytest.mark.deep

SHARDS = 4


def fetched(client: redis.Redis | redis.RedisCluster) -> int:
    return totals(client, shards=SHARDS).fetched


def says(workers: list[Worker], text: str) -> bool:
    """Whether one of them has said so; if all have ended without, there is nothing to wait for any more."""
    are_over = all(worker.process.poll() is not None for worker in workers)
    has_said = any(text in worker.log for worker in workers)
    assert has_said or not are_over, workers[0].complaints
    return has_said


def test_failover(tmp_path: Path) -> None:
    """Every page is stored, once: those that the master took and its replica had not are fetched again, and what was
    stored of them does not count.
    """
    with (
        watched() as servers,
        web_of(500) as web,
        fleet(tmp_path, 2, web.url(0), servers.url, DOWNLOAD_DELAY=0.1) as workers,
        servers.master.client() as old,
        servers.replica.client() as new,
    ):
        until(lambda: fetched(old) > 50, "some pages")
        servers.cut()
        had = fetched(new)
        until(lambda: fetched(old) > had + 30, "pages of which the replica knows nothing")
        servers.master.kill()
        until(lambda: says(workers, "Waiting for Redis: "), "a worker says that it waits")
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].complaints
        checked = command("check-crawl", servers.url)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        pages = stored(workers)
    assert pages.keys() == urls_of(web)
    assert set(pages.values()) == {1}


def test_failover_of_confirmed_writes(tmp_path: Path) -> None:
    """With SITECRAWL_CLUSTER_REPLICAS what one server alone has does not count: nothing is stored twice."""
    settings = {"DOWNLOAD_DELAY": 0.1, "SITECRAWL_CLUSTER_REPLICAS": 1}
    with (
        watched() as servers,
        web_of(250) as web,
        fleet(tmp_path, 1, web.url(0), servers.url, **settings) as workers,
        servers.master.client() as old,
    ):
        until(lambda: fetched(old) > 50, "some pages")
        servers.cut()
        until(lambda: says(workers, "0 replicas have what was written"), "a worker says that it waits")
        servers.master.kill()
        until(servers.has_taken_over, "the replica is master")
        servers.mend()
        assert workers[0].wait() == 0, workers[0].complaints
        pages = stored(workers)
    assert pages.keys() == urls_of(web)
    assert set(pages.values()) == {1}


@pytest.mark.parametrize("runs", [program, valkey])
def test_slots_move(runs: Callable[[], str], tmp_path: Path) -> None:
    """While a half of a shard is on one node and a half on another, nobody touches it."""
    with (
        cluster(runs=runs()) as nodes,
        web_of(250) as web,
        fleet(tmp_path, 1, web.url(0), nodes[0].url, DOWNLOAD_DELAY=0.1) as workers,
        redis.RedisCluster.from_url(nodes[0].url) as client,
    ):
        until(lambda: fetched(client) > 50, "some pages")
        for shard in range(SHARDS):
            with moving_slot(nodes, f"sitecrawl:{{generic.{shard}}}:state"):
                until(lambda: says(workers, "a slot is on its way to another node"), "a worker says that it waits")
        assert workers[0].wait() == 0, workers[0].complaints
        pages = stored(workers)
    assert pages.keys() == urls_of(web)
    assert set(pages.values()) == {1}
