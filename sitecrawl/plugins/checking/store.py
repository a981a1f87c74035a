"""The page store: what its index says against what its WARC files hold, up to the crawl's last checkpoint.

Rows and records are in the same order, that of storing. So one pass over both compares them all, and memory holds one
of each. What comes after the checkpoint is no fault: a kill leaves it, and the next start cuts it off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.urls.record import Flag
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.earlier import FILE as EARLIER
from sitecrawl.pagestore.files import Seal, WarcFiles, serial_of
from sitecrawl.pagestore.index import Position
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.plugins.checking.survey import records
from sitecrawl.plugins.checking.warcwalk import Stretch, walk

INDEX_AGAIN: Final = "--repair makes the index again from the WARC files"
_DATABASE_AGAIN: Final = "--repair makes the database again from the stored pages"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    where: str
    """The part of the crawl's directory."""
    what: str
    """What is wrong with it, in numbers where there are some."""
    remedy: str = _DATABASE_AGAIN
    """What `--repair` does about it or, if it can do nothing, what a person can do."""
    repairable: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. To do: {self.remedy}."


_ORPHANED_REVISITS = """
SELECT count(*) FROM pages AS again LEFT JOIN pages AS first ON first.id = again.revisit_of
WHERE again.revisit_of > 0 AND again.id <= ?
AND (first.id IS NULL OR first.revisit_of IS NOT NULL OR first.digest != again.digest OR first.id >= again.id)
"""
_PAGES: Final = frozenset({"page", "quarantined"})
_WITHDRAWN: Final = "other"
"""The kind of a page that another worker of the cluster has stored as well (`WarcStore.withdraw`)."""


def _known_position(database: Database) -> Position | None:
    """The position that the crawl's database holds. Raises `ValueError` or `TypeError` if it is not valid."""
    data = database.get("meta", PAGES)
    return None if data is None else Position(**json.loads(data))


def _contradiction(database: Database, known: Position | None, own: Position) -> str:
    """Why `known`, of the crawl's database, and `own`, of the page index, cannot both be right; empty if they can.

    A kill between their two commits leaves the page index one checkpoint ahead.
    """
    behind = own.number - (known or Position()).number
    if known is not None:
        return f"it is {behind:,} checkpoints behind the page store: it has lost its end" if behind > 1 else ""
    if any(record.flags & Flag.STORED for _, record in records(database)):
        return "the position of the page store is missing"
    if behind > 1 or (own.last_id and database.had_entries and next(database.scan("urls"), None) is None):
        return f"it knows of no page, and {own.last_id:,} captures are stored beside it: it has lost its rows"
    return ""


