"""A crawl on Redis in a directory, as one process has it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from database_files import database_at
from redis_servers import Server
from sharing import ALL, CRAWL, PARTITIONS, begin, fetched, on_redis, work

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster import outside
from sitecrawl.cluster.copy import Copying, copied
from sitecrawl.cluster.outside import opened
from sitecrawl.cluster.steps import Keys
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.frontier.urls.record import UrlState


def key(partition: int, name: str) -> str:
    return Keys(CRAWL, PARTITIONS).base(partition) + name


def test_a_copy_is_the_crawl(redis: Server, tmp_path: Path) -> None:
    """All that is known of every partition is there, and the readers of one process read it."""
    begin(redis)
    work(redis, [tmp_path / "worker-1", tmp_path / "worker-2"])
    with on_redis(redis) as crawl, copied(crawl) as directory, FrontierReader(directory) as reader:
        assert {record.url for _, record in reader.records()} == ALL
        assert reader.counts.fetched == len(ALL)
        assert sum(one.importance for one in reader.top_urls(len(ALL))) == pytest.approx(1, abs=1e-6)
    assert not directory.exists()


def test_in_the_middle(redis: Server, tmp_path: Path) -> None:
    """What waits does so there, too: in the queue, and in the counts."""
    begin(redis)
    work(redis, [tmp_path / "worker-1", tmp_path / "worker-2"], 20)
    with on_redis(redis) as crawl, copied(crawl) as directory, FrontierReader(directory) as reader:
        waiting = {url.url for url in reader.waiting()}
        assert waiting == {record.url for _, record in reader.records() if record.state == UrlState.QUEUED}
        assert reader.counts.fetched == fetched(redis) >= 20
        assert reader.counts.queued == len(waiting) == sum(one.waiting for one in reader.units() if not one.shape)


def test_a_log_that_is_replaced_meanwhile(redis: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition is read once more, whole."""
    monkeypatch.setattr(outside, "_PIECE", 1)
    begin(redis)
    work(redis, [tmp_path / "worker-1"], 30)
    with on_redis(redis) as crawl, closing(database_at(tmp_path / "copy", HASH_NAME)) as database:
        longest = max(crawl.partitions, key=lambda number: int(crawl.client.llen(key(number, "log"))))
        log, times = key(longest, "log"), [2]
        read = crawl.client.lrange

        def replace(name: str, *place: int) -> object:
            if times[0] and place[0]:
                times[0] -= 1
                crawl.client.rpush("other", *read(log, 0, -1))
                crawl.client.rename("other", log)
                crawl.client.hincrby(key(longest, "state"), "snapshot", 1)
            return read(name, *place)

        monkeypatch.setattr(crawl.client, "lrange", replace)
        Copying(crawl, database).take(longest)
        assert times == [0]
        monkeypatch.undo()
        with closing(database_at(tmp_path / "again", HASH_NAME)) as again:
            Copying(crawl, again).take(longest)
            assert list(database.scan("urls")) == list(again.scan("urls"))
            assert list(database.scan("meta")) == list(again.scan("meta"))


def test_damage_is_named(redis: Server, tmp_path: Path) -> None:
    """Who reads a crawl is told of the partition that cannot be read."""
    begin(redis)
    work(redis, [tmp_path / "worker-1"], 30)
    with redis.client() as client:
        spoilt = max(range(PARTITIONS), key=lambda number: int(client.llen(key(number, "log"))))
        client.lset(key(spoilt, "log"), 0, client.lindex(key(spoilt, "log"), 0)[:-1] + b"!")
    named = f"Partition {spoilt} of the crawl 'shared'.*1 entries"
    with on_redis(redis) as crawl, pytest.raises(CorruptFile, match=named), copied(crawl):
        pass


def test_no_crawl_of_that_name(redis: Server) -> None:
    """It says which setting names it."""
    with pytest.raises(StorageError, match="SITECRAWL_CLUSTER_CRAWL"), opened({"url": redis.url}, "none"):
        pass


def test_a_crawl_that_begins_just_now(redis: Server) -> None:
    """Before all is written that says how to read it, it cannot be read."""
    begin(redis)
    with redis.client() as client:
        for partition in range(PARTITIONS):
            client.hdel(key(partition, "crawl"), "max_depth")
    with pytest.raises(StorageError, match=r"begun with \(max_depth\).*begins just now"), on_redis(redis):
        pass


def test_another_versions_crawl(redis: Server) -> None:
    """It is refused: what it has means something else."""
    begin(redis)
    with redis.client() as client:
        for partition in range(PARTITIONS):
            client.hset(key(partition, "crawl"), "format", "sitecrawl-cluster-1")
    with pytest.raises(FormatMismatch, match="another version"), on_redis(redis):
        pass


@pytest.mark.parametrize("spoilt", ["gone", "wrong", "another type"])
def test_what_most_partitions_say_stands(redis: Server, tmp_path: Path, spoilt: str) -> None:
    """Also where the first says nothing, or something else."""
    begin(redis)
    work(redis, [tmp_path / "worker-1"], 10)
    with redis.client() as client:
        if spoilt == "gone":
            client.delete(key(0, "crawl"))
        elif spoilt == "wrong":
            client.hset(key(0, "crawl"), "key", "00" * 15 + "01")
        else:
            client.set(key(0, "crawl"), "x")
    with on_redis(redis) as crawl, copied(crawl) as directory, FrontierReader(directory) as reader:
        assert reader.counts.fetched >= 10
