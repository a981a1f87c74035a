from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa
from pagestore_helpers import NO_BATCH, exchange, page
from waiting import until

from sitecrawl.base.errors import FormatMismatch, OptionError, StorageError
from sitecrawl.pagestore.database import DatabaseOptions, DatabaseStore, _page_table


def opened(url: str, **options) -> DatabaseStore:
    return DatabaseStore(DatabaseOptions(url=url, crawl="test", **options))


def rows(url: str, table: str = "pages") -> list[sa.Row[Any]]:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(sa.select(_page_table(table)).order_by(sa.text("url"))).all()
    engine.dispose()
    return list(found)


def numbered(number: int, **facts):
    of = exchange(f"http://site.example/{number}", b"body %d" % number)
    return page(of, **facts)


def test_a_page_comes_back_as_it_was(url):
    """Facts and bytes, with characters that databases stumble over replaced in text and kept in bodies."""
    body = bytes(range(256)) * 1_000
    of = exchange("http://site.example/?q=%00", body)
    store = opened(url)
    store.add(page(of, title="T\0\ud800\N{SNOWMAN}" + "x" * 5_000, referrer="http://site.example/" + "r" * 9_000))
    assert store.flush() == 1
    store.close()
    (row,) = rows(url)
    assert (row.url, row.host, row.status, row.noindex) == (of.url, "site.example", 200, False)
    assert row.title.startswith("T\ufffd?\N{SNOWMAN}xxx")
    assert len(row.title) == 2_000
    assert row.referrer is None
    assert bytes(row.body) == body


def test_a_page_is_stored_once(url):
    """Fetched again, in the same batch or after a crash, a page replaces its row; another crawl has its own."""
    store = opened(url)
    store.add(numbered(1, title="first"))
    store.add(numbered(1, title="second"))
    assert store.flush() == 1
    store.close()
    again = opened(url)
    again.add(numbered(1, title="third"))
    again.add(numbered(2))
    again.prepare(NO_BATCH)
    again.close()
    other = DatabaseStore(DatabaseOptions(url=url, crawl="other"))
    other.add(numbered(1, title="other"))
    other.prepare(NO_BATCH)
    other.close()
    assert sorted((row.crawl, row.title or "") for row in rows(url)) == [
        ("other", "other"),
        ("test", ""),
        ("test", "third"),
    ]


def test_long_urls_fit_the_key(url):
    """URLs longer than any index takes, that differ in the last character only, are two rows."""
    store = opened(url)
    for end in "ab":
        store.add(page(exchange("http://site.example/" + "x" * 7_900 + end)))
    store.prepare(NO_BATCH)
    store.close()
    assert len(rows(url)) == 2


def test_nothing_is_lost_between_threads(url):
    """Pages added while another thread writes are in the next transaction."""
    store = opened(url, batch_rows=7)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.flush()

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(300):
        store.add(numbered(number))
    stop.set()
    writer.join()
    store.prepare(NO_BATCH)
    store.close()
    assert len(rows(url)) == 300


def test_a_batch_is_due(url):
    """The store says when there are enough rows for a transaction."""
    store = opened(url, batch_rows=2)
    store.add(numbered(1))
    due = [store.due]
    store.add(numbered(2))
    due.append(store.due)
    store.flush()
    due.append(store.due)
    store.close()
    assert due == [False, True, False]


def test_a_table_of_other_columns_is_refused(url):
    """A table that is not ours is named, not written to."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE pages (url TEXT)"))
    engine.dispose()
    with pytest.raises(FormatMismatch, match="has no column body, canonical"):
        opened(url)
    opened(url, table="crawled").close()
    assert rows(url, "crawled") == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("no url", "no SQLAlchemy URL"),
        ("unheard://host/db", "no SQLAlchemy URL"),
        ("mssql+pyodbc://host/db", "pip install|none of sqlite"),
    ],
)
def test_a_url_that_cannot_be_used(url, message):
    """A wrong or unsupported SITECRAWL_DATABASE_URL is said at the start."""
    with pytest.raises(OptionError, match=message):
        opened(url)


def test_a_database_that_does_not_open():
    """No connection at the start is an error at once, and shows no password."""
    with pytest.raises(StorageError, match="takes no pages") as caught:
        opened("postgresql+psycopg://me:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value)


def test_a_connection_that_comes_back(postgres, caplog):
    """While the server restarts the writer waits, and loses nothing."""
    store = opened(postgres.url, table="restarted", patience=60)
    store.add(numbered(1))
    store.flush()
    postgres.stop()
    store.add(numbered(2))
    writer = threading.Thread(target=store.flush)
    writer.start()
    until(lambda: "Trying again" in caplog.text, "the writer has found the server gone")
    postgres.start()
    writer.join()
    store.close()
    assert [row.url for row in rows(postgres.url, "restarted")] == ["http://site.example/1", "http://site.example/2"]


def test_a_connection_that_stays_away(postgres):
    """After its patience the store says why, and lets no checkpoint pass over the lost pages."""
    store = opened(postgres.url, table="lost", patience=0)
    postgres.stop()
    try:
        store.add(numbered(1))
        with pytest.raises(StorageError, match="start the crawl again"):
            store.flush()
        with pytest.raises(StorageError, match="takes no pages"):
            store.prepare(NO_BATCH)
        with pytest.raises(StorageError, match="takes no pages"):
            store.add(numbered(2))
    finally:
        postgres.start()
        store.close()


def test_a_row_that_the_database_refuses(tmp_path):
    """An error that waiting does not mend is not tried again."""
    url = f"sqlite:///{tmp_path / 'pages.db'}"
    store = opened(url, patience=1_000)
    item = numbered(1)
    item.status = None
    store.add(item)
    with pytest.raises(StorageError, match="NOT NULL"):
        store.flush()
    store.close()
