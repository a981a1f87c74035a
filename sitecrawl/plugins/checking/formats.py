"""What becomes of a crawl that another version wrote.

The page index can be made again from the WARC files, so an older one is. There is no way from older formats of the
database: which URLs are known and wait stands there alone.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from rocksdict import AccessType, Options, Rdict

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.crawldir import database, meta
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair


def refuse_other_version(path: Path) -> None:
    """Raise `FormatMismatch` for the crawl of another version: to a repair it would be a damaged one of this."""
    found = None
    with contextlib.suppress(Exception):  # what is damaged is none of another version
        found = _format_of(path / "db")
    if found is not None and found != database.FORMAT:
        raise FormatMismatch(
            f"{path} is a crawl of another version: its database has format {found.decode()} (here "
            f"{database.FORMAT.decode()}). Nothing leads from there to here: go on with that version, or begin in a "
            "new directory. Any program for WARC files reads its pages"
        )


def upgrade(path: Path) -> CheckResult:
    """Bring the crawl in `path` to the formats of this version, and check it. It can be stopped and begun again.

    Raises `FormatMismatch` where there is no way, otherwise as `check` does.
    """
    refuse_other_version(path)
    try:
        PageReader(path).close()
    except FormatMismatch:
        for ending in ("", "-wal", "-shm"):
            (path / (INDEX_FILE + ending)).unlink(missing_ok=True)
        return repair(path)[1]
    except StorageError:
        pass  # `check` says what is wrong
    return check(path)


def _format_of(path: Path) -> bytes | None:
    tables = {name: Options(raw_mode=True) for name in Rdict.list_cf(str(path))}
    rdict = Rdict(str(path), Options(raw_mode=True), tables, access_type=AccessType.read_only())
    try:
        return rdict.get_column_family("meta").get(meta.FORMAT)
    finally:
        rdict.close()
