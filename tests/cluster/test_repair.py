"""A crawl on Redis that was spoilt is mended, and goes on. `tests/hostile/test_redis.py` has the workers to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cluster_helpers import Steps, audit, link, outcome, seed
from console import command
from crawling import PROJECT
from pagestore_helpers import exchange, page
from redis import ResponseError
from redis_damages import spoil
from redis_servers import Server
from waiting import until
from worker_directories import kinds, worker_directory

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.checking import check
from sitecrawl.cluster.audit import audit as faults_of
from sitecrawl.cluster.connection import is_transient
from sitecrawl.cluster.facts import REPAIR
from sitecrawl.cluster.in_transit import outbox_of
from sitecrawl.cluster.parcel import ParcelLink
from sitecrawl.cluster.repair import repair
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.urls.fingerprint import HASH_NAME

SEED = os.environ.get("DAMAGE_SEED", "standing")
SHARDS = 3
HOSTS = [f"h{number}.example" for number in range(6)]
URLS = [f"http://{HOSTS[number % 6]}/{'ab'[number % 2]}/{number}" for number in range(60)]


@pytest.fixture
def walk(redis: Server) -> Iterator[Walk]:
    with redis.client() as client:
        yield Walk(Steps(client, shards=SHARDS))


class Walk:
    """A crawl over `URLS`, step by step."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.client: Any = steps.client
        self.fetched: list[str] = []
        steps.add(seed(URLS[0]))

    @staticmethod
    def links(url: str) -> list[ParcelLink]:
        number = URLS.index(url)
        return [link(URLS[to]) for to in (2 * number + 1, 2 * number + 2, 7 * number % 60) if to < len(URLS)]

    def go(self, session: str, most: int = len(URLS)) -> None:
        """Until nothing is lent any more, or `most` pages have been fetched."""
        before = -1
        while before < len(self.fetched) < most:
            before = len(self.fetched)
            for shard in range(SHARDS):
                self._fetch(shard, session)

    def _fetch(self, shard: int, session: str) -> None:
        for lease in self.steps.lease(shard, session, want=3):
            for fields in lease[6]:
                self._fetch_one(shard, lease, fields, session)
            self.steps.release(shard, lease, session=session)

    def _fetch_one(self, shard: int, lease: list[Any], fields: list[Any], session: str, *, forwards: bool = True):
        url = fields[1].decode()
        parcel = self.steps.parcel(shard, [outcome(lease, fields, *self.links(url))], session)
        assert self.steps.send(parcel, session) == 1
        self.fetched.append(url)
        if forwards:
            self.steps.forward(parcel, session)

    def die(self) -> None:
        """Both workers, with URLs lent to them, and something in an outbox."""
        for shard in range(SHARDS):
            self.steps.lease(shard, "two", want=2)
            for lease in self.steps.lease(shard, "one", want=1):
                self._fetch_one(shard, lease, lease[6][0], "one", forwards=False)
            self.client.delete(self.steps.keys.base(shard) + "sessions")

    def take_over(self) -> None:
        """As a worker does that comes: what the dead have left is forwarded, what they were lent is returned."""
        for shard in range(SHARDS):
            base = self.steps.keys.base(shard)
            for owner in map(bytes.decode, self.client.smembers(base + "outs")):
                for target, forward in outbox_of(shard, owner, self.client.hgetall(f"{base}out:{owner}")):
                    self.steps._apply(target, forward.parcel(), "three")
                    field = f"{forward.stream}:{forward.seq}:{target}"
                    self.steps.call(shard, "renew", "three", tokens=[], arrived=[field], owner=owner)
            for token in self.client.zrange(base + "leases", 0, -1):
                self.steps.expire(shard, int(token))


@pytest.mark.parametrize("number", range(8))
def test_whatever_is_spoilt(number: int, walk: Walk, redis: Server) -> None:
    """The repair leaves a crawl that is sound, goes on to its end, and fetches nothing twice that it knows of."""
    random, params = Random(f"{SEED} {number}"), {"url": redis.url}
    walk.go("one", most=random.randrange(5, 50))
    walk.die()
    assert faults_of(params, "test") == ([], False)
    spoils = [spoil(walk.client, random) for _ in range(random.randint(1, 3))]
    found = repair(params, "test", [])
    assert found.after == [], spoils
    walk.take_over()
    walk.go("three", most=2 * len(URLS))
    audit(walk.steps)
    assert walk.steps.waiting() == set()
    lost = [note for note in found.notes if "are lost" in note or "to be done" in note]
    if not lost:
        assert len(walk.fetched) == len(set(walk.fetched)), spoils


def test_what_is_lost_is_said(walk: Walk, redis: Server) -> None:
    """URLs whose text stands nowhere any more are counted, and it is said what brings them back."""
    walk.go("one", most=10)
    walk.die()
    shard = next(n for n in range(SHARDS) if walk.client.hlen(walk.steps.keys.base(n) + "urls") > 1)
    number = walk.client.hlen(walk.steps.keys.base(shard) + "urls")
    walk.client.delete(walk.steps.keys.base(shard) + "urls")
    found = repair({"url": redis.url}, "test", [])
    assert f"{number} URLs that waited are lost: no key has their text any more" in found.notes
    assert any(note.startswith("name the workers' directories") for note in found.notes)
    assert any("missing: the lambda page has them" in note for note in found.notes)
    audit(walk.steps)


