"""What the open checkpoint has changed over what the database holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from frontier_helpers import Bench, digest
from scrapy import Request, Spider

from sitecrawl.fingerprint import Fingerprinter
from sitecrawl.frontier.frontier import NewUrl
from sitecrawl.frontier.record import RANK_BYTES, Flag, UrlRecord
from sitecrawl.frontier.tables import HostTable, Overlay, UrlTable
from sitecrawl.requests import pack_request
from sitecrawl.storage import FAMILIES, Database


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "db", hash_name="test")
    yield database
    database.close()


def commit(database, *tables):
    batch = database.batch()
    for table in tables:
        table.flush(batch)
    database.write(batch)
    for table in tables:
        table.flushed()


def record(name: str, flags: Flag = Flag.NONE) -> UrlRecord:
    return UrlRecord(f"http://a.example/{name}", b"12345678", b"1234", 0, bytes(RANK_BYTES), flags=flags)


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
    crawl = Bench(path, "bfs", host_key=lambda name: fingerprints.opaque(name.encode())[8:])
    seed, link = (
        NewUrl(fingerprints.url(href), href, "a.example") for href in ("http://a.example/", "http://a.example/x")
    )
    crawl.frontier.add([seed], depth=0)
    crawl.frontier.slow_down("a.example", 2.5)
    visit = crawl.take("")
    crawl.link(visit, link)
    form = Request("http://a.example/search", method="POST", body=b"q=1", priority=5)
    key = fingerprints.request(form.method, form.url, form.body)
    crawl.frontier.add_request(
        NewUrl(key, form.url, "a.example"),
        depth=1,
        priority=form.priority,
        flags=Flag.NONE,
        request=pack_request(form, Spider("any")),
        referrer=seed.key,
    )
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
    """A crawl's database is, byte for byte, what the documentation shows."""
    document = Path(__file__).parents[1] / "docs" / "formats" / "database.md"
    shown = document.read_text().split("```\n")[1]
    database = example(tmp_path / "db")
    assert "\n".join(dump(database)) + "\n" == shown
    database.close()
