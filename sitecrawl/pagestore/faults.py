"""One wording for what can go wrong with the page store's files."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sitecrawl.base.errors import CorruptFile, StorageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turns `OSError` and `sqlite3.Error` about `path` into `StorageError` or `CorruptFile`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _database_error(path, error) from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(_full(path)) from error
        raise StorageError(f"{path} cannot be used: {error.strerror or error}") from error


def _database_error(path: Path, error: sqlite3.Error) -> StorageError:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return StorageError(_full(path))
    if name.startswith(_DAMAGED):
        return CorruptFile(
            f"{path} is no intact SQLite database ({error}): "
            f"`scrapy check-crawl --repair {path.parent}` makes it again"
        )
    return StorageError(f"{path} cannot be used: {error}")


def _full(path: Path) -> str:
    return (
        f"the disk is full: {path} cannot grow. All pages of earlier checkpoints are safe; "
        "free some space and start the crawl again with the same directory"
    )