class Index(PageReader):
    """The page index with what it says of itself. Raises `FormatMismatch`, `CorruptFile` or `StorageError`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        try:
            (position,) = self.rows("SELECT * FROM checkpoint")
            self.position = Position(*position)
            ((self.count, self.newest),) = self.rows("SELECT count(*), coalesce(max(id), 0) FROM pages")
        except (StorageError, ValueError, TypeError) as error:
            self.close()
            raise CorruptFile(f"{self.path} has no checkpoint: {error}") from error

    def stored_pages(self, last_id: int) -> Iterator[Capture]:
        """Every page that came by GET, read or quarantined, up to a capture."""
        return (one for one in self.captures(last=last_id) if one.method == "GET" and one.kind in _PAGES)


class Pair(NamedTuple):
    """A stretch of a WARC file and the row that stands for it; None on the side where there is nothing.

    Requests, the files' own records and damage have no row.
    """

    name: str
    stretch: Stretch | None
    row: Capture | None


@dataclass(frozen=True, slots=True)
class PageStoreState:
    """The state of a page store."""

    directory: Path
    seal: Seal
    """That of the crawl's records."""
    position: Position | None
    """Up to where it counts: of the crawl's last checkpoint, or its own where `fault` says why that one cannot be
    used. None before the first with pages."""
    files: list[str]
    fault: str = ""
    """Why the position is not the one in the crawl's database; empty if it is."""

    @classmethod
    def of(cls, directory: Path, database: Database, key: bytes) -> PageStoreState:
        """`key` is the crawl's. Raises `StorageError`."""
        state = cls.without_database(directory, key)
        try:
            known = _known_position(database)
        except (ValueError, TypeError) as error:
            fault = f"the position of the page store in {database.path} cannot be read: {error}"
            return replace(state, fault=fault)
        own = state.own
        if own is None:
            is_lost = known is None and state.exists
            fault = "it knows of no page, and the page index beside it cannot be read" if is_lost else ""
            return replace(state, position=state.all if is_lost else known, fault=fault)
        fault = _contradiction(database, known, own)
        return replace(state, position=own if fault else known, fault=fault)

    @classmethod
    def without_database(cls, directory: Path, key: bytes) -> PageStoreState:
        """The state of a store whose crawl database cannot be read."""
        warcs = directory / WARC_DIRECTORY
        files = WarcFiles(warcs, WarcOptions()).listing() if warcs.is_dir() else []
        state = cls(directory, Seal(key), None, files)
        return replace(state, position=state.own or state.all) if state.exists else state

    @property
    def own(self) -> Position | None:
        """What the page index says; None where it cannot be read."""
        try:
            with Index(self.directory) as index:
                return index.position
        except StorageError:
            return None

    @property
    def all(self) -> Position:
        """The end of the files, whatever a checkpoint says."""
        number = 1 if self.position is None else self.position.number
        name = self.files[-1] if self.files else None
        size = 0 if name is None else (self.directory / WARC_DIRECTORY / name).stat().st_size
        return Position(number, name, size, 0)

    @property
    def exists(self) -> bool:
        return self.position is not None or bool(self.files) or (self.directory / INDEX_FILE).exists()

    def end_of(self, name: str, limit: Position) -> int | None:
        """Up to where the file counts: 0 for one that comes later, None for all of it."""
        last = -1 if limit.warc_file is None else serial_of(limit.warc_file)
        if serial_of(name) > last:
            return 0
        return limit.warc_offset if name == limit.warc_file else None

    def pairs(self, rows: Iterator[Capture], limit: Position) -> Iterator[Pair]:
        """All that the files hold up to `limit`, and all `rows`, in the order of storing."""
        row = next(rows, None)
        for name in self.files:
            end = self.end_of(name, limit)
            for stretch in walk(self.directory / WARC_DIRECTORY / name, self.seal, end) if end != 0 else ():
                while row is not None and _place(row) < (serial_of(name), stretch.offset):
                    yield Pair(row.warc_file, None, row)
                    row = next(rows, None)
                if row is not None and stretch.is_answer and _place(row) == (serial_of(name), stretch.offset):
                    yield Pair(name, stretch, row)
                    row = next(rows, None)
                else:
                    yield Pair(name, stretch, None)
        while row is not None:
            yield Pair(row.warc_file, None, row)
            row = next(rows, None)


def check_store(state: PageStoreState, notes: list[str]) -> Iterator[Problem]:
    """Problems of index and WARC files. Unfinished work is no problem and goes to `notes`."""
    if not state.exists:
        return
    try:
        index = Index(state.directory)
    except FormatMismatch:
        raise
    except StorageError as error:
        yield Problem(INDEX_FILE, str(error), INDEX_AGAIN)
        return
    with index:
        limit = state.position or Position()
        yield from _check_position(index, limit, notes)
        for position in dict.fromkeys((limit, index.position)):  # the store is cut back to its own before the crawl's
            yield from _check_lengths(state, position)
        try:
            yield from _check_index(index, limit)
            yield from _check_all(state, index, limit)
            yield from _check_earlier(index, limit)
        except CorruptFile as error:
            yield Problem(INDEX_FILE, str(error), INDEX_AGAIN)


def _check_position(index: Index, limit: Position, notes: list[str]) -> Iterator[Problem]:
    ahead = index.position.number - limit.number
    if ahead == 1 and index.position.last_id >= limit.last_id:
        more = index.position.last_id - limit.last_id
        notes.append(f"{more:,} captures are newer than the last checkpoint: the next start cuts them off")
    elif ahead < 0 or index.position != limit:
        yield Problem(
            INDEX_FILE,
            f"the index ends at capture {index.position.last_id:,} of checkpoint {index.position.number:,}, the "
            f"crawl at capture {limit.last_id:,} of checkpoint {limit.number:,}",
            INDEX_AGAIN,
        )
    if index.newest != index.position.last_id or index.count != index.newest:
        yield Problem(
            INDEX_FILE,
            f"{index.count:,} rows, the last with the id {index.newest:,}, where its checkpoint counts "
            f"{index.position.last_id:,}",
            INDEX_AGAIN,
        )


