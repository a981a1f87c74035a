"""The format of each store of a crawl, and what becomes of a crawl that another version wrote.

The page index can be made again from the WARC files, so an older one is. There is no way from older formats of
`crawl.json` and of the database: which URLs are known and wait stands in them alone.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from rocksdict import AccessType, Options, Rdict

from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.crawldir import database, directory, meta
from sitecrawl.pagestore import index
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair

_DATABASE: Final = "db"
_WANTED: Final = {
    directory.MANIFEST: str(directory.FORMAT),
    _DATABASE: database.FORMAT.decode(),
    INDEX_FILE: str(index.VERSION),
}
"""Stores, and the format that this version reads."""


def _formats_in(path: Path) -> dict[str, str]:
    """The format of each store of the crawl in `path`; without those that cannot be read."""
    read = {directory.MANIFEST: _of_manifest, _DATABASE: _of_database, INDEX_FILE: _of_index}
    found: dict[str, str] = {}
    for name, format_of in read.items():
        with contextlib.suppress(Exception):  # what is damaged is none of another version
            found[name] = format_of(path / name)
    return found


def refuse_other_version(path: Path) -> None:
    """Raise `FormatMismatch` for the crawl of another version: to a repair it would be a damaged one of this."""
    found = _formats_in(path)
    if found.get(_DATABASE, _WANTED[_DATABASE]) == _WANTED[_DATABASE]:
        return
    told = ", ".join(f"{name} has format {found[name]} (here {_WANTED[name]})" for name in found)
    raise FormatMismatch(
        f"{path} is a crawl of another version: {told}. Nothing leads from there to here: go on with that version, "
        "or begin in a new directory. Any program for WARC files reads its pages"
    )


def upgrade(path: Path) -> CheckResult:
    """Bring the crawl in `path` to the formats of this version, and check it. It can be stopped and begun again.

    Raises `FormatMismatch` where there is no way, otherwise as `check` does.
    """
    refuse_other_version(path)
    version = int(_formats_in(path).get(INDEX_FILE, index.VERSION))
    if version >= index.VERSION:
        return check(path)
    for ending in ("", "-wal", "-shm"):
        (path / (INDEX_FILE + ending)).unlink(missing_ok=True)
    _, after = repair(path)
    return after


def _of_manifest(path: Path) -> str:
    return str(json.loads(path.read_bytes())["format"])


def _of_database(path: Path) -> str:
    tables = {name: Options(raw_mode=True) for name in Rdict.list_cf(str(path))}
    rdict = Rdict(str(path), Options(raw_mode=True), tables, access_type=AccessType.read_only())
    try:
        stored = rdict.get_column_family("meta").get(meta.FORMAT)
        if stored is None:
            raise CorruptFile(f"{path} names no format")
        return bytes(stored).decode()
    finally:
        rdict.close()


def _of_index(path: Path) -> str:
    """SQLite's `user_version` as its file has it at the head: to open it would leave files beside it."""
    with path.open("rb") as file:
        head = file.read(64)
    if not head.startswith(b"SQLite format 3\0"):
        raise CorruptFile(f"{path} is no SQLite database")
    return str(int.from_bytes(head[60:], "big"))
