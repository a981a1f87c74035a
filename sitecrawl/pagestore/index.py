"""The page index: a SQLite database with one row a capture (docs/formats/page-store.md).

Why SQLite: any tool reads it, it needs no server, and in WAL mode one writer and any number of readers do not
wait for one another, so a running crawl can be looked at. `synchronous=FULL` makes a commit durable before it
returns, which costs one fsync a checkpoint.

Invariants:
- Ids have no gaps: the row with id n is the n-th capture.
- The committed rows are those of the last checkpoint. What came after is in the open transaction.
- A row whose body is stored elsewhere (`revisit_of`) names an earlier row that has its own body, or is `ELSEWHERE`:
  then an earlier crawl has it (`pagestore.earlier`).
- A row has a checksum of its values: SQLite has none, so what damage has made of a row comes back as a row.

What a crash costs: nothing of what was committed. The crawl's own database may be one checkpoint behind (it
commits after this one); `cut` takes the rows back that it does not know.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, get_type_hints

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.capture import Capture, checksum, whole_row
from sitecrawl.pagestore.record import CaptureKind

_APPLICATION_ID = 0x53435047
"""`SCPG`: what `PRAGMA application_id` of every page index says."""
VERSION = 3
"""`PRAGMA user_version`: goes up with every change that an older reader would misread."""

ELSEWHERE = 0
"""The `revisit_of` of a row whose body an earlier crawl has stored."""

_TYPES = {
    str: "TEXT NOT NULL",
    str | None: "TEXT",
    CaptureKind: "TEXT NOT NULL",
    int: "INTEGER NOT NULL",
    int | None: "INTEGER",
    float: "REAL NOT NULL",
    float | None: "REAL",
}
_KEYS = {"id": "INTEGER PRIMARY KEY", "revisit_of": "INTEGER REFERENCES pages (id)"}
_COLUMNS = [f"{name} {_KEYS.get(name) or _TYPES[kind]}" for name, kind in get_type_hints(Capture).items()]
_SCHEMA = f"""
CREATE TABLE pages ({", ".join(_COLUMNS)}, checksum INTEGER NOT NULL);
CREATE INDEX pages_url_key ON pages (url_key);
CREATE INDEX pages_digest ON pages (digest) WHERE revisit_of IS NULL AND payload_size > 0;
CREATE TABLE checkpoint (
    number INTEGER NOT NULL,
    warc_file TEXT,
    warc_offset INTEGER NOT NULL,
    last_id INTEGER NOT NULL
);
INSERT INTO checkpoint VALUES (0, NULL, 0, 0);
"""  # noqa: S608 - only columns
_TABLES = {statement.strip() for statement in _SCHEMA.split(";") if "CREATE" in statement}
"""Tables and indexes as SQLite keeps them."""
ROW = ", ".join((*Capture._fields, "checksum"))
"""The columns of a row, for `whole_row`."""
_INSERT = "INSERT INTO pages VALUES (" + ", ".join("?" * (len(Capture._fields) + 1)) + ")"  # noqa: S608 - only marks
_WITHDRAW = "UPDATE pages SET kind = ?, url_key = ?, checksum = ? WHERE id = ?"
_ORIGINAL = """
SELECT id, url, fetched FROM pages
WHERE digest = ? AND revisit_of IS NULL AND payload_size > 0 AND url_key != '' LIMIT 1
"""
_LAST_VERSION = """
SELECT held.digest, coalesce(held.revisit_of, held.id), held.url, held.fetched
FROM pages AS last JOIN pages AS held ON held.id = coalesce(nullif(last.revisit_of, 0), last.id)
WHERE last.url_key = ? AND last.status = 200 AND last.method = 'GET' AND held.payload_size > 0
ORDER BY last.id DESC LIMIT 1
"""
_MEDIA_TYPE = "SELECT content_type FROM pages WHERE url_key = ? ORDER BY id DESC LIMIT 1"
_SAME = """
SELECT 1 FROM pages WHERE fetched BETWEEN :fetched - 1e-6 AND :fetched + 1e-6
AND +url_key = :url_key AND method = :method LIMIT 1
"""
"""Condition for the same exchange by time, to the microsecond. The plus keeps SQLite from scanning all captures
of the URL."""
_CHECKPOINT = "UPDATE checkpoint SET number = ?, warc_file = ?, warc_offset = ?, last_id = ?"
BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's files beside a database."""
_CACHE_KIB = 8 << 10
_BUSY_SECONDS = 30.0
_MAX_RECENT = 5_000
"""Digests remembered, about 0.4 kB each: most copies of a body come soon after it."""


class Position(NamedTuple):
    """Durable end of the store: everything before it is complete, nothing after it counts."""

    number: int = 0
    """Checkpoints so far."""
    warc_file: str | None = None
    """The current file; None before the first record."""
    warc_offset: int = 0
    """Its length in bytes."""
    last_id: int = 0
    """The newest row."""


class Original(NamedTuple):
    """The capture that holds a body."""

    id: int
    url: str
    fetched: float


