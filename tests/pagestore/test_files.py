"""The crawl's mark on its records."""

from __future__ import annotations

import pytest
from pagestore_helpers import exchange

from sitecrawl.pagestore import record
from sitecrawl.pagestore.files import Seal

KEY = b"the crawl's key."


def response(body: bytes = b"<title>Hello</title>") -> bytes:
    of = exchange(body=body)
    return record.response(of, record.new_record_id(), record.digest(of.body))


def test_a_record_of_the_crawl() -> None:
    """It has its mark, and is what it was besides."""
    data = response()
    plain, sealed = record.parse(data), record.parse(Seal(KEY).put_on(data))
    assert Seal(KEY).is_on(sealed)
    assert not Seal(KEY).is_on(plain)
    assert sealed.block == plain.block
    assert len(sealed.fields.pop("x-crawler-seal")) == 32
    assert sealed.fields == plain.fields


def test_a_record_that_is_made_sealed() -> None:
    """It is what sealing it afterwards makes of it."""
    of, name = exchange(body=b"<p>"), record.new_record_id()
    sealed = record.response(of, name, record.digest(of.body), seal=Seal(KEY).field)
    assert sealed == Seal(KEY).put_on(record.response(of, name, record.digest(of.body)))
    assert Seal(b"").field(b"WARC/1.1") == b""


def test_a_record_of_another_crawl() -> None:
    """Its key is another one."""
    assert not Seal(KEY).is_on(record.parse(Seal(b"another").put_on(response())))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"site.example", b"evil.example"),
        (b"Hello", b"Hullo"),
        (b"T0", b"T1"),
        (b"Seal: ", b"Soul: "),
        (b"HTTP/1.1 200", b"HTTP/1.1 404"),
    ],
)
def test_a_record_that_was_changed(old: bytes, new: bytes) -> None:
    """In its head or in its block, and there in the body or in the HTTP head, which has no digest."""
    data = Seal(KEY).put_on(response())
    assert old in data
    assert not Seal(KEY).is_on(record.parse(data.replace(old, new, 1)))


def test_a_record_whose_block_has_a_digest() -> None:
    """That stands in the sealed head, so the block is not sealed a second time."""
    data = Seal(KEY).put_on(record.request(exchange(), record.new_record_id()))
    assert Seal(KEY).is_on(record.parse(data))
    assert not Seal(KEY).is_on(record.parse(data.replace(b"GET /", b"PUT /", 1)))


def test_a_mark_on_another_block() -> None:
    """The head of a record that was published does not vouch for other bytes of that length."""
    data = Seal(KEY).put_on(response(b"abc"))
    assert not Seal(KEY).is_on(record.parse(data.replace(b"abc\r\n\r\n", b"xyz\r\n\r\n")))


def test_a_store_without_a_crawl() -> None:
    """It has no key, marks nothing, and believes what is there."""
    data = response()
    assert Seal(b"").put_on(data) is data
    assert Seal(b"").is_on(record.parse(data))
