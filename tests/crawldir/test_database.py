"""The crawl's database: one atomic batch, and all of it after a crash."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from database_files import opened

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir import opening
from sitecrawl.crawldir.database import CRAWL, FAMILIES, Database

KILLS = 8

# Writes batches for ever: the number of the batch into each family, and a row more of its own.
WRITER = """
import random, sys
from pathlib import Path
from sitecrawl.crawldir.database import FAMILIES, Database

database = Database(Path(sys.argv[1]), hash_name="test")
number = int(database.get("urls", b"last") or b"0")
print("ready", flush=True)
while True:
    number += 1
    batch = database.batch()
    for family in FAMILIES:
        batch.put(family, b"last", b"%d" % number)
        batch.put(family, b"row%09d" % number, random.randbytes(1_000))
    database.write(batch, sync=number % 2 == 0)
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "db"


def test_values_come_back(path):
    """What was written is read, alone and in numbers, also after closing."""
    database = opened(path)
    batch = database.batch()
    batch.put("urls", b"a", b"1")
    batch.put("urls", b"b", b"")
    batch.put("hosts", b"a", b"2")
    batch.delete("urls", b"c")
    assert len(batch) == 4
    database.write(batch)
    database.close()
    database = opened(path)
    assert (database.get("urls", b"a"), database.get("hosts", b"a"), database.get("meta", b"a")) == (b"1", b"2", None)
    assert database.get_many("urls", [b"b", b"x", b"a", b"b"]) == [b"", None, b"1", b""]
    assert database.get_many("urls", []) == []
    assert database.size_on_disk() > 0
    database.close()


def test_all_of_a_family(path):
    """It goes at once with what a batch says; what is put after that stays, and so do the other families."""
    database = opened(path)
    batch = database.batch()
    for key in (b"", b"a", b"\xff" * 40):
        batch.put("urls", key, b"1")
        batch.put("hosts", key, b"1")
    database.write(batch)
    batch = database.batch()
    batch.delete_between("urls")
    batch.put("urls", b"b", b"2")
    assert len(list(database.scan("urls"))) == 3
    database.write(batch)
    assert list(database.scan("urls")) == [(b"b", b"2")]
    assert len(list(database.scan("hosts"))) == 3
    database.close()


def test_the_cache_grows_with_the_tables(path, monkeypatch):
    """Blocks in memory are a share of what is on disk, from a least to a most, also after the next opening."""
    monkeypatch.setattr(opening, "_WRITE_BUFFER_BYTES", 64 << 10)
    layout = replace(CRAWL, least_cache=10 << 10, most_cache=50 << 10)
    database, capacities, some = opened(path, layout=layout), [], random.Random(1)
    for number in range(40):
        batch = database.batch()
        for key in range(1000):
            batch.put("urls", b"%d" % (1000 * number + key), some.randbytes(40))
        database.write(batch, sync=False)
        capacities.append(database.cache_capacity)
    assert capacities[0] == 10 << 10
    assert capacities == sorted(capacities)
    assert len(set(capacities)) > 3
    assert capacities[-1] == 50 << 10
    database.close()
    database = opened(path, layout=layout)
    assert database.cache_capacity == 50 << 10
    database.close()


def test_a_log_that_cannot_grow_is_an_error_of_storage_to_the_end(path):
    """A write that fails says so, and so does the close after it; what was written before is there."""
    database = opened(path)
    batch = database.batch()
    batch.put("urls", b"before", b"1")
    database.write(batch)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        batch = database.batch()
        batch.put("urls", b"large", random.Random(1).randbytes(20_000))
        with pytest.raises(StorageError, match="File too large"):
            database.write(batch)
        with pytest.raises(StorageError, match="File too large"):
            database.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    database = opened(path)
    assert database.get("urls", b"before") == b"1"
    assert database.get("urls", b"large") is None
    database.close()


