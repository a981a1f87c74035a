"""Errors of a crawl's files as `StorageError`."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from sitecrawl.base.errors import CorruptFile, StorageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_NO_TEXT = "Could not decode to UTF-8"
"""Beginning of the message of an unnamed `sqlite3` error: a stored text is no UTF-8."""


def file_errors(path: Path) -> AbstractContextManager[None, None]:
    """Context that turns `OSError` and `sqlite3.Error` about `path` into `StorageError` or `CorruptFile`."""
    return _Told(path)


class _Told:
    """A class, as it is entered several times a page: a generator would cost four times as much."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _database_error(self._path, error) from error
        if isinstance(error, OSError):
            raise file_error(self._path, error) from error


def file_error(path: Path, error: OSError) -> StorageError:
    if error.errno in _FULL:
        return disk_full(path)
    return StorageError(f"{path} cannot be used: {error.strerror or error}")


def _database_error(path: Path, error: sqlite3.Error) -> StorageError:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return disk_full(path)
    if name.startswith(_DAMAGED) or str(error).startswith(_NO_TEXT):
        return CorruptFile(
            f"{path} is no intact SQLite database ({error}): "
            f"`scrapy check-crawl --repair {path.parent}` makes it again"
        )
    return StorageError(f"{path} cannot be used: {error}")


def disk_full(path: Path) -> StorageError:
    return StorageError(f"The disk of {path} is full: free some space and start again; nothing stored is lost")
