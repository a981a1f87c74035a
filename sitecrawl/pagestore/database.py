"""Pages in a table of any database that SQLAlchemy 2 reaches: SQLite, PostgreSQL, MySQL and MariaDB.

One row a URL and crawl: a page that is fetched again, because a crash came before the checkpoint or because the crawl
returns to it, replaces its row. (All versions are in the WARC files.) So writing is idempotent, and the frontier's
checkpoint, which comes after `flush`, never counts on a page that is not in the table.

Layout: `url_digest` stands for the URL in the primary key, because MySQL indexes 3,072 bytes at most and PostgreSQL
2,704, and URLs are longer. Bodies are LONGBLOB in MySQL, whose BLOB ends at 64 KB.

What a crash costs: the rows that no `flush` has written. The frontier still has to fetch them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)

from sitecrawl.base.errors import FormatMismatch, OptionError, StorageError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.capture import MAX_TITLE, address, clean_text
from sitecrawl.pagestore.lookup import host_of, url_key

logger = logging.getLogger(__name__)

CRAWL: Final = "crawl"
"""The column with the crawl's name, of every table."""

_FIRST_WAIT_SECONDS = 0.5
_AS_THEY_ARE = ("fetched", "status", "charset", "depth", "noindex", "size", "body")
"""Fields of a page that are stored unchanged."""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """Options of the database store."""

    url: str
    """SQLAlchemy URL, such as `postgresql+psycopg://user:password@host/database`."""
    crawl: str
    """The crawl's name, part of every row's key: up to 190 characters."""
    table: str = "pages"
    """The table's name. It is made if it is missing."""
    batch_rows: int = 200
    """Rows in one transaction, kept in memory until then, with their bodies."""
    patience: float = 30.0
    """Seconds of retries with growing pauses after a lost connection."""


