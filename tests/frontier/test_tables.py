"""What the open checkpoint has changed over what the database holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import database_at, put_away
from frontier_helpers import Bench, digest
from scrapy import Request, Spider

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.requests import pack_request
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.urls import tables
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord
from sitecrawl.frontier.urls.tables import HostTable, UrlTable
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter


@pytest.fixture
def database(tmp_path):
    database = database_at(tmp_path / "db", "test")
    yield database
    put_away(database)


def commit(database, *tables):
    batch = database.batch()
    for table in tables:
        table.flush(batch)
    database.write(batch)
    for table in tables:
        table.flushed()


def record(name: str, flags: int = Flag.NONE) -> UrlRecord:
    return UrlRecord(
        f"http://a.example/{name}", flags=flags, host=b"12345678", section=b"1234", rank=bytes(RANK_BYTES)
    )


def keys(count: int) -> list[bytes]:
    return [digest(str(n)) for n in range(count)]


def test_changes_hide_what_is_on_disk(database):
    """A key that was put or deleted since the checkpoint answers so before it is on disk."""
    table = Overlay(database, "meta")
    table.put(b"a", b"1")
    table.put(b"b", b"1")
    commit(database, table)
    table.put(b"a", b"2")
    table.delete(b"b")
    assert (table.get(b"a"), table.get(b"b")) == (b"2", None)
    assert (database.get("meta", b"a"), database.get("meta", b"b")) == (b"1", b"1")
    commit(database, table)
    assert (database.get("meta", b"a"), database.get("meta", b"b")) == (b"2", None)


def test_a_url_is_seen_where_it_has_a_record(database):
    """Records on disk, in the open checkpoint and in memory only are seen; deleted ones are not."""
    stored, changed, volatile, deleted, unknown = keys(5)
    table = UrlTable(database, 0)
    table.put(stored, record("stored"))
    table.put(deleted, record("deleted"))
    commit(database, table)
    table.put(changed, record("changed"))
    table.put(volatile, record("volatile", Flag.VOLATILE))
    table.delete(deleted)
    found = table.contains_many([stored, changed, volatile, deleted, unknown])
    assert found == [True, True, True, False, False]
    assert [table.get(key) is not None for key in (stored, changed, volatile, deleted, unknown)] == found


@pytest.mark.parametrize("flags", [Flag.NONE, Flag.VOLATILE])
def test_many_records_are_put_as_one(database, flags):
    """Whether another one is in memory only, or one of them is."""
    first, second, other = keys(3)
    table = UrlTable(database, 0)
    table.put(other, record("other", flags))
    table.put_many({first: record("first", flags), second: record("second")})
    assert table.get_many([other, second, first]) == {key: table.get(key) for key in (other, second, first)}
    commit(database, table)
    assert [key for key in keys(3) if database.get("urls", key)] == ([second] if flags else [first, second, other])


@pytest.fixture
def read(monkeypatch):
    """The keys that were looked for on disk."""
    asked: list[bytes] = []
    get, get_many = Database.get, Database.get_many

    def noted(database, family, key):
        asked.append(key)
        return get(database, family, key)

    def noted_many(database, family, keys):
        asked.extend(keys)
        return get_many(database, family, keys)

    monkeypatch.setattr(Database, "get", noted)
    monkeypatch.setattr(Database, "get_many", noted_many)
    return asked


def test_a_url_is_read_once(database, read):
    """What was read or written once is in memory, also what is not there, and what changes meanwhile counts."""
    table = UrlTable(database, 0)
    known, unknown = keys(2)
    table.put(known, record("a"))
    commit(database, table)
    for _ in range(2):
        assert table.contains_many([known, unknown]) == [True, False]
        assert table.get_many([known, unknown])[unknown] is None
        assert table.get(known) == record("a")
    assert read == [unknown]
    table.put(unknown, record("b"))
    table.delete(known)
    assert table.contains_many([known, unknown]) == [False, True]
    commit(database, table)
    assert table.get_many([unknown, known]) == {unknown: record("b"), known: None}
    assert read == [unknown]


def test_few_records_stay_in_memory(database, read, monkeypatch):
    """Those that were asked for of late; every other is read again, and is what was written last."""
    monkeypatch.setattr(tables, "RECORDS_KEPT", 10)
    table = UrlTable(database, 0)
    popular, *others = keys(200)
    table.put(popular, record("old"))
    for n, key in enumerate(others):
        table.put(key, record(str(n)))
        if n == 100:
            table.put(popular, record("new"))
        assert table.get(popular) == record("new" if n >= 100 else "old")
        commit(database, table)
        assert len(table._stored) + len(table._stored_before) <= 2 * 11 + 1
    assert read == []
    assert [table.get(key) for key in others] == [record(str(n)) for n in range(len(others))]
    assert len(read) >= len(others) - 22
    assert table.get(popular) == record("new")


def test_a_record_moves_between_memory_and_disk(database):
    """A record that turns volatile leaves the disk, and one that is volatile no longer goes there."""
    (key,) = keys(1)
    table = UrlTable(database, 0)
    for flags, on_disk in ((Flag.NONE, True), (Flag.VOLATILE, False), (Flag.NONE, True)):
        table.put(key, record("a", flags))
        commit(database, table)
        assert (database.get("urls", key) is not None) == on_disk
        found = table.get(key)
        assert found
        assert found.flags == flags
    table.delete(key)
    assert table.get(key) is None


def test_one_host_for_one_name(database):
    """As long as a host is at work, its name and its key lead to the same object."""
    table = HostTable(database, lambda name: digest(name, 8))
    host = table.named("a.example")
    host.queued = 1
    table.changed(host)
    batch = database.batch()
    table.flush(batch)
    database.write(batch)
    table.flushed(now=0.0)
    assert table.named("a.example") is table.get(host.key) is host


def test_opening_reads_no_more_where_more_waits(tmp_path, monkeypatch):
    """What an opening reads depends on how many hosts and sections there are, and not on how many URLs wait."""
    rows: Counter[str] = Counter()
    for name in ("scan", "first_keys"):
        monkeypatch.setattr(Database, name, counted(getattr(Database, name), rows))
    read = []
    for waiting in (10, 500):
        bench = Bench(tmp_path / str(waiting), "aopic")
        for host in ("a.example", "b.example"):
            bench.add(*(f"{section}/{n}" for n in range(waiting) for section in ("p", "q", "r")), host=host)
        bench.commit()
        rows.clear()
        bench.crash()
        read.append((rows["queue"], rows["sections"], rows["hosts"], rows["urls"]))
        put_away(bench.database)
    assert read == [(6, 6, 2, 0)] * 2


def test_a_lost_host(tmp_path):
    """Sections without their host are damage, and no crawl without that host."""
    bench = Bench(tmp_path / "db")
    bench.add("p", host="a.example")
    bench.commit()
    batch = bench.database.batch()
    batch.delete("hosts", bench.host_key("a.example"))
    bench.database.write(batch)
    with pytest.raises(CorruptFile, match="is missing"):
        bench.crash()
    put_away(bench.database)


def counted(rows_of, rows):
    """`rows_of`, a method of `Database`, with the rows that it reads of each family counted in `rows`."""

    def count(database, family, *bounds):
        for row in rows_of(database, family, *bounds):
            rows[family] += 1
            yield row

    return count


def test_a_host_at_rest_leaves_memory_later(database):
    """A host with nothing to do stays until its rest is over, and goes at the next checkpoint after that."""
    table = HostTable(database, lambda name: digest(name, 8))
    host = table.named("a.example")
    host.free_at = 5.0
    table.changed(host)
    for now, there in ((0.0, True), (4.0, True), (5.0, False), (6.0, False)):
        batch = database.batch()
        table.flush(batch)
        database.write(batch)
        table.flushed(now)
        assert (host in table.live()) == there
    assert table.named("a.example") is not host


def test_a_host_with_a_request_under_way_stays(database):
    """A host whose last URL was dealt with before its download ended stays until that has ended."""
    table = HostTable(database, lambda name: digest(name, 8))
    host = table.named("a.example")
    host.active = 1
    table.changed(host)
    table.flushed(now=10.0)
    assert host in table.live()


# The worked example of docs/formats/database.md

EXAMPLE_KEY = bytes(range(16))


def example(path: Path) -> Database:
    """A crawl that has fetched its seed and found two things there: a link, and a form that the spider posts."""
    fingerprints = Fingerprinter(EXAMPLE_KEY)
    crawl = Bench(path, "bfs", host_key=fingerprints.host)
    seed, link = (
        Link(href, "a.example", key=fingerprints.url(href)) for href in ("http://a.example/", "http://a.example/x")
    )
    crawl.frontier.add([seed], depth=0)
    crawl.frontier.manners.slow_down("a.example", 2.5)
    visit = crawl.take("")
    crawl.link(visit, link)
    form = Request("http://a.example/search", method="POST", body=b"q=1", priority=5)
    key = fingerprints.request(form.method, form.url, form.body)
    found = Link(form.url, "a.example", priority=form.priority, key=key)
    crawl.frontier.add([found], depth=1, referrer=seed.key, asked=Asked(request=pack_request(form, Spider("any"))))
    crawl.finish(visit)
    crawl.commit()
    return crawl.database


def dump(database: Database) -> Iterator[str]:
    """Lines like `urls <key> <value>`, in hexadecimal, the value in rows of 16 bytes."""
    for family in FAMILIES:
        for key, value in database.scan(family):
            yield f"{family} {key.hex() if family != 'meta' else key.decode()}".rstrip()
            for start in range(0, len(value), 16):
                row = value[start : start + 16]
                text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
                yield f"    {row.hex(' '):47}  {text}"


def test_the_documented_example(tmp_path):
    """The rows that the documentation shows are, byte for byte and in their order, those of a crawl's database."""
    document = Path(__file__).parents[2] / "docs" / "formats" / "database.md"
    shown = rows_of(document.read_text().split("```\n")[1])
    database = example(tmp_path / "db")
    assert [row for row in rows_of("\n".join(dump(database)) + "\n") if row in shown] == shown
    put_away(database)


def rows_of(text: str) -> list[str]:
    """A dump's rows, each a line and the indented lines below it."""
    return re.findall(r"^\S.*\n(?:    .*\n)*", text, re.MULTILINE)
