from __future__ import annotations

import gzip
import os
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pagestore_helpers import STARTED, assert_checkers_pass, exchange, faults, page, stored, warc_files
from warcio.archiveiterator import ArchiveIterator

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.pagestore import PageReader, WarcOptions, WarcStore
from sitecrawl.urls.url import MAX_URL_LENGTH

ANY_HEADERS = st.lists(st.tuples(st.binary(min_size=1, max_size=12), st.binary(max_size=40)), max_size=6)


@pytest.fixture
def store(tmp_path):
    store = WarcStore(tmp_path)
    yield store
    store.close()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.text(max_size=20), ANY_HEADERS, st.binary(max_size=300)), min_size=1, max_size=6))
def test_any_exchange_is_stored_and_accepted_by_both_checkers(answers):
    """Hostile URLs, headers and bodies come back, and leave files that warcio and FastWARC accept."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        store = WarcStore(directory)
        for path, headers, body in answers:
            store.put(exchange(f"http://site.example/{path}", body, headers=headers))
        store.checkpoint()
        store.close()
        with PageReader(directory) as reader:
            payloads = [reader.read(capture).payload for capture in reader.pages()]
        assert payloads == [body for _, _, body in answers]
        assert_checkers_pass(directory)


def test_both_checkers_look(tmp_path, store):
    """A body that is not the one whose digest stands there is accepted by neither."""
    store.put(exchange(body=b"the page"))
    store.checkpoint()
    (path,) = warc_files(tmp_path)
    assert faults(path) == {}
    path.write_bytes(gzip.decompress(path.read_bytes()).replace(b"the page", b"the rage"))
    assert faults(path.rename(tmp_path / "plain.warc"), "--verify-payloads").keys() == {"warcio", "fastwarc"}


def test_only_a_response_has_no_digest_of_its_block(tmp_path, store):
    """The digest of its payload is one of all but a few of the same bytes."""
    store.put(exchange(body=b"the page"))
    store.put(exchange(body=b"the page"))
    store.checkpoint()
    (path,) = warc_files(tmp_path)
    with path.open("rb") as file:
        found = [(one.rec_type, "WARC-Block-Digest" in one.rec_headers) for one in ArchiveIterator(file)]
    assert found == [
        ("warcinfo", True), ("request", True), ("response", False), ("request", True), ("revisit", True)
    ]  # fmt: skip


def test_a_page_has_its_facts_in_the_index(tmp_path, store):
    """The row says what the spider read off the page, and where the record is."""
    of = exchange(body=gzip.compress(b"<title>T</title>"), headers=[(b"Content-Encoding", b"gzip")])
    store.put(of, page(of, title="T\ud800\0", depth=3, referrer="http://site.example/up", size=16, noindex=True))
    store.checkpoint()
    with PageReader(tmp_path) as reader:
        (capture,) = reader.pages()
        read = reader.read(capture)
    assert (capture.kind, capture.title, capture.depth, capture.noindex) == ("page", "T?\ufffd", 3, 1)
    assert (capture.size, capture.payload_size) == (16, len(of.body))
    assert (capture.fetched, capture.seconds, capture.host) == (STARTED, 0.5, "site.example")
    assert (read.payload, read.body) == (of.body, b"<title>T</title>")


@pytest.mark.parametrize(
    ("of", "kind", "redirect_to"),
    [
        (exchange("http://site.example/robots.txt", b"", 404), "robots", None),
        (exchange(status=302, headers=[(b"location", b"../x?y")]), "redirect", "http://site.example/x?y"),
        (exchange(status=302, headers=[(b"Location", b"http://[bad")]), "redirect", None),
        (exchange(status=302), "other", None),
        (exchange(status=500), "error", None),
        (exchange(status=204, body=b""), "other", None),
    ],
)
def test_what_is_no_page_is_told_apart(tmp_path, store, of, kind, redirect_to):
    """Redirects, errors and robots.txt are stored and named for what they are."""
    store.put(of)
    store.checkpoint()
    with PageReader(tmp_path) as reader:
        (capture,) = reader.pages()
    assert (capture.kind, capture.redirect_to) == (kind, redirect_to)


def test_a_duplicate_body_is_stored_once(tmp_path, store):
    """The second capture of a body is a revisit record, before and after a checkpoint and in another process."""
    body = b"the same page " * 100
    store.put(exchange("http://site.example/1", body))
    store.put(exchange("http://site.example/2", body))
    store.checkpoint()
    store.put(exchange("http://site.example/3", body))
    store.checkpoint()
    store.close()
    again = WarcStore(tmp_path)
    again.put(exchange("http://site.example/4", body, headers=[(b"ETag", b"new")]))
    again.checkpoint()
    with PageReader(tmp_path) as reader:
        captures = list(reader.pages())
        assert [capture.revisit_of for capture in captures] == [None, 1, 1, 1]
        assert {reader.read(capture).body for capture in captures} == {body}
        assert reader.read(captures[3]).headers == [(b"ETag", b"new")]
    again.close()
    with warc_files(tmp_path)[0].open("rb") as file:
        revisits = [r.rec_headers for r in ArchiveIterator(file) if r.rec_type == "revisit"]
    assert [r.get_header("WARC-Refers-To-Target-URI") for r in revisits] == ["http://site.example/1"] * 3
    assert_checkers_pass(tmp_path)


def test_a_304_stands_for_the_last_version(tmp_path, store):
    """What a URL had before that is not what the server speaks of."""
    for number, (body, status) in enumerate([(b"old", 200), (b"new", 200), (b"", 304)]):
        store.put(exchange(body=body, status=status, started=STARTED + number))
    store.checkpoint()
    with PageReader(tmp_path) as reader:
        *_, capture = reader.captures()
        assert (capture.status, capture.revisit_of, reader.read(capture).body) == (304, 2, b"new")


def test_empty_bodies_are_no_duplicates(tmp_path, store):
    """Redirects without a body have nothing in common that would be worth a reference."""
    for number in range(3):
        store.put(exchange(f"http://site.example/{number}", b"", 301))
    store.checkpoint()
    with PageReader(tmp_path) as reader:
        assert [capture.revisit_of for capture in reader.pages()] == [None] * 3


@pytest.mark.parametrize("max_file_size", [1, 1_000, 2_000, 3_000, 10_000])
def test_files_roll_and_every_record_is_found(tmp_path, max_file_size):
    """With any size limit each file begins with a warcinfo record, none is larger than it must be, none is lost."""
    store = WarcStore(tmp_path, WarcOptions(name="my crawl/1", max_file_size=max_file_size))
    pages = [(f"http://site.example/{number}", b"%d" % number * 50) for number in range(12)]
    for url, body in pages:
        store.put(exchange(url, body))
        store.checkpoint()
    store.close()
    assert stored(tmp_path) == pages
    for path in warc_files(tmp_path):
        assert path.name.startswith("my-crawl-1-")
        with path.open("rb") as file:
            types = [record.rec_type for record in ArchiveIterator(file)]
        assert types[0] == "warcinfo"
        assert path.stat().st_size <= max_file_size or types[1:] == ["request", "response"]
    assert_checkers_pass(tmp_path)


def test_a_file_is_synced_before_the_next_begins(tmp_path, monkeypatch):
    """Checkpoints sync the current file alone, and no kill of a process shows what is missing on the disk."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    store = WarcStore(tmp_path, WarcOptions(max_file_size=1))
    for number in range(3):
        store.put(exchange(f"http://site.example/{number}"))
    *earlier, _ = warc_files(tmp_path)
    assert len(earlier) == 2
    assert {path.stat().st_ino for path in earlier} <= set(synced)
    store.close()


