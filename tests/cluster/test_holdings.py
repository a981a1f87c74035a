"""What a worker has yet to tell: it is there after a crash, and is numbered on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.crawldir.database import Database


def flush(database: Database, holdings: Holdings, *bundles: bytes) -> None:
    batch = database.batch()
    holdings.flush(batch, [], [(1, bundle) for bundle in bundles])
    database.write(batch)


def test_messages_are_numbered_on(tmp_path: Path) -> None:
    """Also by a later start of the worker, when all have been delivered: Redis takes no number twice."""
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        holdings = Holdings(database, "ab" * 8)
        flush(database, holdings, b"one", b"two")
        assert [(told.number, told.bundle) for told in holdings.told.values()] == [(1, b"one"), (2, b"two")]
        for told in list(holdings.told.values()):
            holdings.delivered(told)
        flush(database, holdings)
        again = Holdings(database, "cd" * 8)
        assert again.session == "ab" * 8
        assert [told.number for told in again.told.values()] == [2]
        flush(database, again, b"three")
        assert [told.number for told in again.told.values()] == [2, 3]
        for told in list(again.told.values()):
            again.delivered(told)
        flush(database, again)
        assert [told.number for told in Holdings(database, "").told.values()] == [3]


def test_copies_go_out_where_they_are_needed() -> None:
    """A copy waits for the entry that has it, is forgotten once Redis has that, and goes out if that is lost. What is
    behind it for the same partition does not pass it; what is for others does.
    """
    other = Held(7, 1, 4)
    other.unsent.append(Entry(7, 4, b""))
    held = Held(3, 1, 6, outgoing={"10:7": b"later", "9:7": b"copy", "9:8": b"message"})
    held.copies["9:7"] = other, 4
    assert held.to_deliver() == ["9:8"]
    other.is_lost = True
    assert held.to_deliver() == ["9:7", "9:8", "10:7"]
    other.is_lost = False
    other.unsent.clear()
    assert held.to_deliver() == ["9:8", "10:7"]
    assert (held.arrived, held.copies) == (["9:7"], {})
