"""Entries of a partition's log: replayed in their order, they are what the database had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from database_files import database_at, put_away
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import Entry, FromInbox, RecordingBatch, pack_entry, unpack_entry
from sitecrawl.cluster.snapshots import pack_part, unpack_part
from sitecrawl.frontier.moving import Change, Facts, Row, rows_of, write_rows
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.territory import Territory

FACTS = Facts(3, 5, 7, [0, 1, 0, 0], (1, 2, 3, 0))
FAMILIES = st.sampled_from(["hosts", "urls", "content", "classes"])
CHANGES = st.dictionaries(st.tuples(FAMILIES, st.binary(min_size=2, max_size=4)), st.none() | st.binary(max_size=5))


def fingerprint(url: str) -> bytes:
    return url.encode()


def batched(rows: Sequence[Row], size: int) -> Iterator[list[Row]]:
    left = iter(rows)
    while some := list(islice(left, size)):
        yield some


def written(folder: Path, pieces: Iterable[Iterable[Change]]) -> list[Row]:
    """What a database has when these are written to it."""
    database = database_at(folder, HASH_NAME)
    for rows in pieces:
        write_rows(database, rows)
    found = [(family, *row) for family in ("hosts", "urls", "content", "classes") for row in database.scan(family)]
    put_away(database)
    return sorted(found)


@given(st.lists(CHANGES, min_size=1, max_size=6), st.integers(0, 6))
def test_what_was_changed_last_stands(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[tuple[str, bytes], bytes | None]], parts: int
) -> None:
    """Also where a snapshot has taken the place of the first entries."""
    held: dict[tuple[str, bytes], bytes | None] = {}
    for changes in entries:
        held.update(changes)
    wanted = sorted((*place, value) for place, value in held.items() if value is not None)
    unpacked = [unpack_entry(pack_entry(FACTS, changes)) for changes in entries]
    assert all(facts == FACTS for facts, _ in unpacked)
    rows = [rows for _, rows in unpacked]
    assert written(tmp_path_factory.mktemp("log") / "db", rows) == wanted
    before = written(tmp_path_factory.mktemp("first") / "db", rows[:parts])
    snapshot = [unpack_part(pack_part(FACTS, some, fingerprint), fingerprint)[1] for some in batched(before, 3)]
    assert written(tmp_path_factory.mktemp("both") / "db", [*snapshot, *rows[parts:]]) == wanted


@pytest.mark.parametrize("data", [b"", b"no frame", pack_entry(FACTS, {})[:-3]])
def test_a_damaged_entry_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="An entry of"):
        unpack_entry(data)


def test_a_changed_byte_is_noticed() -> None:
    """If it changes anything: Redis keeps no checksums."""
    data, noticed = pack_entry(FACTS, {("urls", bytes([number])): bytes(range(60)) for number in range(40)}), 0
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
        try:
            assert unpack_entry(changed) == unpack_entry(data)
        except CorruptFile:
            noticed += 1
    assert noticed > len(data) * 0.9


def test_an_entry_in_the_journal_is_what_it_was() -> None:
    entry = Entry(3, 9, b"data", b"tally", FromInbox(2, "5a"), {4: b"bundle"}, [7, 8])
    assert Entry.unpack(entry.pack()) == entry
    with pytest.raises(CorruptFile, match="in the journal"):
        Entry.unpack(b"\x91\x01")


def test_each_row_goes_with_its_site(tmp_path: Path) -> None:
    """Whatever family it is in: rows about the crawl as a whole are in no entry."""
    site, other = b"\x80\x01", b"\x00\x02"
    territory = Territory(4, {0: PartCounts(), 2: PartCounts()})
    rows = [
        ("hosts", site + b"host..", b"1"),
        ("sections", site + b"host..sect", b"2"),
        ("urls", site + bytes(14), b"3"),
        ("edges", site + b"host..", b"4"),
        ("content", b"T" + site + b"host..title...", b"5"),
        ("content", b"N" + site + b"host..title...", b"6"),
        ("content", b"D" + bytes(16), site + bytes(14)),
        ("revisits", b"P" + site + bytes(14), b"7"),
        ("revisits", b"D" + bytes(8) + site + bytes(14), b""),
    ]
    database = database_at(tmp_path / "db", HASH_NAME)
    batch = RecordingBatch(database.batch(), territory)
    for row in [*rows, ("urls", other + bytes(14), b"other"), ("meta", b"counts", b"8")]:
        batch.put(*row)
    batch.delete("classes", other + b"gone")
    assert batch.changes[2] == {(family, key): value for family, key, value in rows}
    assert batch.changes[0] == {("urls", other + bytes(14)): b"other", ("classes", other + b"gone"): None}
    assert batch.changes.keys() == {0, 2}
    database.write(batch.into)
    assert sorted(rows_of(database, territory.regions(2))) == sorted(rows)
    assert [row[2] for row in rows_of(database, territory.regions(0))] == [b"other"]
    database.close()