def test_request_and_response_belong_together(tmp_path, store):
    """A request record is concurrent to the response record after it."""
    store.put(exchange())
    store.checkpoint()
    with warc_files(tmp_path)[0].open("rb") as file:
        _, request, response = [record.rec_headers for record in ArchiveIterator(file)]
    assert request.get_header("WARC-Concurrent-To") == response.get_header("WARC-Record-ID")
    assert request.get_header("WARC-Date") == response.get_header("WARC-Date")


def test_headers_larger_than_readers_take_leave_a_readable_file(tmp_path, store):
    """A header flood is cut to what FastWARC reads: the records after it are still found."""
    store.put(exchange(headers=[(b"X-%d" % number, b"x" * 7_000) for number in range(50)]))
    store.put(exchange(headers=[(b"X", b"x" * 29_000)], body=b"second"))
    store.put(exchange("http://site.example/" + "u" * (MAX_URL_LENGTH - 20), b"third"))
    store.checkpoint()
    assert_checkers_pass(tmp_path)
    from fastwarc.warc import ArchiveIterator as FastIterator

    assert sum(1 for _ in FastIterator(str(warc_files(tmp_path)[0]))) == 7


def test_a_url_longer_than_readers_take_is_refused(tmp_path, store):
    """One such record would make the whole file unreadable to FastWARC."""
    with pytest.raises(InvalidUrl, match="not stored"):
        store.put(exchange("http://site.example/" + "u" * MAX_URL_LENGTH))
    assert store.checkpoint()["last_id"] == 0


def test_readers_see_rows_when_the_checkpoint_is_made(tmp_path, store, monkeypatch):
    """Until then they are in the open transaction, where a digest that is remembered no more is found as well."""
    monkeypatch.setattr("sitecrawl.pagestore.index._MAX_RECENT", 4)
    numbers = count()
    for _ in range(10):
        store.put(exchange(f"http://site.example/{next(numbers)}", b"%d" % (next(numbers) % 7)))
    with PageReader(tmp_path) as reader:
        assert list(reader.pages()) == []
        store.checkpoint()
        captures = list(reader.pages())
    assert len(captures) == 10
    assert len({capture.digest for capture in captures if capture.revisit_of is None}) == 7


class TestFinishedFiles:
    """Files that nothing changes any more: what is sent elsewhere."""

    def test_what_comes_next_begins_another(self, tmp_path: Path) -> None:
        """The finished one stays as it is, also when the store is opened again and cut back."""
        store = WarcStore(tmp_path)
        store.put(exchange("http://a.example/1"))
        position = store.checkpoint()
        store.finish_file()
        (first,) = store.files(with_current=True)
        content = first.read_bytes()
        store.put(exchange("http://a.example/2"))
        assert store.files(with_current=False) == []  # the crawl's database does not know of the second yet
        store.checkpoint()
        assert store.files(with_current=False) == [first]
        store.close()
        again = WarcStore(tmp_path)
        again.recover(position)
        assert first.read_bytes() == content
        assert again.files(with_current=True) == [first]
        again.close()

    def test_nothing_stored(self, tmp_path: Path) -> None:
        """There is no file to finish."""
        store = WarcStore(tmp_path)
        store.finish_file()
        assert store.files(with_current=True) == []
        store.close()
