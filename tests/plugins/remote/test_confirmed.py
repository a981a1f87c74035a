"""What a crawl's database says that a store has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import REMOTE
from sitecrawl.frontier.reader import files_at, files_elsewhere
from sitecrawl.plugins.remote.copy import Confirmed
from sitecrawl.plugins.remote.store import Sent
from sitecrawl.urls.fingerprint import HASH_NAME

HERE, ELSEWHERE = "s3://bucket/a", "s3://bucket/b"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as opened:
        yield opened


def note(database: Database, url: str, *names: str) -> None:
    confirmed, batch = Confirmed(url, database), database.batch()
    for name in names:
        confirmed.note(batch, "10", Sent(name, 10, is_new=True))
    database.write(batch)


def test_what_is_noted_is_known_later(database: Database) -> None:
    """In the state that it was in, and no other."""
    note(database, HERE, "warc/a", "pages.sqlite")
    known = Confirmed(HERE, database)
    assert [known.has(name, "10") for name in ("warc/a", "pages.sqlite", "warc/b")] == [True, True, False]
    assert not known.has("warc/a", "11")
    assert known.warc_files == 1


def test_another_place_has_nothing(database: Database) -> None:
    """A crawl that is told to send its files elsewhere sends all of them."""
    note(database, HERE, "warc/a", "warc/b")
    assert not Confirmed(ELSEWHERE, database).has("warc/a", "10")
    note(database, ELSEWHERE, "warc/a")
    assert sorted(files_elsewhere(database)) == [files_at(HERE, 1), files_at(ELSEWHERE, 1)]


def test_what_cannot_be_read(database: Database) -> None:
    """It is an error that says what to do."""
    batch = database.batch()
    batch.put("meta", REMOTE + b"warc/a", b'{"at": 1}')
    database.write(batch)
    with pytest.raises(CorruptFile, match="restore"):
        Confirmed(HERE, database)


@pytest.mark.parametrize(("number", "said"), [(1, "1 WARC file at u"), (2_000, "2,000 WARC files at u")])
def test_in_words(number: int, said: str) -> None:
    """As the summary and the report have it."""
    assert files_at("u", number) == said
