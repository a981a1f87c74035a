"""The page store: what its index says against what its WARC files hold, up to the crawl's last checkpoint.

Rows and records are in the same order, that of storing. So one pass over both compares them all, and memory holds one
of each. What comes after the checkpoint is no fault: a kill leaves it, and the next start cuts it off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.checking.problems import Problem
from sitecrawl.checking.survey import records
from sitecrawl.checking.warcwalk import Stretch, walk
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.record import Flag
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.files import WarcFiles, serial_of
from sitecrawl.pagestore.index import Position
from sitecrawl.pagestore.options import WarcOptions
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY

SAMPLES: Final = 1_000
"""Rows that a quick check compares with their records."""
_ORPHANED_REVISITS = """
SELECT count(*) FROM pages AS again LEFT JOIN pages AS first ON first.id = again.revisit_of
WHERE again.revisit_of IS NOT NULL AND again.id <= ?
AND (first.id IS NULL OR first.revisit_of IS NOT NULL OR first.digest != again.digest OR first.id >= again.id)
"""
_REBUILD = "makes the index again from the WARC files, and has fetched again what is in none"


def _own_position(directory: Path, files: list[str]) -> Position:
    """What the page index says or, where it cannot be read, the end of the files."""
    try:
        with Index(directory) as index:
            return index.position
    except StorageError:
        name = files[-1] if files else None
        return Position(1, name, 0 if name is None else (directory / WARC_DIRECTORY / name).stat().st_size, 0)


class Index(PageReader):
    """The page index with what it says of itself. Raises `FormatMismatch`, `CorruptFile` or `StorageError`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        try:
            (position,) = self.rows("SELECT * FROM checkpoint")
            self.position = Position(*position)
            ((self.count, self.last_id),) = self.rows("SELECT count(*), coalesce(max(id), 0) FROM pages")
        except (StorageError, ValueError, TypeError) as error:
            self.close()
            raise CorruptFile(f"{self.path} has no checkpoint: {error}") from error

    def captures(self, last: int) -> Iterator[Capture]:
        """The rows up to the id `last`, in the order of storing."""
        for row in self._walk("id <= :end AND ", {"end": last}):
            if not _is_typed(row):
                raise CorruptFile(f"{self.path} has values of a type that their columns cannot have")
            yield row


def _is_typed(row: Capture) -> bool:
    """Whether what is compared with the files has its type: in SQLite a damaged row may hold anything."""
    texts = row.url, row.url_key, row.method, row.kind, row.digest, row.warc_file
    numbers = row.status, row.payload_size, row.warc_offset, row.warc_length
    return all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)


@dataclass(frozen=True, slots=True)
class PageStoreState:
    """What is there of a page store."""

    directory: Path
    position: Position | None
    """Of the crawl's last checkpoint; None before the first with pages."""
    files: list[str]
    fault: str = ""
    """Why the position is not the one in the crawl's database, but the page index's own; empty if it is."""

    @classmethod
    def of(cls, directory: Path, database: Database) -> PageStoreState:
        warcs = directory / WARC_DIRECTORY
        files = WarcFiles(warcs, WarcOptions()).listing() if warcs.is_dir() else []
        data = database.get("meta", PAGES)
        try:
            if data is not None:
                return cls(directory, Position(**json.loads(data)), files)
            if not any(record.flags & Flag.STORED for _, record in records(database)):
                return cls(directory, None, files)
            fault = "the position of the page store is missing"
        except (ValueError, TypeError) as error:
            fault = f"the position of the page store in {database.path} cannot be read: {error}"
        return cls(directory, _own_position(directory, files), files, fault)

    @property
    def exists(self) -> bool:
        return self.position is not None or bool(self.files) or (self.directory / INDEX_FILE).exists()

    def end_of(self, name: str, limit: Position) -> int | None:
        """Up to where the file counts: 0 for one that comes later, None for all of it."""
        last = -1 if limit.warc_file is None else serial_of(limit.warc_file)
        if serial_of(name) > last:
            return 0
        return limit.warc_offset if name == limit.warc_file else None


def check_store(state: PageStoreState, notes: list[str], *, quick: bool) -> Iterator[Problem]:
    """What is wrong with index and WARC files; what is only unfinished goes to `notes`."""
    if not state.exists:
        return
    try:
        index = Index(state.directory)
    except FormatMismatch:
        raise
    except StorageError as error:
        yield Problem(INDEX_FILE, str(error), _REBUILD)
        return
    with index:
        limit = state.position or Position()
        yield from _check_position(index, limit, notes)
        lengths = list(_check_lengths(state, limit))
        yield from lengths
        try:
            yield from _check_index(index, limit, quick=quick)
            compare = _check_samples if quick else _check_all
            yield from compare(state, index, limit)
        except CorruptFile as error:
            yield Problem(INDEX_FILE, str(error), _REBUILD)


