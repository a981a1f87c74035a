"""Whatever is spoilt of a crawl on Redis, it is mended: its workers go on, and every page is stored once."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from console import command
from drawn import SEED
from killing import killed_at
from pagestore_helpers import STARTED, exchange, page
from redis_damages import spoil
from redis_servers import Server, lasting
from sharing import ALL, CRAWL, PARTITIONS, Frozen, dead, on_redis, stored, work

from sitecrawl.base.errors import CrawlDirectoryInUse, FormatMismatch, StorageError
from sitecrawl.cluster.keys import Keys
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.plugins.checking import redis_repair as repairing
from sitecrawl.plugins.checking.crawl import check as check_directory
from sitecrawl.plugins.checking.redis_check import REPAIR, check
from sitecrawl.plugins.checking.redis_repair import Repair, repair
from sitecrawl.urls.fingerprint import HASH_NAME


def key(partition: int, name: str) -> str:
    return Keys(CRAWL, PARTITIONS).base(partition) + name


@pytest.fixture
def workers(redis: Server, half_done: Frozen, tmp_path: Path) -> list[Path]:
    return half_done.thaw(tmp_path)


@pytest.fixture
def whole(redis: Server, finished: Frozen, tmp_path: Path) -> list[Path]:
    """Those of a crawl that has ended."""
    return finished.thaw(tmp_path)


def repaired(redis: Server, *directories: Path) -> Repair:
    with on_redis(redis) as crawl:
        return repair(crawl, directories)


def faults(redis: Server, *directories: Path) -> list[str]:
    with on_redis(redis) as crawl:
        return check(crawl, directories).faults


def go_on(redis: Server, *workers: Path) -> Counter[str]:
    """To the end. Returns how often each page is stored."""
    work(redis, workers)
    dead(redis)
    return Counter(url for worker in workers for url in stored(worker))


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_whatever_is_spoilt(redis: Server, workers: list[Path], number: int) -> None:
    """The crawl is sound after it, goes on to its end, and every page is stored once."""
    random = Random(f"{SEED} {number}")
    with redis.client() as client:
        spoils = [spoil(client, random) for _ in range(random.randint(1, 3))]
    assert repaired(redis, *workers).after == [], spoils
    assert go_on(redis, *workers) == Counter(ALL), spoils
    assert faults(redis, *workers) == [], spoils


def test_what_is_sound_is_left_alone(redis: Server, workers: list[Path]) -> None:
    with redis.client() as client:
        before = lasting(client)
        assert repaired(redis, *workers) == Repair([])
        assert lasting(client) == before


@pytest.mark.deep
def test_without_directories(redis: Server, workers: list[Path]) -> None:
    """Redis may be mended alone; it is said what would have been better."""
    with redis.client() as client:
        client.delete(key(2, "log"))
    found = repaired(redis)
    assert found.after == []
    assert any(note.startswith("name the workers' directories") for note in found.notes)


def test_workers_are_not_disturbed(redis: Server, workers: list[Path]) -> None:
    """While one is alive nothing is repaired."""
    with redis.client() as client:
        client.zadd(key(0, "workers"), {"ab" * 8: 1000 * time.time() + 60_000})
        client.hincrby(key(1, "state"), "entry", 3)
        leases = [client.get(key(partition, "lease")) for partition in range(PARTITIONS)]
        with pytest.raises(StorageError, match="are at work"):
            repaired(redis, *workers)
        assert [client.get(key(partition, "lease")) for partition in range(PARTITIONS)] == leases


def test_a_worker_that_comes_just_then(redis: Server, workers: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes first, and may have all partitions."""
    with redis.client() as client:
        client.hincrby(key(1, "state"), "entry", 3)
        lend = repairing._Mending._lend

        def come(mending: repairing._Mending, partition: int) -> None:
            lend(mending, partition)
            client.zadd(key(0, "workers"), {"ab" * 8: 1000 * time.time() + 60_000})

        monkeypatch.setattr(repairing._Mending, "_lend", come)
        with pytest.raises(StorageError, match="are at work"):
            repaired(redis, *workers)
        assert client.exists(*(key(partition, "lease") for partition in range(PARTITIONS))) == 0