def _check_lengths(state: PageStoreState, limit: Position) -> Iterator[Problem]:
    name = limit.warc_file
    if name is None:
        return
    path = state.directory / WARC_DIRECTORY / name
    size = path.stat().st_size if path.exists() else 0
    if size < limit.warc_offset:
        yield Problem(
            f"{WARC_DIRECTORY}/{name}",
            f"it has {size:,} bytes, and the last checkpoint counts on {limit.warc_offset:,}",
            INDEX_AGAIN,
        )


def _check_index(index: Index, limit: Position) -> Iterator[Problem]:
    ((verdict,),) = index.rows("PRAGMA integrity_check(1)")
    ((orphans,),) = index.rows(_ORPHANED_REVISITS, (limit.last_id,))
    if verdict != "ok":
        yield Problem(INDEX_FILE, f"SQLite says: {verdict}", INDEX_AGAIN)
    if orphans:
        yield Problem(INDEX_FILE, f"{orphans:,} revisits refer to a capture that has not their body", INDEX_AGAIN)


def _check_all(state: PageStoreState, index: Index, limit: Position) -> Iterator[Problem]:
    """The one pass over rows and records."""
    faults: Counter[str] = Counter()
    damaged = 0
    for pair in state.pairs(index.captures(last=limit.last_id), limit):
        if pair.stretch is None:
            faults["rows have no record"] += 1
        elif pair.stretch.record is None:
            damaged += 1
        elif pair.row is not None and (problem := _disagreement(pair.row, pair.stretch)):
            faults[problem] += 1
        elif pair.row is None and pair.stretch.is_answer:
            faults["records have no row"] += 1
    if damaged:
        yield Problem(
            WARC_DIRECTORY,
            f"{damaged:,} stretches of the files hold no whole record",
            f"{INDEX_AGAIN}, and takes them out of these",
        )
    if faults:
        told = ", ".join(f"{number:,} {what}" for what, number in sorted(faults.items()))
        yield Problem(INDEX_FILE, f"of {index.count:,} rows against the WARC files: {told}", INDEX_AGAIN)


def _check_earlier(index: Index, limit: Position) -> Iterator[Problem]:
    """Whether the crawls before this one still have the bodies that it has from them."""
    captures = (capture for capture in index.held_elsewhere() if capture.id <= limit.last_id)
    lost = sum(index.earlier.find(capture.digest) is None for capture in captures)
    if lost and index.earlier.missing:
        names = ", ".join(map(str, index.earlier.missing))
        remedy = f"bring it back, or name its new place in {EARLIER}"
        what = f"the bodies of {lost:,} captures are in an earlier crawl, and {names} is not there"
        yield Problem(EARLIER, what, remedy, repairable=False)
    elif lost:
        what = f"{lost:,} captures have their bodies in an earlier crawl, and none that {EARLIER} names has them"
        yield Problem(INDEX_FILE, what, INDEX_AGAIN)


def _place(row: Capture) -> tuple[int, int]:
    return serial_of(row.warc_file), row.warc_offset


def _disagreement(row: Capture, stretch: Stretch) -> str:
    """What a row says and its record does not; empty if they agree."""
    found = stretch.record
    assert found is not None
    reading, given = record.reading_of(found), found.fields.get("warc-payload-digest")
    differences = {
        "have another length": row.warc_length != stretch.length,
        "have another URL": found.fields.get("warc-target-uri") != record.warc_uri(row.url),
        "are revisits on one side only": (found.type == "revisit") != (row.revisit_of is not None),
        "are of another kind": reading is not None and row.kind not in {reading.kind, _WITHDRAWN},
        "have another digest": given != f"sha1:{row.digest}",
    }
    if any(differences.values()):
        return next(what for what, differs in differences.items() if differs)
    if found.type != "revisit" and record.digest(record.message_of(found).body) != row.digest:
        return "have a body of another digest"
    return ""
