"""Workers that are killed, paused or cut off, and a Redis that restarts: every page is stored, each once."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from drawn import SEED
from fleet import Worker, fleet, stored, urls_of, web_of
from partitions import steps, totals
from redis_servers import cluster, server
from waiting import until

pytestmark = pytest.mark.deep

PAGES = 1_500


def test_kills_and_a_restart_of_redis(tmp_path: Path) -> None:
    """Workers are killed again and again, and Redis once: the same pages as one process gets, each once."""
    random = Random(SEED)
    with (
        server() as started,
        web_of(PAGES) as web,
        fleet(tmp_path, 2, web.url(0), started.url) as workers,
        started.client() as client,
    ):
        for number in range(6):
            worker, before = workers[number % 2], totals(client).fetched
            until(partial(has_more, client, before, workers), "some more pages")
            later = steps(client) + random.randint(5, 20)
            until(partial(has_gone_on, client, later, workers), "some more steps")  # any one is a fact of the test
            if number == 3:
                started.kill()
                until(lambda: waits_for_redis(workers), "a worker has found Redis gone")
                started.start()
            if worker.process.poll() is None:
                worker.kill()
            worker.start()
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].complaints
        pages = stored(workers)
    assert set(pages) == urls_of(web)
    assert [url for url, times in pages.items() if times > 1] == []


def waits_for_redis(workers: list[Worker]) -> bool:
    """Whether one has said so, or none is left that could."""
    return have_ended(workers) or any("Waiting for Redis: " in worker.log for worker in workers)


def has_more(client: Any, pages: int, workers: list[Worker]) -> bool:
    """Whether more pages than so many have been fetched, or nobody is left who could."""
    return totals(client).fetched > pages or have_ended(workers)


def has_gone_on(client: Any, number: int, workers: list[Worker]) -> bool:
    """Whether Redis has run so many scripts, or nobody is left who could ask for one."""
    return steps(client) >= number or have_ended(workers)


def have_ended(workers: list[Worker]) -> bool:
    return all(worker.process.poll() is not None for worker in workers)


def test_paused_worker(tmp_path: Path) -> None:
    """A worker stops for longer than its leases last: others take over, and what it says too late does no harm."""
    settings = {"SITECRAWL_LEASE_SECONDS": 2}
    with server() as started, web_of(600) as web, fleet(tmp_path, 2, web.url(0), started.url, **settings) as workers:
        with started.client() as client:
            until(lambda: totals(client).fetched > 50, "some pages")
            workers[0].send(signal.SIGSTOP)
            assert workers[1].wait() == 0
            workers[0].send(signal.SIGCONT)
            assert workers[0].wait() == 0
        assert "'cluster/lost_partitions': " in workers[0].log  # said in numbers, and in one line
        assert workers[0].log.count("is not this worker's any more") == 1
        pages = stored(workers)
        assert set(pages) == urls_of(web)
        assert [url for url, times in pages.items() if times > 1] == []


def test_redis_cluster(tmp_path: Path) -> None:
    """Three nodes share the shards; every step stays in one slot."""
    with cluster() as nodes, web_of(400) as web, fleet(tmp_path, 2, web.url(0), nodes[0].url) as workers:
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].complaints
        pages = stored(workers)
        assert set(pages) == urls_of(web)
        assert set(pages.values()) == {1}
        sizes = [node.client().dbsize() for node in nodes]
        assert min(sizes) > 0
