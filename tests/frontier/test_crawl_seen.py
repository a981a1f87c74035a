"""A crawl's seen set: its filter is kept between runs, and made again from the table of URLs if it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from database_files import database_at, put_away
from frontier_helpers import digest
from seen_helpers import of_another_kind

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord
from sitecrawl.frontier.urls.tables import UrlTable

KNOWN = [digest(str(number)) for number in range(50)]


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[tuple[Database, UrlTable]]:
    """A database, and its table of the URLs `KNOWN`."""
    database = database_at(tmp_path / "db", "test")
    table, batch = UrlTable(database, count=len(KNOWN)), database.batch()
    for key in KNOWN:
        record = UrlRecord("http://a.example/", host=b"12345678", section=b"1234", rank=bytes(RANK_BYTES))
        table.put(key, record)
    table.flush(batch)
    database.write(batch)
    table.flushed()
    yield database, table
    put_away(database)


def kept(tmp_path: Path) -> CrawlSeen:
    return CrawlSeen(tmp_path / "seen.bloom", SeenOptions(capacity=10, cache=1), hash_name="test")


@pytest.mark.parametrize(
    ("change", "serial", "is_made_again"),
    [
        (lambda _: None, 50, False),
        (lambda _: None, 51, True),
        (Path.unlink, 50, True),
        (lambda file: file.write_bytes(b""), 50, True),
        (of_another_kind, 50, True),
    ],
    ids=["as it was saved", "before further URLs", "gone", "empty", "of another kind"],
)
def test_the_next_run(
    stored: tuple[Database, UrlTable],
    tmp_path: Path,
    change: Callable[[Path], None],
    serial: int,
    is_made_again: bool,
) -> None:
    """It knows what was known, whatever has become of the filter, or of the URLs since it was saved."""
    database, urls = stored
    first = kept(tmp_path).open(database, urls, 50)
    while first.is_filling:
        first.add_new([])
    kept(tmp_path).save(database, first, 50)
    change(tmp_path / "seen.bloom")
    seen = kept(tmp_path).open(database, urls, serial)
    assert seen.is_filling == is_made_again
    assert seen.contains_many(KNOWN) == [True] * len(KNOWN)
    assert seen.add_new([KNOWN[0], digest("new")]) == [digest("new")]
