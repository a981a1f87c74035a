from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from pagestore_helpers import STARTED, exchange, page, warc_files

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.pagestore import PageFilter, PageReader, WarcStore

ROOT = "https://site.example/"
PDF = [(b"Content-Type", b"Application/PDF; x=y")]
SEARCH = "https://site.example/search?b=2&a=1"


@pytest.fixture
def crawl(tmp_path):
    """A crawl with one of each kind."""
    store = WarcStore(tmp_path)
    captures = [
        (exchange(ROOT, b"old"), True),
        (exchange(ROOT, b"new", started=STARTED + 10), True),
        (exchange(ROOT, b"oops", 503, started=STARTED + 20), False),
        (exchange(SEARCH, b"found"), True),
        (
            exchange("https://site.example/a_b%25", b"%PDF", headers=[(b"Content-Type", b"application/pdf; x=y")]),
            False,
        ),
        (exchange("http://other.example:8080/gone", b"gone", 404), False),
        (exchange("http://other.example:8080/robots.txt", b"User-agent: *"), False),
        (exchange("http://plain.example/", b"", 301, [(b"Location", b"https://plain.example/")]), False),
    ]
    for of, is_page in captures:
        store.put(of, page(of) if is_page else None)
    store.checkpoint()
    store.close()
    return tmp_path


@pytest.fixture
def reader(crawl):
    with PageReader(crawl) as reader:
        yield reader


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        (ROOT, ROOT),
        ("https://site.example", ROOT),
        ("site.example", ROOT),
        (" SITE.example/ ", ROOT),
        ("https://site.example/#part", ROOT),
        ("https://site.example/search?a=1&b=2", SEARCH),
        ("site.example/search?b=2&a=1", SEARCH),
        ("other.example:8080/gone", "http://other.example:8080/gone"),
        ("plain.example", "http://plain.example/"),
    ],
)
def test_a_url_is_found_as_people_type_it(reader, typed, url):
    """Without scheme, slash or order of parameters, in any case, with a fragment."""
    assert [capture.url for capture in reader.find(typed)] == [url]


@pytest.mark.parametrize("typed", ["", "https://", "unknown.example", "site.example/nope", "://", "\0"])
def test_what_is_not_stored_is_not_found(reader, typed):
    """Nothing stored, or nothing that is a URL: an empty list."""
    assert reader.find(typed) == []


def test_the_best_capture_is_the_newest_page(reader):
    """A later error does not hide a page that was stored; `all` lists everything, newest first."""
    (best,) = reader.find(ROOT)
    assert reader.read(best).body == b"new"
    assert [reader.read(capture).body for capture in reader.find(ROOT, all=True)] == [b"oops", b"new", b"old"]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (PageFilter(), [1, 2, 3, 4, 5, 6, 7, 8]),
        (PageFilter(status=404), [6]),
        (PageFilter(host="other.example:8080"), [6, 7]),
        (PageFilter(host="other.example"), []),
        (PageFilter(content_type="text/html"), [1, 2, 3, 4, 6, 7]),
        (PageFilter(content_type="application"), [5]),
        (PageFilter(url_like="search?"), [4]),
        (PageFilter(url_like="http:*gone"), [6]),
        (PageFilter(url_like="a_b%25"), [5]),
        (PageFilter(url_like="sit_.example"), []),
        (PageFilter(since=STARTED + 10), [2, 3]),
        (PageFilter(kind="page"), [1, 2, 4]),
        (PageFilter(kind="redirect"), [8]),
        (PageFilter(kind="page", since=STARTED + 1, status=200), [2]),
    ],
)
def test_filters(reader, wanted, ids):
    """Each filter alone, and several together, in the order of storing."""
    assert [capture.id for capture in reader.pages(wanted)] == ids


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 8, 100])
def test_a_limit_cuts_the_list(reader, limit, monkeypatch):
    """Also where it falls on the border of two queries."""
    monkeypatch.setattr("sitecrawl.pagestore.reader._CHUNK", 2)
    newest = [capture.id for capture in reader.newest_pages(100)]
    assert [capture.id for capture in reader.newest_pages(limit)] == newest[:limit]


def test_reading_while_a_crawl_writes(crawl):
    """A reader sees each checkpoint as it is made, holds up no writer, and lists on across it."""
    store = WarcStore(crawl)
    with PageReader(crawl) as reader:
        listing = reader.pages()
        assert next(listing).id == 1
        for number in range(3):
            of = exchange(f"https://site.example/live/{number}", b"live %d" % number)
            store.put(of, page(of))
            assert reader.find(of.url) == []
            store.checkpoint()
            (capture,) = reader.find(of.url)
            assert reader.read(capture).body == of.body
        assert [capture.id for capture in listing] == list(range(2, 9))
    store.close()


