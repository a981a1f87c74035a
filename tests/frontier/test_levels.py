"""Breadth first, host by host, whatever else is fetched meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.urls.levels import ROW, Levels
from sitecrawl.urls.fingerprint import HASH_NAME


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(tmp_path_factory.mktemp("levels") / "db", hash_name=HASH_NAME)
    yield opened
    opened.close()


KEYS = count(1)


def new_host(name: str = "a.example") -> Host:
    """A host of which nothing is stored."""
    return Host(next(KEYS).to_bytes(8, "big"), name)


def checkpoint(database: Database, levels: Levels) -> None:
    batch = database.batch()
    levels.flush(batch)
    database.write(batch)
    levels.flushed()


def url(number: int) -> bytes:
    return number.to_bytes(16, "big")


def add(levels: Levels, host: Host, level: int, number: int) -> None:
    host.known += 1
    levels.add(host, level, number, url(number))


def read(levels: Levels, host: Host, most: int = 1 << 30) -> list[bytes]:
    """What comes next, as long as there is something, or `most` of it."""
    found: list[bytes] = []
    while len(found) < most and (key := levels.next(host)) is not None:
        assert levels.next(host) == key  # asked twice, it says the same
        found.append(key)
        levels.pass_over(host)
    return found


@given(st.lists(st.tuples(st.sampled_from(["add", "read", "checkpoint", "crash"]), st.integers(0, 3)), max_size=40))
def test_level_by_level_in_the_order_of_finding(database: Database, steps: list[tuple[str, int]]) -> None:
    """Each URL comes once: of what was found by then, the least level first, and of one level the oldest.

    What a crash has taken was not there; what had been read since the last checkpoint comes again.
    """
    levels = Levels(database)
    host = new_host()
    waiting: list[tuple[int, int]] = []
    stored: list[tuple[int, int]] = []
    number = 0
    for step, value in steps:
        if step == "add":
            for _ in range(1 + 30 * value):
                number += 1
                add(levels, host, value, number)
                waiting.append((value, number))
        elif step == "read":
            waiting.sort()
            most = 1 + 20 * value
            assert read(levels, host, most) == [url(n) for _, n in waiting[:most]]
            del waiting[:most]
        elif step == "checkpoint":
            checkpoint(database, levels)
            stored = list(waiting)
        else:
            levels, waiting = Levels(database), list(stored)
    assert read(levels, host) == [url(n) for _, n in sorted(waiting)]
    checkpoint(database, levels)
    assert not list(database.scan("levels", host.key, host.key + b"\xff" * 8))


def test_one_row_for_many_urls(database: Database) -> None:
    """URLs of one level share rows, also when many pages have brought them."""
    levels, host = Levels(database), new_host()
    for number in range(1, 3 * ROW + 1):
        add(levels, host, 2, number)
    checkpoint(database, levels)
    assert len(list(database.scan("levels", host.key, host.key + b"\xff" * 8))) == 3


def test_hosts_apart(database: Database) -> None:
    """What one host has says nothing of another."""
    levels = Levels(database)
    one, other = (new_host(name) for name in ("a.example", "b.example"))
    add(levels, one, 1, 1)
    add(levels, other, 0, 2)
    checkpoint(database, levels)
    assert (read(levels, one), read(levels, other)) == ([url(1)], [url(2)])
    assert (one.passed, other.passed) == (1, 1)


def test_memory_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hosts that were not met since the last checkpoint nothing stays in memory, beyond a number of them."""
    monkeypatch.setattr("sitecrawl.frontier.urls.levels.FRONTS", 2)
    levels = Levels(database)
    hosts = [new_host(f"h{n}.example") for n in range(5)]
    for number, host in enumerate(hosts):
        add(levels, host, 0, number)
    checkpoint(database, levels)
    add(levels, hosts[0], 0, 99)
    checkpoint(database, levels)
    assert len(levels._fronts) == 1
    assert [len(read(levels, host)) for host in hosts] == [2, 1, 1, 1, 1]