def test_workers_are_not_disturbed(walk: Walk, redis: Server) -> None:
    """While one is alive nothing is repaired, and it goes on."""
    walk.client.hincrby(walk.steps.keys.base(0) + "state", "waiting", 3)
    with pytest.raises(StorageError, match="are at work"):
        repair({"url": redis.url}, "test", [])
    walk.go("one")
    assert set(walk.fetched) == set(URLS)


def test_while_a_repair_has_not_ended(walk: Walk, redis: Server) -> None:
    """Workers wait and change nothing; the check says why, and the next repair ends it."""
    params = {"url": redis.url}
    walk.die()
    for shard in range(SHARDS):
        walk.client.hset(walk.steps.keys.base(shard) + "crawl", REPAIR, "1")
    before = walk.client.hgetall(walk.steps.keys.base(0) + "state")
    with pytest.raises(ResponseError, match="check-crawl --repair") as refused:
        walk.steps.lease(0)
    assert is_transient(refused.value)
    assert walk.client.hgetall(walk.steps.keys.base(0) + "state") == before
    assert "a repair has begun, and has not ended" in faults_of(params, "test")[0][0]
    assert repair(params, "test", []).after == []
    assert faults_of(params, "test") == ([], False)
    walk.take_over()
    walk.go("three")
    assert set(walk.fetched) == set(URLS)


def test_a_repair_that_is_killed(walk: Walk, redis: Server) -> None:
    """Whatever it had done by then, the next one ends it."""
    walk.go("one", most=30)
    walk.die()
    for shard in range(SHARDS):
        walk.client.delete(walk.steps.keys.base(shard) + "hosts", walk.steps.keys.base(shard) + "state")
    params, first = {"url": redis.url}, walk.steps.keys.base(0) + "crawl"
    code = f"from sitecrawl.cluster.repair import repair; repair({params!r}, 'test', [])"
    with subprocess.Popen([sys.executable, "-c", code], cwd=PROJECT) as process:
        until(lambda: walk.client.hexists(first, REPAIR) or process.poll() is not None, "the repair has begun")
        process.kill()
    assert repair(params, "test", []).after == []
    walk.take_over()
    walk.go("three")
    assert sorted(walk.fetched) == sorted(URLS)


def test_no_shard_knows_the_crawl(walk: Walk, redis: Server) -> None:
    """Without the key of the fingerprints nobody can go on: that is said, and nothing is touched."""
    walk.die()
    for shard in range(SHARDS):
        walk.client.hdel(walk.steps.keys.base(shard) + "crawl", "key")
    before = {name: walk.client.dump(name) for name in walk.client.keys("*")}
    with pytest.raises(StorageError, match=r"was begun with \(key\)"):
        repair({"url": redis.url}, "test", [])
    assert {name: walk.client.dump(name) for name in walk.client.keys("*")} == before


