"""When a page is fetched again."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.plugins.recrawl.schedule import RecrawlOptions, Visits, worth
from sitecrawl.plugins.recrawl.store import RevisitStore
from sitecrawl.plugins.recrawl.versions import options

OPTIONS = RecrawlOptions(budget=86_400.0, min_interval=1.0, max_interval=1e6)


def test_the_engine_has_the_settings_defaults() -> None:
    """Whoever uses the schedule without Scrapy has what a crawl has."""
    assert options(Settings()) == RecrawlOptions()


def watched(changes: list[bool], seconds: float = 100.0) -> Visits:
    record = Visits(0.0, digest=b"0")
    for number, changed in enumerate(changes, 1):
        digest = b"%d" % number if changed else record.digest
        record = record.after(number * seconds, digest=digest)
    return record


def test_the_rate_follows_what_was_seen() -> None:
    """More changes, a greater rate; none for long, a small one, but never none."""
    never, seldom, often, always = (watched([n < k for n in range(20)]).rate for k in (0, 3, 10, 20))
    assert 0 < never < seldom < often < always
    assert Visits(0.0).rate == 0


def test_a_304_is_no_change() -> None:
    """Whatever the digest was."""
    record = Visits(0.0, digest=b"x").after(10.0, digest=None)
    assert (record.changes, record.digest, record.watched) == (0, b"x", 10.0)


@given(st.floats(1e-2, 1e3), st.floats(0.2, 5.0), st.floats(1e-2, 1e6))
def test_the_last_fetch_is_worth_its_price(seconds: float, importance: float, price: float) -> None:
    """Where no limit holds it, the interval is where a little more freshness costs what it is worth."""
    record = watched([True, False, True, False], seconds)
    options = RecrawlOptions(min_interval=1e-12, max_interval=1e15)
    changes, found = record.rate, options.interval(record, importance, price)
    x = changes * found
    if x < 7.99:
        assert importance * (1 - exp(-x) * (1 + x)) / changes == pytest.approx(price, rel=1e-2, abs=1e-6 / changes)
    else:
        assert 0.99 * importance <= price * changes


def test_what_cannot_be_followed_is_visited_less_and_less() -> None:
    """A page that is new at every look gets longer and longer intervals, until the price is right."""
    record, now, intervals = Visits(0.0), 0.0, []
    for number in range(60):
        intervals.append(OPTIONS.interval(record, 1.0, 1e4) if number > 1 else 10.0)
        now += intervals[-1]
        record = record.after(now, digest=b"%d" % number)
    assert intervals[10] > 4 * intervals[2]
    assert 1e4 < intervals[-1] < 1e5
    assert intervals[-1] == pytest.approx(intervals[-2], rel=0.05)


def test_importance_counts_within_limits() -> None:
    """Twice the credit makes visits more frequent; a page without any is still visited."""
    record = watched([True, False] * 10)
    low, high = (OPTIONS.interval(record, importance, 10.0) for importance in (0.5, 2.0))
    assert high < low
    assert [worth(share, 100) for share in (0.9, 0.02, 0.0)] == [5.0, 2.0, 0.2]


def test_failures_double_the_interval() -> None:
    """What does not answer is asked for less."""
    record = watched([True, False] * 10)
    once, twice = (OPTIONS.interval(replace(record, failures=n), 1.0, 10.0) for n in (1, 2))
    assert twice == pytest.approx(2 * once)


def test_the_price_follows_the_budget() -> None:
    """Plans beyond the budget make fetches dearer, plans below it cheaper."""
    assert OPTIONS.new_price(10.0, 2.0, 100) > 10.0 > OPTIONS.new_price(10.0, 0.5, 100)
    assert replace(OPTIONS, budget=0.0).new_price(10.0, 2.0, 100) == 10.0


def test_a_record_that_nobody_wrote() -> None:
    """Is an error that says so."""
    for data in (b"", b"\xc0", b"\x93\x01\x02\x03", watched([True]).pack()[:-1]):
        with pytest.raises(CorruptFile, match="visits cannot be read"):
            Visits.unpack(data)
    record = replace(watched([True]), etag='"é"')
    assert Visits.unpack(record.pack()) == record


class TestStore:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Database:
        return Database(tmp_path / "db", hash_name=HASH_NAME)

    def commit(self, database: Database, store: RevisitStore) -> None:
        batch = database.batch()
        store.prepare(batch)
        database.write(batch)
        store.committed()

    @pytest.mark.parametrize("commits", [False, True])
    def test_each_page_is_due_once(self, database: Database, *, commits: bool) -> None:
        """In the order of their times, before and after a checkpoint; then only when it is planned again."""
        store = RevisitStore(database, OPTIONS)
        keys = [bytes([n]) * 16 for n in range(5)]
        for number, key in enumerate(keys):
            store.plan(key, Visits(float(number)), 0.0, float(number))
        if commits:
            self.commit(database, store)
        assert store.next_time() == pytest.approx(1000.0)
        assert store.take(999.0, 10) == []
        assert [key for key, _ in store.take(2000.0, 2)] == keys[:2]
        if commits:
            self.commit(database, store)
        assert [key for key, _ in store.take(2000.0, 10)] == keys[2:]
        assert store.take(1e9, 10) == []
        assert store.next_time() is None
        store.plan(keys[0], watched([True]), 0.0, 3000.0)
        assert [key for key, _ in store.take(1e9, 10)] == keys[:1]

    def test_it_is_there_again(self, database: Database, tmp_path: Path) -> None:
        """With the figures that the plans share."""
        store = RevisitStore(database, OPTIONS)
        for n in range(20):
            store.plan(bytes([n]) * 16, watched([True, False]), 0.0, 200.0)
        store.drop(bytes([3]) * 16)
        self.commit(database, store)
        database.close()
        again = RevisitStore(Database(tmp_path / "db", hash_name=HASH_NAME), OPTIONS)
        assert (again.pages, again.planned, again.price) == (store.pages, store.planned, store.price)
        assert again.pages == 19
        assert len(again.take(1e12, 100)) == 19

    def test_what_is_stored_and_what_is_not_come_in_one_order(self, database: Database) -> None:
        """However few are taken at a time, none is passed over."""
        store = RevisitStore(database, OPTIONS)
        for n in (1, 2, 3, 9):
            store.plan(bytes([n]) * 16, Visits(float(n)), 0.0, float(n))
            if n == 3:
                self.commit(database, store)
        taken = [key[0] for _ in range(5) for key, _ in store.take(1e9, 2)]
        assert taken == [1, 2, 3, 9]
        store.plan(bytes(16), Visits(0.0), 0.0, 0.0)
        assert [key for key, _ in store.take(1e9, 2)] == [bytes(16)]

    def test_what_is_taken_of_the_budget_is_spent(self, database: Database) -> None:
        """At most an hour of it is saved up; more comes with the time alone."""
        store = RevisitStore(database, replace(OPTIONS, budget=60.0))  # 2.5 an hour
        for n in range(5):
            store.plan(bytes([n]) * 16, Visits(0.0), 0.0, 0.0)
        assert [len(store.take(1e9 + seconds, 10)) for seconds in (0, 0, 1800, 1800)] == [2, 0, 1, 0]