class PageIndex:
    """The index for its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with file_errors(path):
            if not path.exists() or not path.stat().st_size:
                _create(path)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise
        self._recent: OrderedDict[str, Original] = OrderedDict()
        self._withdrawn = False

    def _prepare(self) -> None:
        _check_format(self._db, self.path)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self.last_id: int = self._db.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0]
        self.position = Position(*self._db.execute("SELECT * FROM checkpoint").fetchone())
        if self.last_id != self.position.last_id:
            raise CorruptFile(
                f"{self.path} ends at capture {self.last_id:,}, its last checkpoint at {self.position.last_id:,}: "
                "rows were deleted or added by hand. Restore it from a backup"
            )

    def add(self, capture: Capture) -> None:
        """Insert the row with the id `last_id + 1`; durable after the next `commit`."""
        assert capture.id == self.last_id + 1
        with file_errors(self.path):
            self._begin()
            self._db.execute(_INSERT, (*capture, checksum(capture)))
        self.last_id = capture.id
        if capture.revisit_of is None and capture.payload_size:
            self._remember(capture.digest, Original(capture.id, capture.url, capture.fetched))

    def withdraw(self, ids: Iterable[int]) -> None:
        """Turn these captures into `other`, without a URL key, with the next `commit`."""
        with file_errors(self.path):
            self._begin()
            for number in ids:
                row = self._db.execute(f"SELECT {ROW} FROM pages WHERE id = ?", (number,)).fetchone()  # noqa: S608
                if row is None or (capture := whole_row(row)) is None:
                    raise damaged_rows(self.path)
                capture = capture._replace(kind="other", url_key="")
                self._db.execute(_WITHDRAW, (capture.kind, capture.url_key, checksum(capture), number))
                self._recent.pop(capture.digest, None)
        self._withdrawn = True

    @property
    def has_changed(self) -> bool:
        """Whether there is anything to commit."""
        return self._withdrawn or self.last_id != self.position.last_id

    def original(self, digest: str) -> Original | None:
        """The capture with a stored body of this digest; None without one."""
        found = self._recent.get(digest)
        if found is None:
            with file_errors(self.path):
                row = self._db.execute(_ORIGINAL, (digest,)).fetchone()
            if row is None:
                return None
            found = Original(*row)
        self._remember(digest, found)
        return found

    def has(self, capture: Capture) -> bool:
        """Whether there is a row of the same exchange: same URL and time. Use it within `by_time`."""
        with file_errors(self.path):
            return self._db.execute(_SAME, capture._asdict()).fetchone() is not None

    @contextmanager
    def by_time(self) -> Iterator[None]:
        """Context in which rows can be found by their times. After an error the index, newly made, is invalid."""
        with file_errors(self.path):
            self._begin()
            self._db.execute("CREATE INDEX pages_fetched ON pages (fetched)")
        yield
        with file_errors(self.path):
            self._begin()
            self._db.execute("DROP INDEX pages_fetched")

    def last_version(self, url_key: str) -> tuple[str, Original] | None:
        """Digest of a URL's last success, and the capture with its body; None without one."""
        with file_errors(self.path):
            row = self._db.execute(_LAST_VERSION, (url_key,)).fetchone()
        return None if row is None else (row[0], Original(*row[1:]))

    def media_type(self, url_key: str) -> str | None:
        """Media type of a URL's last capture; None without one."""
        with file_errors(self.path):
            row = self._db.execute(_MEDIA_TYPE, (url_key,)).fetchone()
        return None if row is None else str(row[0])

    def commit(self, warc_file: str | None, warc_offset: int) -> None:
        """Make all rows durable together with their position. After an error they are lost."""
        position = Position(self.position.number + 1, warc_file, warc_offset, self.last_id)
        with file_errors(self.path):
            self._begin()
            self._db.execute(_CHECKPOINT, position)
            self._db.execute("COMMIT")
        self.position = position
        self._withdrawn = False

    def cut(self, position: Position) -> None:
        """Delete all rows after `position`, durably."""
        self._recent.clear()
        self._withdrawn = False
        with file_errors(self.path):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM pages WHERE id > ?", (position.last_id,))
            self._db.execute(_CHECKPOINT, position)
            self._db.execute("COMMIT")
        self.last_id, self.position = position.last_id, position

    def close(self) -> None:
        """Closes the database; rows that were not committed are dropped."""
        self._db.close()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _remember(self, digest: str, original: Original) -> None:
        self._recent[digest] = original
        self._recent.move_to_end(digest)
        if len(self._recent) > _MAX_RECENT:
            self._recent.popitem(last=False)


def _create(path: Path) -> None:
    """Create an empty index atomically, because readers may look for it at any moment.

    In WAL mode from the start: a kill during a later change of the mode leaves a journal, which no reader may roll
    back.
    """
    draft = path.with_name(f"{path.name}.new")
    # A database that is renamed would take what another one left for its own.
    for left in (draft, *(file.with_name(file.name + end) for file in (draft, path) for end in BESIDE)):
        left.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = MEMORY")
        db.executescript(
            f"BEGIN; {_SCHEMA} PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
        db.execute("PRAGMA journal_mode = WAL")
    draft.replace(path)
    sync_directory(path.parent)


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    """Raise `CorruptFile` for a database that is no page index, `FormatMismatch` for another version.

    Additional tables of others are ignored.
    """
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION_ID:
        raise CorruptFile(
            f"{path} is a SQLite database, but no page index of this crawler: "
            f"`scrapy check-crawl --repair {path.parent}` makes it again"
        )
    if version != VERSION:
        raise FormatMismatch(
            f"{path} has page index format {version}, and this version reads {VERSION}: use the version that wrote it"
        )
    if not {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema")} >= _TABLES:
        raise CorruptFile(
            f"{path} has not the tables of a page index: `scrapy check-crawl --repair {path.parent}` makes it again"
        )


def damaged_rows(path: Path) -> CorruptFile:
    return CorruptFile(
        f"{path} has rows that are not as they were written: "
        f"`scrapy check-crawl --repair {path.parent}` makes them again"
    )


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A read-only connection, usable while a crawl writes. Raises as `PageIndex` does."""
    with file_errors(path):
        if not path.is_file():
            raise StorageError(f"{path} is missing: {path.parent} holds no stored pages")
        uri = f"{path.resolve().as_uri()}?mode=ro"
        db = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_BUSY_SECONDS)
        try:
            _check_format(db, path)
        except BaseException:
            db.close()
            raise
    return db
