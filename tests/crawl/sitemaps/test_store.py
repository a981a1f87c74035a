"""The store of sitemaps: records on disk, and whose visit is next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.sitemaps.entry import Form, Problem
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import DAY, NEVER, ScheduleOptions, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.crawl.sitemaps.store import SitemapStore, read_sitemaps
from sitecrawl.crawldir.database import Database

FULL = SitemapRecord(
    "http://a.example/s.xml", "a.example", SitemapKind.SITEMAP, How.INDEX, "http://a.example/i.xml", ["b.example"],
    1.0, SitemapState.VALID, Form.ATOM, Problem.LONG | Problem.TORN, 9, 8, 7, 1, 6.0, 0.5, '"e"', "Mon", b"d", 5.0, 4,
    3, 2, 4.5, 99, [(1.0, 2), (3.0, 4)], 20, 19, 1.5, 0.5, 3.5, 2.5, 0.1, 77.0, 200, "http://a.example/t.xml",
    (1 << 64) - 1, "http://b.example/r.xml", 1, 5,
)  # fmt: skip


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def record(number: int, at: float, host: str = "a.example") -> SitemapRecord:
    return SitemapRecord(f"http://{host}/{number}", host, state=SitemapState.VALID, next_visit=at)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "db", hash_name="test")) as opened:
        yield opened


def store(database: Database, **options: float) -> SitemapStore:
    return SitemapStore(database, ScheduleOptions(**options))


def checkpoint(database: Database, kept: SitemapStore) -> None:
    batch = database.batch()
    kept.prepare(batch)
    database.write(batch)
    kept.committed()


class TestRecord:
    @pytest.mark.parametrize("written", [FULL, SitemapRecord("http://a.example/", "a.example")])
    def test_round_trip(self, written: SitemapRecord) -> None:
        """A record is read as it was written."""
        assert SitemapRecord.unpack(written.pack()) == written

    def test_size(self) -> None:
        """What says nothing takes no bytes."""
        assert len(SitemapRecord("http://a.example/", "a.example").pack()) < 50

    @pytest.mark.parametrize(
        "data", [b"", b"\x00", b"\xc1", FULL.pack()[:-3], b"\x81\xa3xyz\x01", b"\x81\xa4kind\x09"]
    )
    def test_damage(self, data: bytes) -> None:
        """Bytes that no record has written are a named error."""
        with pytest.raises(CorruptFile, match="sitemap record"):
            SitemapRecord.unpack(data)

    def test_shares(self) -> None:
        """Shares are from 0 to 1, also of nothing."""
        new = SitemapRecord("", "")
        assert (new.spam_share, new.good_share, new.success_rate) == (0, 1, 0)
        assert FULL.spam_share == pytest.approx(3 / 7)
        assert FULL.good_share == pytest.approx(20 / 21)


class TestStore:
    def test_checkpoint(self, database: Database) -> None:
        """What a checkpoint has written is there again, with the visits that were planned; the rest is forgotten."""
        first = store(database)
        first.put(key(1), FULL)
        first.put(key(2), record(2, 5.0))
        checkpoint(database, first)
        first.put(key(3), record(3, 1.0))
        again = store(database)
        assert dict(again.items()) == {key(1): FULL, key(2): record(2, 5.0)}
        assert again.next_time() == 5.0
        assert sorted(found.url for found in read_sitemaps(database)) == ["http://a.example/2", FULL.url]

    def test_due(self, database: Database) -> None:
        """Sitemaps come out when their time has come, the longest overdue first, each once."""
        kept = store(database)
        for number, at in enumerate([30.0, 10.0, 20.0, NEVER]):
            kept.put(key(number), record(number, at))
        assert (kept.next_time(), list(kept.due(5.0))) == (10.0, [])
        assert list(kept.due(20.0)) == [key(1), key(2)]
        assert list(kept.due(1e9)) == [key(0)]
        assert kept.next_time() is None

    def test_changed_plans(self, database: Database) -> None:
        """Only the last plan counts."""
        kept = store(database)
        kept.put(key(1), record(1, 10.0))
        for at in (99.0, 5.0, 50.0):
            again = kept.get(key(1))
            assert again is not None
            again.next_visit = at
            kept.put(key(1), again)
        assert list(kept.due(49.0)) == []
        assert list(kept.due(50.0)) == [key(1)]

    def test_memory(self, database: Database) -> None:
        """A record that changes often without a change of plan takes no more memory."""
        kept = store(database)
        for _ in range(100):
            kept.put(key(1), record(1, 10.0))
        assert len(kept._visits) == 1
        assert list(kept.due(10.0)) == [key(1)]
        kept.put(key(1), record(1, 10.0))
        assert list(kept.due(10.0)) == [key(1)]

    def test_budget_of_a_site(self, database: Database) -> None:
        """Sitemaps of a site share its budget, whatever the host, also after a restart; another has its own."""
        kept = store(database, budget=24.0)
        for number in range(100):
            kept.put(key(number), record(number, NEVER, f"{number % 7}.example.com"))
        kept.put(key(100), record(100, NEVER, "b.example"))
        checkpoint(database, kept)
        kept = store(database, budget=24.0)
        pauses = []
        for number in range(101):
            found = kept.get(key(number))
            assert found is not None
            found.succeeded(0.0, new=1, seconds=1.0)
            kept.plan(key(number), 0.0)
        for number in range(101):
            kept.plan(key(number), 0.0)
            found = kept.get(key(number))
            assert found is not None
            pauses.append(found.next_visit)
        assert sum(DAY / pause for pause in pauses[:100]) == pytest.approx(24.0)
        assert pauses[100] < pauses[0] / 2
