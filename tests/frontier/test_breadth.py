"""Breadth first, host by host, whatever else is fetched meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.breadth import ROW, Breadth
from sitecrawl.frontier.urls.host import Host


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(tmp_path_factory.mktemp("breadth") / "db", hash_name=HASH_NAME)
    yield opened
    opened.close()


KEYS = count(1)


def new_host(name: str = "a.example") -> Host:
    """A host of which nothing is stored."""
    return Host(next(KEYS).to_bytes(8, "big"), name)


def checkpoint(database: Database, breadth: Breadth) -> None:
    batch = database.batch()
    breadth.flush(batch)
    database.write(batch)
    breadth.flushed()


def url(number: int) -> bytes:
    return number.to_bytes(16, "big")


def add(breadth: Breadth, host: Host, number: int) -> None:
    host.known += 1
    breadth.add(host, [url(number)])


def passed(breadth: Breadth, host: Host, most: int = 1 << 30) -> list[bytes]:
    """What comes next, as long as there is something, or `most` of it; all of it has been read."""
    found: list[bytes] = []
    while len(found) < most and (key := breadth.next(host)) is not None:
        assert breadth.next(host) == key  # asked twice, it says the same
        found.append(key)
        breadth.pass_over(host, is_read=True)
    return found


def rows(database: Database, host: Host) -> int:
    """How many rows of `host` are stored."""
    end = host.key + b"\xff" * 17
    return sum(1 for family in ("levels", "children") for _ in database.scan(family, host.key, end))


class Model:
    """The same in memory."""

    def __init__(self) -> None:
        self.known = 0
        self.waiting: list[int] = []
        self.brought: dict[int, list[int]] = {}
        self.late: dict[int, list[int]] = {}
        """What pages have brought whose turn had been."""
        self.passed: set[int] = set()
        self.unread: list[int] = []
        """Pages that no order has fetched yet."""

    def found(self, number: int) -> list[int]:
        new = list(range(self.known, self.known + number))
        self.known += number
        self.unread += new
        return new

    def file(self, page: int | None, new: list[int]) -> None:
        if page is None:
            self.waiting += new
        else:
            (self.late if page in self.passed else self.brought).setdefault(page, []).extend(new)

    def settle(self) -> None:
        """A checkpoint, or nothing else is left."""
        self.waiting += [number for new in self.late.values() for number in new]
        self.late.clear()

    def rest(self) -> Iterator[int]:
        while (page := self.next()) is not None:
            yield page

    def next(self) -> int | None:
        if not self.waiting:
            self.settle()
        if not self.waiting:
            return None
        page = self.waiting.pop(0)
        self.passed.add(page)
        self.waiting += self.brought.pop(page, [])
        return page


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "read", "read", "pass", "pass", "checkpoint", "crash"]), st.integers(0, 50)),
    max_size=60,
)


@given(STEPS)
def test_each_page_brings_its_own_when_its_turn_has_come(database: Database, steps: list[tuple[str, int]]) -> None:
    """In whatever order pages are read: each URL comes once, behind the page that brought it and that page's elders.

    What a crash has taken was not there; what had been passed since the last checkpoint comes again.
    """
    breadth, host, model = Breadth(database), new_host(), Model()
    stored = deepcopy((model, host.passed))
    for step, value in steps:
        if step == "add":
            for number in model.found(1 + value % 3):
                add(breadth, host, number)
                model.file(None, [number])
        elif step == "read" and model.unread:
            page = model.unread.pop(value % len(model.unread))
            new = model.found((value % 4) * 40)
            host.known += len(new)
            breadth.bring(host, url(page), [url(number) for number in new])
            breadth.read(host, url(page))
            model.file(page, new)
        elif step == "pass":
            first = model.next()
            assert breadth.next(host) == (None if first is None else url(first))
            if first is not None:
                breadth.pass_over(host, is_read=first not in model.unread)
        elif step == "checkpoint":
            checkpoint(database, breadth)
            model.settle()
            stored = deepcopy((model, host.passed))
        elif step == "crash":
            breadth = Breadth(database)
            model, host.passed = deepcopy(stored)
    for page in model.unread:
        breadth.read(host, url(page))
    assert passed(breadth, host) == [url(number) for number in model.rest()]
    checkpoint(database, breadth)
    assert rows(database, host) == 0


def test_pages_that_were_overtaken_come_first(database: Database) -> None:
    """A page that another order has fetched early does not put what it brings before what its elders bring."""
    breadth, host = Breadth(database), new_host()
    for number in (1, 2):
        add(breadth, host, number)
    breadth.bring(host, url(2), [url(20)])  # the second page is read first
    breadth.bring(host, url(20), [url(200)])
    breadth.bring(host, url(1), [url(10)])
    assert passed(breadth, host) == [url(number) for number in (1, 2, 10, 20, 200)]


def test_what_a_page_under_way_brings_is_not_lost(database: Database) -> None:
    """A page whose turn has been, and which is read only then, brings what it does behind all that is filed."""
    breadth, host = Breadth(database), new_host()
    add(breadth, host, 1)
    assert breadth.next(host) == url(1)
    breadth.pass_over(host, is_read=False)
    assert breadth.next(host) is None
    checkpoint(database, breadth)
    for batch in ([url(2)], [url(3)]):
        breadth.bring(host, url(1), batch)
    breadth.read(host, url(1))
    assert passed(breadth, host) == [url(2), url(3)]
    checkpoint(database, breadth)
    assert rows(database, host) == 0


def test_one_row_for_many_urls(database: Database) -> None:
    """URLs that were found one by one share rows."""
    breadth, host = Breadth(database), new_host()
    for number in range(1, 3 * ROW + 1):
        add(breadth, host, number)
    checkpoint(database, breadth)
    assert rows(database, host) == 3


def test_a_row_costs_the_same_however_many_wait(database: Database) -> None:
    """Behind many rows of a host that was not in memory, a new one is begun with one look at the disk."""
    breadth, host = Breadth(database), new_host()
    for number in range(50 * ROW):
        add(breadth, host, number)
    checkpoint(database, breadth)
    later = Breadth(database)
    with (
        patch.object(Database, "get", autospec=True, side_effect=Database.get) as get,
        patch.object(Database, "last_key", autospec=True, side_effect=Database.last_key) as last_key,
    ):
        for number in range(50 * ROW, 52 * ROW):
            add(later, host, number)
    assert (get.call_count, last_key.call_count) == (0, 1)
    checkpoint(database, later)
    assert passed(Breadth(database), host) == [url(number) for number in range(52 * ROW)]


def test_hosts_apart(database: Database) -> None:
    """What one host has says nothing of another."""
    breadth = Breadth(database)
    one, other = (new_host(name) for name in ("a.example", "b.example"))
    add(breadth, one, 1)
    add(breadth, other, 2)
    checkpoint(database, breadth)
    assert (passed(breadth, one), passed(breadth, other)) == ([url(1)], [url(2)])
    assert (one.passed, other.passed) == (1, 1)


def test_memory_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hosts that were not met since the last checkpoint nothing stays in memory, beyond a number of them."""
    monkeypatch.setattr("sitecrawl.frontier.urls.breadth.FRONTS", 2)
    breadth = Breadth(database)
    hosts = [new_host(f"h{n}.example") for n in range(5)]
    for number, host in enumerate(hosts):
        add(breadth, host, number)
    checkpoint(database, breadth)
    add(breadth, hosts[0], 99)
    checkpoint(database, breadth)
    assert len(breadth._fronts) == 1
    assert [len(passed(breadth, host)) for host in hosts] == [2, 1, 1, 1, 1]
