"""A copy of the page index as it is now, in one file, for another place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.index import connect_read_only


def write_snapshot(index: Path, target: Path) -> None:
    """Of the last commit; the crawl may write on meanwhile. Not in WAL mode: a folder that cannot be written to will
    do for who reads it. Raises `StorageError`.
    """
    with file_errors(target):
        target.unlink(missing_ok=True)
        with closing(connect_read_only(index)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