@pytest.mark.parametrize(
    "moment", ["_write_back", *(pytest.param(step, marks=pytest.mark.deep) for step in ("_drop_spoilt", "_release"))]
)
def test_a_repair_that_is_killed(
    redis: Server, workers: list[Path], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it had done by then: no worker gets anything, the check says why, and the next repair ends it."""

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with redis.client() as client:
        client.delete(key(1, "log"))
        client.set(key(2, "senders"), "x")
    with monkeypatch.context() as patched:
        patched.setattr(repairing._Mending, moment, die)
        with pytest.raises(Killed):
            repaired(redis, *workers)
    with redis.client() as client:
        held = [client.get(key(partition, "lease")) for partition in range(PARTITIONS)]
    assert all(lease is not None and lease.endswith(f":{REPAIR}".encode()) for lease in held)
    assert (
        any("a repair has begun, and has not ended" in fault for fault in faults(redis)) or moment == "_drop_spoilt"
    )
    assert repaired(redis, *workers).after == []


def command_of(redis: Server, folder: Path) -> list[str]:
    """The words of a repair."""
    return ["check-crawl", "--repair", redis.url, str(folder), "-s", f"SITECRAWL_CLUSTER_CRAWL={CRAWL}"]


def test_a_kill_at_every_step(
    redis: Server, workers: list[Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of the process, and of the next one a step later: at last all is mended, and every page comes to be stored."""
    log = tmp_path_factory.mktemp("killed") / "log"
    with redis.client() as client:
        client.delete(key(0, "log"), key(1, "log"))
    for point in (
        "plugins.checking.redis_repair._Mending._write: eval",
        "plugins.checking.redis_repair._Mending._write: answer",
        "plugins.checking.worker_store.WorkerStore.forget_partitions: batch",
    ):
        killed_at(point, command_of(redis, tmp_path), log)
    assert repaired(redis, *workers).after == []
    assert go_on(redis, *workers) == Counter(ALL)


class TestPages:
    @pytest.mark.deep
    def test_a_disk_that_is_lost(self, redis: Server, whole: list[Path]) -> None:
        """Its pages are fetched again, by whoever goes on."""
        lost = stored(whole[1])
        shutil.rmtree(whole[1])
        where = (redis.url, str(whole[0].parent), "-s", f"SITECRAWL_CLUSTER_CRAWL={CRAWL}")
        words = ("check-crawl", "--repair", *where)
        said = command(*words)
        assert (said.returncode, said.stderr) == (0, "")
        assert f"\n{len(lost)} pages are stored nowhere any more" in said.stdout
        assert go_on(redis, whole[0]) == Counter(ALL)
        dead(redis)
        assert "stored nowhere" not in command(*words).stdout

    @pytest.mark.deep
    def test_pages_that_are_stored_twice(self, redis: Server, whole: list[Path]) -> None:
        """By two workers, or by one: the last stays; the others are none, in the index of their workers."""
        copy = whole[0].parent / "copy"
        shutil.copytree(whole[0], copy)
        again = exchange(stored(whole[1])[0], started=STARTED + 10**6)
        with (
            closing(Database(whole[1] / "db", hash_name=HASH_NAME)) as database,
            closing(WarcStore(whole[1])) as pages,
        ):
            pages.put(again, page(again))
            batch = database.batch()
            pages.prepare(batch)
            database.write(batch)
        log = whole[0].parent / "log"
        killed_at(
            "plugins.checking.worker_store.WorkerStore.withdraw: batch", command_of(redis, whole[0].parent), log
        )
        found = repaired(redis, *whole, copy)
        assert found.after == []
        assert any("pages count as `other` now" in note for note in found.notes)
        assert Counter(url for one in (*whole, copy) for url in stored(one)) == Counter(ALL)
        assert all(check_directory(one).is_sound for one in (*whole, copy))

    def test_links_are_read_again(self, redis: Server, workers: list[Path]) -> None:
        """Where anything is lost, each worker's next start does that."""
        with redis.client() as client:
            client.delete(key(3, "inbox"), key(3, "log"))
        assert (
            "the next starts of these workers read the links of their stored pages again"
            in repaired(redis, *workers).notes
        )
        for worker in workers:
            with closing(Database(worker / "db", hash_name=HASH_NAME)) as database:
                assert database.get("meta", LINKS_READ) == bytes(8)

    def test_a_directory_that_cannot_be_used(self, redis: Server, workers: list[Path], tmp_path: Path) -> None:
        """Another crawl's, or a running worker's: it is refused before anything is changed."""
        foreign = CrawlDirectory(tmp_path / "foreign", "test", key=b"x" * 16)
        with pytest.raises(FormatMismatch, match="does not belong to the crawl 'shared'"):
            repaired(redis, foreign.path)
        with closing(Database(workers[0] / "db", hash_name=HASH_NAME)), pytest.raises(CrawlDirectoryInUse):
            repaired(redis, *workers)


def test_the_limit_of_pages_is_reckoned_anew(redis: Server, workers: list[Path]) -> None:
    """The next worker has another account, as what each partition may fetch was lost with its facts; what
    the limit was changed to by hand holds on.
    """
    with redis.client() as client:
        client.hset(key(0, "run"), mapping={"account": 3, "max_pages": 100, "said": 50, "limits": "x"})
        client.hset(key(1, "state"), "tally", "x")
        assert repaired(redis).after == []
        assert client.hgetall(key(0, "run")) == {b"account": b"4", b"max_pages": b"100", b"said": b"50"}


@pytest.mark.deep
def test_the_command(redis: Server, workers: list[Path], tmp_path: Path) -> None:
    """It says what it found and what is left."""
    with redis.client() as client:
        client.set(key(1, "senders"), "x")
    mended = command("check-crawl", "--repair", redis.url, str(tmp_path), "-s", f"SITECRAWL_CLUSTER_CRAWL={CRAWL}")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    first, *_, last = mended.stdout.splitlines()
    assert first == "Found before the repair: 1"
    assert last == f"The crawl 'shared' on Redis at {redis.url} is sound"
