"""A crawl on Redis, checked: what is sound is let pass at every moment, and what is not is named."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import pytest
from console import command
from pagestore_helpers import STARTED, exchange, page
from partitions import replayed
from redis_servers import Server
from sharing import ALL, CRAWL, FINGERPRINTS, PARTITIONS, Frozen, begin, dead, on_redis, stored, work

from sitecrawl.cluster.entries import pack_entry
from sitecrawl.cluster.steps import Keys
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.plugins.checking.redis_check import _Checked, check


def key(partition: int, name: str) -> str:
    return Keys(CRAWL, PARTITIONS).base(partition) + name


def checked(redis: Server, *directories: Path) -> _Checked:
    with on_redis(redis) as crawl:
        return check(crawl, directories)


@pytest.fixture
def workers(redis: Server, half_done: Frozen, tmp_path: Path) -> list[Path]:
    return half_done.thaw(tmp_path)


@pytest.fixture
def whole(redis: Server, finished: Frozen, tmp_path: Path) -> list[Path]:
    """Those of a crawl that has ended."""
    return finished.thaw(tmp_path)


class TestSound:
    def test_before_anything(self, redis: Server) -> None:
        begin(redis)
        assert checked(redis) == _Checked()

    def test_half_done(self, redis: Server, workers: list[Path]) -> None:
        """Killed workers are no fault, nor pages of theirs of which Redis has not heard."""
        assert checked(redis, *workers) == _Checked()
        work(redis, workers[1:], 40)
        dead(redis)
        assert checked(redis, *workers) == _Checked()

    def test_at_the_end(self, redis: Server, whole: list[Path]) -> None:
        assert checked(redis, *whole) == _Checked()
        assert sorted(url for worker in whole for url in stored(worker)) == sorted(ALL)

    def test_while_workers_are_at_work(self, redis: Server, workers: list[Path]) -> None:
        """What one key says of another is of another moment."""
        with redis.client() as client:
            client.zadd(key(0, "workers"), {"ab" * 8: 1000 * time.time() + 60_000})
            client.hincrby(key(1, "state"), "entry", 3)
        found = checked(redis, *workers)
        assert found.faults == []
        assert "workers are at work" in found.notes[0]


class TestFaults:
    """Each is named, with the partition that it is in."""

    def test_a_key(self, redis: Server, workers: list[Path]) -> None:
        with redis.client() as client:
            client.delete(key(1, "tokens"))
            client.set(key(1, "tokens"), "x")
            client.hset(key(2, "state"), "tally", b"\xc1")
            client.hset(key(2, "senders"), "one", 1)
            client.rpush(key(3, "inbox"), "no bundle")
            client.set(key(3, "lease"), "nobody's")
            client.hset(key(4, "crawl"), "order", "dfs")
            client.hdel(key(4, "crawl"), "spider")
            client.hset(key(0, "trusted"), "one", msgpack.packb([1.0]))
            client.zadd(key(0, "workers"), {"one": 1e30})
        found = checked(redis).faults
        for wanted in (
            "partition 1: tokens: it is a string, and should be a hash",
            "partition 2: state 'tally': it is not what a worker writes",
            "partition 2: senders 'one': it is not what a worker writes",
            "partition 3: inbox 'no bundle': it is not what a worker writes",
            "partition 3: lease: it is not what a worker writes",
            "partition 4: crawl 'order': it is not what a worker writes",
            "partition 4: crawl 'spider': it is missing",
            "partition 0: trusted 'one': it is not what a worker writes",
            "partition 0: workers 'one': its time never comes",
        ):
            assert wanted in found

    def test_what_one_key_says_of_another(self, redis: Server, workers: list[Path]) -> None:
        with redis.client() as client:
            entry = int(client.hget(key(1, "state"), "entry") or 0)
            client.hset(key(1, "state"), "entry", entry + 3)
            token = int(client.get(key(2, "token")) or 0)
            client.hsetnx(key(2, "tokens"), str(token), 0)  # lent just before the kill, it has none yet
            client.set(key(2, "token"), 5)
            client.set(key(3, "lease"), "7:someone")
            client.hset(key(4, "senders"), "0", 10_000)
            client.hincrby(key(0, "state"), "arrived", 2)
            arrived = client.llen(key(0, "inbox"))
        found = "\n".join(checked(redis).faults)
        assert (
            f"partition 1: state 'entry': it is {entry + 3}, and the newest that came with a token is {entry}"
            in found
        )
        assert f"partition 2: token: it is 5, and entries came with {token}" in found
        assert "partition 3: lease: it is of token 7, and the newest is" in found
        assert "partition 4: senders '0': 10,000 bundles came of" in found
        assert f"partition 0: inbox: it has {arrived} bundles of links, and there should be {arrived + 2}" in found

    def test_the_log(self, redis: Server, whole: list[Path]) -> None:
        """Entries that cannot be read, rows that do not agree, and entries that are missing."""
        with redis.client() as client:
            logs: Any = {number: client.lrange(key(number, "log"), 0, -1) for number in range(PARTITIONS)}
            assert all(len(entries) > 3 for entries in logs.values())
            client.lset(key(0, "log"), 0, logs[0][0][:-3])
            facts, rows = replayed(logs[1], fingerprint=FINGERPRINTS.url)
            host = next(row for row in rows if row[0] == "hosts")
            client.rpush(key(1, "log"), pack_entry(facts, {(host[0], host[1]): None}))
            client.lset(key(2, "log"), 0, pack_entry(facts, {(host[0], host[1]): host[2]}))
            client.ltrim(key(3, "log"), 0, 0)  # of more, the rest may have changed no number
        found = checked(redis).faults
        assert "partition 0: log: 1 entries and 0 rows cannot be read" in found
        assert any(
            one.startswith("partition 1: db/hosts: 1 hosts that URLs belong to are missing") for one in found
        ), found
        assert "partition 2: log: 0 entries and 1 rows cannot be read" in found
        assert any(one.startswith("partition 3: state 'tally': it counts") for one in found)
        assert not any(one.startswith("partition 4") for one in found)

    def test_stored_pages(self, redis: Server, whole: list[Path]) -> None:
        """Those that are nowhere, those that nobody knows, and those that are stored twice."""
        gone = len(stored(whole[1]))
        (fault,) = checked(redis, whole[0]).faults
        assert f"{gone} URLs count as stored, and are not" in fault
        copy = whole[0].parent / "copy"
        shutil.copytree(whole[0], copy)
        (fault,) = checked(redis, *whole, copy).faults
        assert f"{len(stored(copy))} pages are stored more than once" in fault


def test_the_command(redis: Server, whole: list[Path], tmp_path: Path) -> None:
    """The workers' directories may be named by the one that they are below."""
    words = ("check-crawl", redis.url, "-s", f"SITECRAWL_CLUSTER_CRAWL={CRAWL}")
    said = command(*words, str(tmp_path))
    assert (said.returncode, said.stdout) == (0, f"The crawl 'shared' on Redis at {redis.url} is sound\n")
    shutil.rmtree(whole[1])
    said = command(*words, str(tmp_path))
    assert said.returncode == 1
    assert said.stdout.endswith("has 1 fault\n")
    assert command(*words[:2]).returncode == 2


def test_pages_behind_the_last_checkpoint(redis: Server, workers: list[Path]) -> None:
    """A kill between the page store's commit and the database's leaves them: they do not count, and are no fault."""
    behind = exchange("http://h0.example/behind", started=STARTED + 10**6)
    with closing(WarcStore(workers[0])) as pages:
        pages.put(behind, page(behind))
        pages.checkpoint()
    assert checked(redis, *workers) == _Checked()