def _page_table(name: str) -> sa.Table:
    """The table of pages: its columns mean what the fields of `PageItem` mean."""
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column("crawl", sa.String(190), primary_key=True),
        sa.Column("url_digest", sa.CHAR(32), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.String(300), nullable=False),
        sa.Column("fetched", sa.Double, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("content_type", sa.String(255), nullable=False),
        sa.Column("charset", sa.String(40)),
        sa.Column("title", sa.Text),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("referrer", sa.Text),
        sa.Column("canonical", sa.Text),
        sa.Column("noindex", sa.Boolean, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"), nullable=False),
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )


def _upsert(table: sa.Table, dialect: str) -> sa.Insert:
    """An INSERT that replaces the row of the same key, in the dialect's syntax. Raises `OptionError`."""
    values = [column.name for column in table.columns if not column.primary_key]
    if dialect in ("mysql", "mariadb"):
        into_mysql = mysql.insert(table)
        return into_mysql.on_duplicate_key_update({name: into_mysql.inserted[name] for name in values})
    if dialect not in ("postgresql", "sqlite"):
        raise OptionError(f"SITECRAWL_DATABASE_URL: {dialect} is none of sqlite, postgresql, mysql, mariadb")
    into = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    return into.on_conflict_do_update(
        index_elements=[column.name for column in table.primary_key],
        set_={name: into.excluded[name] for name in values},
    )


def _page_row(page: PageItem, crawl: str) -> dict[str, Any]:
    """The row for a page."""
    key = url_key(page.url)
    return {
        "crawl": clean_text(crawl)[:190],
        "url_digest": blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest(),
        "url": clean_text(page.url),
        "host": clean_text(host_of(key))[:300],
        "content_type": clean_text(page.content_type)[:255],
        "title": clean_text(page.title)[:MAX_TITLE] if page.title is not None else None,
        "referrer": address(page.referrer),
        "canonical": address(page.canonical),
        **{name: getattr(page, name) for name in _AS_THEY_ARE},
    }


class DatabaseStore(Participant):
    """Buffers pages and writes them in transactions. Thread-safe.

    Raises `OptionError` for an unusable URL, `FormatMismatch` for a table with other columns, and `StorageError`
    when the database fails; after that it accepts nothing, so that no checkpoint counts a lost page.
    """

    key: ClassVar[str] = "url_digest"
    """Key column of a crawl's rows."""
    what: ClassVar[str] = "pages"
    """Kind of rows, for messages."""
    make_table: Callable[[str], sa.Table] = staticmethod(_page_table)
    make_row: Callable[[Any, str], dict[str, Any]] = staticmethod(_page_row)

    def __init__(self, options: DatabaseOptions) -> None:
        self._options = options
        self._engine = _engine(options.url)
        self._pending: dict[str, dict[str, Any]] = {}
        self._pending_lock = threading.Lock()
        self._write_lock = threading.Lock()
        """Allows one transaction at a time, so that an earlier version of a page cannot replace a later one."""
        self._lost = ""
        """Why pages were lost; None before."""
        self.where = self._engine.url.render_as_string(hide_password=True)
        """The database's URL, for messages."""
        try:
            self._prepare()
        except BaseException as error:
            self.close()
            if isinstance(error, SQLAlchemyError):
                raise self._failure(error) from error
            raise

    @property
    def due(self) -> bool:
        """Whether enough rows are buffered for a transaction."""
        return len(self._pending) >= self._options.batch_rows

    def add(self, what: Any) -> None:
        """Buffer a page (or other item) for the next `flush`; it replaces one with the same key."""
        self._check_usable()
        row = self.make_row(what, self._options.crawl)
        with self._pending_lock:
            self._pending[row[self.key]] = row

    def flush(self) -> int:
        """Write the buffer in one transaction; return the number of rows. Blocks."""
        with self._write_lock:
            self._check_usable()
            with self._pending_lock:
                pending, self._pending = self._pending, {}
            if pending:
                self._write_patiently(list(pending.values()))
            return len(pending)

    def prepare(self, batch: Batch) -> None:
        """Flush for a checkpoint. It has no position to go back to: writing again changes nothing."""
        self.flush()

    def close(self) -> None:
        """Close the connections; call `flush` first."""
        self._engine.dispose()

    def _prepare(self) -> None:
        """Create the table, or check the existing one."""
        table = self.make_table(self._options.table)
        self._insert = _upsert(table, self._engine.dialect.name)
        table.create(self._engine, checkfirst=True)
        has = {column["name"] for column in sa.inspect(self._engine).get_columns(table.name)}
        if missing := sorted(set(table.columns.keys()) - has):
            raise FormatMismatch(
                f"the table {table.name!r} of {self.where} has no column {', '.join(missing)}: "
                "rename it, or name another database in SITECRAWL_DATABASE_URL"
            )

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        with self._engine.begin() as connection:
            connection.execute(self._insert, rows)

    def _write_patiently(self, rows: list[dict[str, Any]]) -> None:
        """Write, with retries while the connection fails and patience lasts."""
        wait, deadline = _FIRST_WAIT_SECONDS, time.monotonic() + self._options.patience
        while True:
            try:
                return self._write(rows)
            except SQLAlchemyError as error:
                if not _may_pass(error) or time.monotonic() + wait > deadline:
                    failure = self._failure(error)
                    self._lost = str(failure)
                    raise failure from error
                logger.warning("%s: %s. Trying again in %.1f s", self.where, _reason(error), wait)
            time.sleep(wait)
            wait *= 2

    def _check_usable(self) -> None:
        if self._lost:
            raise StorageError(self._lost)

    def _failure(self, error: SQLAlchemyError) -> StorageError:
        return StorageError(
            f"{self.where} takes no {self.what}: {_reason(error)}. All {self.what} of earlier checkpoints are safe; "
            "start the crawl again with the same directory when the database is well"
        )


def _engine(url: str) -> sa.Engine:
    try:
        return sa.create_engine(url, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise OptionError(f"SITECRAWL_DATABASE_URL is no SQLAlchemy URL of a known database: {error}") from None
    except ModuleNotFoundError as error:
        raise OptionError(f"SITECRAWL_DATABASE_URL needs the driver {error.name!r}: pip install it") from error


def _may_pass(error: SQLAlchemyError) -> bool:
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return lost or isinstance(error, (OperationalError, InterfaceError))


def _reason(error: SQLAlchemyError) -> str:
    """The driver's message, on one line and without the statement, whose parameters are whole pages."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())