def test_scans_are_ordered_and_bounded(path):
    """A scan goes from its start, inclusive, to its end, exclusive, by the keys' bytes."""
    database = opened(path)
    batch = database.batch()
    for key in (b"\xff\xff", b"b", b"a\x00", b"a", b"\x00"):
        batch.put("queue", key, key)
    database.write(batch)
    keys = [key for key, _ in database.scan("queue")]
    assert keys == [b"\x00", b"a", b"a\x00", b"b", b"\xff\xff"]
    assert list(database.scan("queue", b"a", b"b")) == [(b"a", b"a"), (b"a\x00", b"a\x00")]
    assert [key for key, _ in database.scan("queue", b"a\x00")] == keys[2:]
    assert list(database.scan("queue", b"\xff\xff\xff")) == []
    database.close()


def with_keys(path: Path, *keys: bytes) -> Database:
    """A database whose queue has these keys."""
    database = Database(path, hash_name="test")
    batch = database.batch()
    for key in keys:
        batch.put("queue", key, b"")
    database.write(batch)
    return database


def test_first_keys(path):
    """Each prefix has its least key or None, in whatever order it is asked for and wherever the table ends."""
    database = with_keys(path, b"a2", b"a1", b"c9", b"\xff\xff")
    found = database.first_keys("queue", [b"a", b"b", b"c", b"\xff", b"\xff\xff\xff", b"a2", b"d"])
    assert list(found) == [b"a1", None, b"c9", b"\xff\xff", None, b"a2", None]
    database.close()


def test_last_key(path):
    """The greatest key with a prefix, wherever the table ends."""
    database = with_keys(path, b"a2", b"a1", b"c9", b"\xff\xff")
    prefixes = (b"a", b"b", b"c", b"\xff", b"\xff\xff\xff", b"a2", b"Z", b"")
    found = [database.last_key("queue", prefix) for prefix in prefixes]
    assert found == [b"a2", None, b"c9", b"\xff\xff", None, b"a2", None, b"\xff\xff"]
    database.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda database: database.get("urls", b"key"),
        lambda database: database.get_many("urls", [b"key"]),
        lambda database: list(database.scan("urls")),
        lambda database: list(database.first_keys("urls", [b"key"])),
        lambda database: database.last_key("urls", b"key"),
    ],
    ids=["get", "get_many", "scan", "first_keys", "last_key"],
)
def test_a_closed_database_answers_nothing(path, ask):
    """Whatever it is asked, the error is one that whoever asks knows; nobody else is told of it."""
    told: list[BaseException] = []
    database = opened(path)
    database.on_error = told.append
    database.close()
    with pytest.raises(StorageError):
        ask(database)
    assert told == []


@pytest.mark.deep
def test_killed_at_any_moment(path):
    """After SIGKILL every family is at the same batch, and none that was reported is lost."""
    moments = random.Random(1)
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            lines = [process.stdout.readline() for _ in range(moments.randint(1, 20))]
            process.send_signal(signal.SIGKILL)  # the next batches are under way: any moment will do
            lines += process.stdout.readlines()
            written = [int(line) for line in lines if line.endswith(b"\n")]
        database = opened(path)
        lasts = {database.get(family, b"last") for family in FAMILIES}
        assert len(lasts) == 1
        last = int(lasts.pop() or b"0")
        assert last >= max(written)
        for family in FAMILIES:
            rows = [key for key, _ in database.scan(family, b"row", b"rox")]
            assert rows == [b"row%09d" % number for number in range(1, last + 1)]
        database.close()
    assert last >= KILLS


def test_the_end_of_the_log_is_torn(path, tmp_path):
    """A log that ends anywhere, as a lost power leaves it, is the database at one of its batches."""
    database = opened(path)
    for number in range(5):
        batch = database.batch()
        for family in FAMILIES:
            batch.put(family, b"last", b"%d" % number)
        database.write(batch)
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    database.close()
    log = max(copy.glob("*.log"), key=lambda file: file.stat().st_size)
    content = log.read_bytes()
    for size in range(len(content), len(content) // 2, -37):
        torn = tmp_path / f"torn{size}"
        shutil.copytree(copy, torn)
        (torn / log.name).write_bytes(content[:size])
        database = opened(torn)
        assert len({database.get(family, b"last") for family in FAMILIES}) == 1
        database.close()