def test_a_directory_without_a_store(tmp_path):
    """No index is an error that names the directory."""
    with pytest.raises(StorageError, match="holds no stored pages"):
        PageReader(tmp_path)


def test_a_missing_file_is_named(crawl, reader):
    """A WARC file that was moved away is named, with the URL that was in it."""
    warc_files(crawl)[0].unlink()
    with pytest.raises(StorageError, match=r"\.warc\.gz is missing.*site\.example"):
        reader.read(reader.find(ROOT)[0])


@pytest.mark.parametrize("damage", [lambda data: data[:500], lambda data: bytes(len(data))])
def test_a_damaged_record_is_named(crawl, reader, damage):
    """A record that does not read is an error with file and offset, never a shorter body."""
    path = warc_files(crawl)[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorruptFile, match="no intact record at offset"):
        reader.read(reader.find(SEARCH)[0])


def on_schema(crawl, change, *values):
    """Let the text that defines the table `pages` be `change`; returns what it was."""
    with closing(sqlite3.connect(crawl / "pages.sqlite")) as index, index:
        index.execute("PRAGMA writable_schema = ON")
        ((before,),) = index.execute("SELECT sql FROM sqlite_schema WHERE name = 'pages'")
        index.execute(f"UPDATE sqlite_schema SET sql = {change} WHERE name = 'pages'", values)
    return before


def test_a_column_of_another_name(crawl):
    """A flipped bit can rename one, and to SQLite that is a table like any other."""
    on_schema(crawl, "replace(sql, 'referrer', 'refesrer')")
    with pytest.raises(CorruptFile, match="has not the tables of a page index"):
        PageReader(crawl)


def test_what_others_have_put_beside_the_tables(crawl):
    """An index of one's own, or a view, is no damage."""
    with closing(sqlite3.connect(crawl / "pages.sqlite")) as index, index:
        index.execute("CREATE INDEX mine ON pages (title)")
        index.execute("CREATE VIEW titles AS SELECT title FROM pages")
    with PageReader(crawl) as reader:
        assert reader.get(1) is not None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("fetched", "NULL"), ("fetched", "'x'"), ("fetched", "1e300"), ("fetched", "-1.0"), ("fetched", "9e999"),
        ("payload_size", "x'00'"), ("payload_size", "1 << 60"), ("status", "'x'"),
        ("url", "x'00'"), ("title", "x'00'"),
        ("warc_offset", "-5"), ("warc_length", "1 << 62"), ("charset", "x'ff'"), ("revisit_of", "'x'"),
        ("title", "'another'"), ("fetched", "fetched + 0.001"), ("url_key", "url_key || '/'"), ("depth", "NULL + 1"),
        ("checksum", "checksum + 1"), ("checksum", "'x'"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_as_it_was_written(crawl, column, value):
    """SQLite gives whatever damage has made of a row: it is named, and not passed on."""
    as_it_was = on_schema(crawl, "replace(sql, 'NOT NULL', '')")
    with closing(sqlite3.connect(crawl / "pages.sqlite")) as index, index:
        index.execute(f"UPDATE pages SET {column} = {value} WHERE id = 1")
    on_schema(crawl, "?", as_it_was)
    with PageReader(crawl) as reader:
        with pytest.raises(CorruptFile, match="not as they were written"):
            list(reader.pages())
        assert reader.get(2) is not None


def test_a_length_beyond_the_file(crawl, reader):
    """No more is read than the file has."""
    with pytest.raises(CorruptFile, match="no intact record at offset"):
        reader.read(reader.get(1)._replace(warc_length=1 << 52))


def test_a_body_that_changed_is_noticed(crawl, reader):
    """The index's digest is checked at every reading: a record of another page is no answer."""
    first, second = reader.get(1), reader.get(4)
    wrong = first._replace(warc_offset=second.warc_offset, warc_length=second.warc_length)
    with pytest.raises(CorruptFile, match="another digest"):
        reader.read(wrong)


def test_a_last_slash_may_be_left_out(tmp_path):
    """A folder is found without its slash, unless another page has that very URL."""
    store = WarcStore(tmp_path)
    for url in ("https://site.example/docs/", "https://site.example/both", "https://site.example/both/"):
        store.put(of := exchange(url, url.encode()), page(of))
    store.checkpoint()
    store.close()
    with PageReader(tmp_path) as reader:
        found = [reader.find(text)[0].url for text in ("site.example/docs", "https://site.example/both")]
        assert found == ["https://site.example/docs/", "https://site.example/both"]
        assert reader.find("site.example/nothing") == []