class TestDirectories:
    """What the workers have stored, and have yet to tell."""

    def test_pages_that_redis_forgot(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """What is stored counts as fetched, and nothing is stored again; the links are read once more."""
        walk.go("one", most=20)
        walk.die()
        job = worker_directory(tmp_path / "w", dict.fromkeys(walk.fetched, 1.0))
        walk.client.delete(*(name for name in walk.client.keys("*") if b"}:done:" in name))
        found = repair({"url": redis.url}, "test", [job])
        assert found.after == []
        assert f"{len(walk.fetched)} pages that workers have stored count as fetched now" in found.notes
        with closing(Database(job / "db", hash_name=HASH_NAME)) as database:
            assert database.get("meta", LINKS_READ) == bytes(8)
        walk.take_over()
        walk.go("three")
        assert sorted(walk.fetched) == sorted(URLS)
        assert walk.steps.waiting() == set()

    def test_parcels_whose_numbers_are_forgotten(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """A parcel that was taken is a repetition after the repair, too: its page is not withdrawn."""
        shard = walk.steps.keys.shard_of(HOSTS[0])
        (lease,) = walk.steps.lease(shard)
        parcel = walk.steps.parcel(shard, [outcome(lease, lease[6][0], *walk.links(URLS[0]))])
        assert walk.steps.send(parcel) == 1
        walk.die()
        walk.client.delete(walk.steps.keys.base(shard) + "streams")
        walk.client.hset(walk.steps.keys.base(shard) + "state", "waiting", "x")
        job = worker_directory(tmp_path / "w", {URLS[0]: 1.0}, parcel)
        assert repair({"url": redis.url}, "test", [job]).after == []
        assert walk.steps.send(parcel) == 0

    def test_what_had_arrived_arrives_once(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """A worker forwards a parcel's links again: shards that forgot their streams know them all the same."""
        shard = walk.steps.keys.shard_of(HOSTS[0])
        (lease,) = walk.steps.lease(shard)
        parcel = walk.steps.parcel(shard, [outcome(lease, lease[6][0], *walk.links(URLS[0]))])
        assert walk.steps.send(parcel) == 1
        walk.steps.forward(parcel)
        for number in range(SHARDS):
            walk.client.delete(walk.steps.keys.base(number) + "sessions", walk.steps.keys.base(number) + "streams")
        job = worker_directory(tmp_path / "w", {URLS[0]: 1.0}, parcel)
        assert repair({"url": redis.url}, "test", [job]).after == []
        assert walk.steps.send(parcel) == 0
        walk.steps.forward(parcel)
        audit(walk.steps)

    def test_a_page_that_is_yet_to_be_told(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """Its URL waits again where its record is gone, for its worker's parcel will be refused."""
        shard = walk.steps.keys.shard_of(HOSTS[0])
        (lease,) = walk.steps.lease(shard)
        parcel = walk.steps.parcel(shard, [outcome(lease, lease[6][0], *walk.links(URLS[0]))])
        walk.client.delete(walk.steps.keys.base(shard) + "urls", walk.steps.keys.base(shard) + "sessions")
        job = worker_directory(tmp_path / "w", {URLS[0]: 1.0}, parcel)
        found = repair({"url": redis.url}, "test", [job])
        assert found.after == []
        assert "1 URLs of which a worker has yet to tell wait again" in found.notes
        assert walk.steps.waiting() == {URLS[0]}
        assert walk.steps.send(parcel) == [1]

    def test_a_page_that_two_have_stored(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """The one of which Redis has heard stays; the other counts as `other`, also if it was fetched later."""
        shard = walk.steps.keys.shard_of(HOSTS[0])
        (lease,) = walk.steps.lease(shard, "two")
        untold = walk.steps.parcel(shard, [outcome(lease, lease[6][0])], "two")
        walk.steps.expire(shard, lease[0])
        walk.go("one", most=1)
        walk.die()
        one = worker_directory(tmp_path / "one", {URLS[0]: 1.0, URLS[1]: 3.0})
        two = worker_directory(tmp_path / "two", {URLS[0]: 2.0, URLS[1]: 4.0}, untold)
        found = repair({"url": redis.url}, "test", [one, two])
        assert found.after == []
        assert "2 pages count as `other` now, as another worker has stored them too" in found.notes
        assert kinds(one) == {URLS[0]: "page", URLS[1]: "other"}
        assert kinds(two) == {URLS[0]: "other", URLS[1]: "page"}
        assert check(one).is_sound
        assert check(two).is_sound

    def test_pages_behind_the_last_checkpoint(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """The worker was killed before its database knew them: they do not count, and go as by its next start."""
        walk.go("one")
        walk.die()
        job = worker_directory(tmp_path / "w", {URLS[0]: 1.0})
        behind = exchange(URLS[1])
        with closing(WarcStore(job)) as store:
            store.put(behind, page(behind))
            store.checkpoint()
        assert len(kinds(job)) == 2
        assert repair({"url": redis.url}, "test", [job]).after == []
        assert kinds(job) == {URLS[0]: "page"}
        assert check(job).is_sound

    def test_another_crawls_directory(self, walk: Walk, redis: Server, tmp_path: Path) -> None:
        """It is refused before anything is changed."""
        walk.die()
        job = worker_directory(tmp_path / "w", {}, key=bytes(15) + b"x")
        with pytest.raises(FormatMismatch, match="does not belong to the crawl 'test'"):
            repair({"url": redis.url}, "test", [job])


def test_the_command(walk: Walk, redis: Server) -> None:
    """It says what it found and what is left; directories are taken with --repair alone."""
    walk.go("one", most=5)
    walk.die()
    walk.client.set(walk.steps.keys.base(1) + "hosts", "x")
    words = ("check-crawl", redis.url, "-s", "SITECRAWL_CLUSTER_CRAWL=test")
    asked = command(*words, "crawls/mine")
    assert asked.returncode == 2
    assert "workers' directories are for --repair" in asked.stderr + asked.stdout
    mended = command(*words, "--repair")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    first, *_, last = mended.stdout.splitlines()
    assert first == "Found before the repair: 1"
    assert last == f"The crawl 'test' on Redis at {redis.url} is sound"
    audit(walk.steps)


def test_a_host_that_nobody_would_ask(walk: Walk, redis: Server) -> None:
    """A host that has URLs waiting and is not on the workbench is named, and comes back."""
    params = {"url": redis.url}
    for shard in range(SHARDS):
        base = walk.steps.keys.base(shard)
        walk.client.delete(base + "sessions", base + "ready", base + "rest")
    (fault,) = faults_of(params, "test")[0]
    assert "ready: h0.example is there, or is not, against its record" in fault
    assert repair(params, "test", []).after == []
    walk.go("one")
    assert set(walk.fetched) == set(URLS)
