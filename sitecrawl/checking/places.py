"""Files of a crawl that have changed places with one another: each is whole, and stands under the other's name.

By its content most files are of one kind, and by its name every file is. Where one file alone should be of a kind and
is not, and another alone is and should not be, the two have changed places. Of a log, and of the small files of
RocksDB, only the name tells; but what has changed places with one of them is put back, and so are they.

To put two back takes three steps: the one gets a second name beside the other's place, the other is moved to the
place of the one, and the second name becomes the other's. `finish_exchange` knows by what is there how far a crash
let it come.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.checking.problems import Problem
from sitecrawl.crawldir.directory import MAGIC, MANIFEST
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.frontier.crawl_seen import SEEN_FILE
from sitecrawl.pagestore.files import is_name_of_ours
from sitecrawl.pagestore.index import APPLICATION_ID
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.seen.bloom import MAGIC as BLOOM

_ENDS: Final = 4_096
"""Bytes that are looked at, at a file's beginning and at its end: a whole manifest."""
_MOVING: Final = ".moving"


class _Ends(NamedTuple):
    """What is looked at of a file."""

    first: bytes
    last: bytes


class _Kind(NamedTuple):
    """What a file may be."""

    name: str
    """A pattern for its path in the crawl's directory."""
    has_content: Callable[[_Ends], bool]


def _is_manifest(ends: _Ends) -> bool:
    try:
        content = json.loads(ends.first)
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("magic") == MAGIC


def _is_index(ends: _Ends) -> bool:
    """By the head of a SQLite file (https://www.sqlite.org/fileformat.html, section 1.3)."""
    return ends.first.startswith(b"SQLite format 3\0") and ends.first[68:72] == APPLICATION_ID.to_bytes(4, "big")


_KINDS: Final = (
    _Kind(re.escape(MANIFEST), _is_manifest),
    _Kind(re.escape(INDEX_FILE), _is_index),
    _Kind(re.escape(INDEX_FILE) + "-wal", lambda ends: ends.first[:3] == b"\x37\x7f\x06"),
    _Kind(re.escape(SEEN_FILE), lambda ends: ends.first.startswith(BLOOM)),
    _Kind(rf"{WARC_DIRECTORY}/.+", lambda ends: ends.first.startswith(b"\x1f\x8b\x08")),
    _Kind(r"db/\d+\.sst", lambda ends: ends.last.endswith(b"\xf7\xcf\xf4\x85\xb7\x41\xe2\x88")),
)
"""The number at a table's end is that of RocksDB's block-based tables."""


def exchanged(directory: Path) -> Iterator[tuple[Path, Path]]:
    """The pairs of files that have changed places. Raises `StorageError`."""
    found = [(file, str(file.relative_to(directory)), _ends(file)) for file in _files(directory)]
    for kind in _KINDS:
        lost = [file for file, name, ends in found if re.fullmatch(kind.name, name) and not kind.has_content(ends)]
        away = [file for file, name, ends in found if kind.has_content(ends) and not re.fullmatch(kind.name, name)]
        if len(lost) == len(away) == 1:
            yield lost[0], away[0]
            found = [row for row in found if row[0] not in {lost[0], away[0]}]


def check_places(directory: Path) -> Iterator[Problem]:
    for one, other in exchanged(directory):
        yield Problem(
            str(one.relative_to(directory)),
            f"it has changed places with {other.relative_to(directory)}",
            "puts both back",
        )


def put_back(directory: Path) -> None:
    """Let all that have changed places do so again. Raises `StorageError`."""
    with file_errors(directory):
        finish_exchange(directory)
        for one, other in exchanged(directory):
            moving = other.with_name(other.name + _MOVING)
            os.link(one, moving)
            other.replace(one)
            moving.rename(other)
            sync_directory(one.parent)
            sync_directory(other.parent)


def finish_exchange(directory: Path) -> None:
    """Do what a crash in `put_back` has left to be done, or undo what it has begun."""
    for moving in (*directory.glob(f"*{_MOVING}"), *directory.glob(f"*/*{_MOVING}")):
        place = moving.with_name(moving.name.removesuffix(_MOVING))
        if place.exists():
            moving.unlink()
        else:
            moving.rename(place)


def _files(directory: Path) -> Iterator[Path]:
    """Those that a crawl writes, and no copy that someone has put beside them."""
    beside = (f"{INDEX_FILE}-wal", f"{INDEX_FILE}-shm")
    for name in (MANIFEST, INDEX_FILE, *beside, SEEN_FILE):
        if (directory / name).is_file():
            yield directory / name
    for folder in ("db", WARC_DIRECTORY):
        for file in sorted((directory / folder).glob("*")):
            if file.is_file() and (folder == "db" or is_name_of_ours(file.name)):
                yield file


def _ends(file: Path) -> _Ends:
    with file_errors(file), file.open("rb") as content:
        first = content.read(_ENDS)
        content.seek(max(0, file.stat().st_size - _ENDS))
        return _Ends(first, content.read())