def _check_position(index: Index, limit: Position, notes: list[str]) -> Iterator[Problem]:
    ahead = index.position.number - limit.number
    if ahead == 1 and index.position.last_id >= limit.last_id:
        more = index.position.last_id - limit.last_id
        notes.append(f"{more:,} captures are newer than the last checkpoint: the next start cuts them off")
    elif ahead > 0 and not limit.number:
        yield Problem(
            "db/meta",
            f"the page store counts {index.position.number:,} checkpoints with {index.position.last_id:,} captures, "
            "and the crawl's database knows of none: the database is lost or another crawl's",
            "restore db/ from a copy, or crawl into a new directory; the stored pages stay readable",
            repairable=False,
        )
    elif ahead > 0:
        yield Problem(
            "db",
            f"the database is {ahead:,} checkpoints behind the page store: it has lost its end",
            f"cuts the page store back; {index.position.last_id - limit.last_id:,} captures are fetched again",
        )
    elif ahead < 0 or index.position != limit:
        yield Problem(
            INDEX_FILE,
            f"the index ends at capture {index.position.last_id:,} of checkpoint {index.position.number:,}, the "
            f"crawl at capture {limit.last_id:,} of checkpoint {limit.number:,}",
            _REBUILD,
        )
    if index.last_id != index.position.last_id or index.count != index.last_id:
        yield Problem(
            INDEX_FILE,
            f"{index.count:,} rows, the last with the id {index.last_id:,}, where its checkpoint counts "
            f"{index.position.last_id:,}",
            _REBUILD,
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
            "cuts it at its last whole record, and has fetched again what is lost",
        )


def _check_index(index: Index, limit: Position, *, quick: bool) -> Iterator[Problem]:
    ((verdict,),) = index.rows("PRAGMA quick_check(1)" if quick else "PRAGMA integrity_check(1)")
    ((orphans,),) = index.rows(_ORPHANED_REVISITS, (limit.last_id,))
    if verdict != "ok":
        yield Problem(INDEX_FILE, f"SQLite says: {verdict}", _REBUILD)
    if orphans:
        yield Problem(INDEX_FILE, f"{orphans:,} revisits refer to a capture that has not their body", _REBUILD)


def _check_samples(state: PageStoreState, index: Index, limit: Position) -> Iterator[Problem]:
    stride = max(1, limit.last_id // SAMPLES)
    wrong, example = 0, ""
    for number in range(1, limit.last_id + 1, stride):
        capture = index.get(number)
        try:
            if capture is not None:
                index.read(capture)
        except StorageError as error:
            wrong += 1
            example = example or str(error)
    if wrong:
        yield Problem(INDEX_FILE, f"{wrong:,} sampled captures cannot be read back, the first: {example}", _REBUILD)


def _check_all(state: PageStoreState, index: Index, limit: Position) -> Iterator[Problem]:
    """The one pass over rows and records."""
    faults: Counter[str] = Counter()
    damaged = 0
    for pair in pairs(state, index.captures(limit.last_id), limit):
        if pair.stretch is None:
            faults["rows have no record"] += 1
        elif pair.stretch.record is None:
            damaged += 1
        elif pair.row is not None and (problem := disagreement(pair.row, pair.stretch)):
            faults[problem] += 1
        elif pair.row is None and pair.stretch.is_answer:
            faults["records have no row"] += 1
    if damaged:
        yield Problem(
            WARC_DIRECTORY,
            f"{damaged:,} stretches of the files hold no whole record",
            "takes them out of the files, and has fetched again what is lost",
        )
    if faults:
        told = ", ".join(f"{number:,} {what}" for what, number in sorted(faults.items()))
        yield Problem(INDEX_FILE, f"of {index.count:,} rows against the WARC files: {told}", _REBUILD)


class Pair(NamedTuple):
    """A stretch of a WARC file and the row that stands for it; None on the side where there is nothing.

    Requests, the files' own records and damage have no row.
    """

    name: str
    stretch: Stretch | None
    row: Capture | None


def pairs(state: PageStoreState, rows: Iterator[Capture], limit: Position) -> Iterator[Pair]:
    """All that the files hold up to `limit`, and all `rows`, in the order of storing."""
    row = next(rows, None)
    for name in state.files:
        end = state.end_of(name, limit)
        for stretch in walk(state.directory / WARC_DIRECTORY / name, end) if end != 0 else ():
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


def _place(row: Capture) -> tuple[int, int]:
    return serial_of(row.warc_file), row.warc_offset


def disagreement(row: Capture, stretch: Stretch) -> str:
    """What a row says and its record does not; empty if they agree."""
    found = stretch.record
    assert found is not None
    if row.warc_length != stretch.length:
        return "have another length"
    if found.fields.get("warc-target-uri") != record.warc_uri(row.url):
        return "have another URL"
    if (found.type == "revisit") != (row.revisit_of is not None):
        return "are revisits on one side only"
    if found.fields.get("warc-payload-digest") != f"sha1:{row.digest}":
        return "have another digest"
    if found.type == "response" and record.digest(record.parse_http(found.block).body) != row.digest:
        return "have a body of another digest"
    return ""
