"""The queue whose head is in memory and whose tail is on disk, against a sorted list."""

from __future__ import annotations

from bisect import insort
from itertools import count

import pytest
from database_files import database_at, put_away
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.disk_queue import DiskQueue

PREFIX = b"hosthost"
ENTRIES = st.binary(min_size=2, max_size=2)


@pytest.fixture
def database(tmp_path):
    database = database_at(tmp_path / "db", "test")
    yield database
    put_away(database)


def put(database: Database, *entries: bytes, prefix: bytes = PREFIX) -> None:
    batch = database.batch()
    for entry in entries:
        batch.put("queue", prefix + entry, b"")
    database.write(batch, sync=False)


def take_all(queue: DiskQueue) -> list[bytes]:
    taken = []
    while (entry := queue.pop()) is not None:
        taken.append(entry)
    return taken


class QueueMachine(RuleBasedStateMachine):
    """Entries are taken in order and once; a checkpoint may come at any time, and so may a crash.

    All examples are on one database, as the queues of a crawl are; each has a prefix of its own.
    """

    database: Database
    prefixes = count()

    @initialize(head=st.integers(1, 3))
    def open(self, head):
        self.prefix = next(self.prefixes).to_bytes(len(PREFIX), "big")
        self.head = head
        self.queue = DiskQueue(self.database, self.prefix, empty=True, head=head)
        self.waiting: list[bytes] = []
        self.volatile: set[bytes] = set()
        self.stored: set[bytes] = set()
        self.open_puts: set[bytes] = set()
        self.open_deletes: set[bytes] = set()
        self.ever: set[bytes] = set()

    @rule(entry=ENTRIES, volatile=st.booleans())
    def push(self, entry, volatile):
        if entry in self.ever:  # an entry ends in a fingerprint and begins with a serial number: no two are equal
            return
        self.ever.add(entry)
        self.queue.push(entry, volatile=volatile)
        insort(self.waiting, entry)
        (self.volatile if volatile else self.open_puts).add(entry)

    @rule()
    def pop(self):
        expected = self.waiting.pop(0) if self.waiting else None
        assert self.queue.pop() == expected
        if expected is not None and expected not in self.volatile:
            self.open_puts.discard(expected)
            self.open_deletes.add(expected)

    @precondition(lambda self: set(self.waiting) - self.volatile)
    @rule(data=st.data())
    def drop(self, data):
        """Its URL stands at another place by now."""
        entry = data.draw(st.sampled_from(sorted(set(self.waiting) - self.volatile)))
        self.queue.drop(entry)
        self.waiting.remove(entry)
        self.open_puts.discard(entry)
        self.open_deletes.add(entry)

    @rule()
    def checkpoint(self):
        """What was taken is done by now, so it goes from the disk."""
        batch = self.database.batch()
        for entry in self.open_puts:
            batch.put("queue", self.prefix + entry, b"")
        for entry in self.open_deletes:
            batch.delete("queue", self.prefix + entry)
        self.database.write(batch, sync=False)
        self.stored = (self.stored | self.open_puts) - self.open_deletes
        self.open_puts.clear()
        self.open_deletes.clear()
        self.queue.trim()

    @precondition(lambda self: self.ever)
    @rule(told=st.booleans())
    def crash(self, told):
        """What is in memory is gone. The queue may be told what the disk holds first."""
        self.queue = DiskQueue(self.database, self.prefix, empty=False, head=self.head)
        if told:
            self.queue.begin(*self.database.first_keys("queue", [self.prefix]))
        self.open_puts.clear()
        self.open_deletes.clear()
        self.volatile.clear()
        self.waiting = sorted(self.stored)

    @invariant()
    def the_least_is_on_top(self):
        if hasattr(self, "queue"):
            assert self.queue.peek() == (self.waiting[0] if self.waiting else None)


def test_any_steps(database):
    """See the machine."""
    QueueMachine.database = database
    run_state_machine_as_test(QueueMachine, settings=settings(max_examples=100, stateful_step_count=40))


@pytest.mark.parametrize("head", [1, 2, 3])
def test_trimmed_entries_come_back(database, head):
    """What a checkpoint puts on disk leaves memory, and is read again when its turn comes."""
    entries = [bytes([0, n]) for n in range(20)]
    queue = DiskQueue(database, PREFIX, empty=True, head=head)
    for entry in reversed(entries):
        queue.push(entry)
    put(database, *entries)
    queue.trim()
    assert len(queue._heap) <= 2 * head
    assert take_all(queue) == entries


@pytest.mark.parametrize("head", [1, 2, 3])
def test_disk_is_asked_before_what_is_new(database, head):
    """An entry of the open checkpoint waits until those before it on disk are taken."""
    put(database, *(bytes([n, 0]) for n in range(10)))
    queue = DiskQueue(database, PREFIX, empty=False, head=head)
    queue.push(bytes([5, 1]))
    assert take_all(queue) == sorted([bytes([5, 1]), *(bytes([n, 0]) for n in range(10))])


@pytest.mark.parametrize("head", [1, 2, 3])
def test_taken_entries_that_fill_a_refill(database, head):
    """Entries in flight, more of them than a refill reads, hide none of those behind them."""
    early, late = [bytes([1, n]) for n in range(6)], [bytes([2, n]) for n in range(6)]
    queue = DiskQueue(database, PREFIX, empty=True, head=head)
    for entry in early + late:
        queue.push(entry)
    assert [queue.pop() for _ in early] == early  # and not done: they stay on disk
    for n in range(3 * head):
        queue.push(bytes([0, n]))
    put(database, *early, *late, *(bytes([0, n]) for n in range(3 * head)))
    queue.trim()
    assert set(take_all(queue)) >= {*late, *(bytes([0, n]) for n in range(3 * head))}


def test_a_dropped_entry_that_comes_again_counts(database):
    """A URL may come back to a place that it has left."""
    queue = DiskQueue(database, PREFIX, empty=True)
    queue.push(b"aa")
    queue.drop(b"aa")
    assert queue.peek() is None
    queue.push(b"aa")
    assert take_all(queue) == [b"aa"]


@pytest.mark.parametrize("prefix", [b"\x00" * 8, b"\xff" * 8, b"a\xff\xff\xff\xff\xff\xff\xff"])
def test_neighbours_are_left_alone(database, prefix):
    """A queue reads its own prefix only, whatever bytes it is made of."""
    for neighbour in (b"\x00" * 7 + b"\x01", b"b" + bytes(7), b"a\xff\xff\xff\xff\xff\xff\xfe"):
        put(database, b"xx", prefix=neighbour)
    put(database, b"aa", b"\xff\xff", prefix=prefix)
    assert take_all(DiskQueue(database, prefix, empty=False, head=1)) == [b"aa", b"\xff\xff"]


def test_a_volatile_entry_is_never_trimmed(database):
    """An entry that is in memory only outlives every checkpoint."""
    queue = DiskQueue(database, PREFIX, empty=True, head=1)
    queue.push(b"zz", volatile=True)
    for n in range(9):
        queue.push(bytes([0, n]))
    put(database, *(bytes([0, n]) for n in range(9)))
    queue.trim()
    assert take_all(queue)[-1] == b"zz"
