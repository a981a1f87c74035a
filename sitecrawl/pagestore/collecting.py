"""The page stores of several workers made one: every page once.

`collect` writes them into a new one, each record as it is, byte for byte.

A capture that does not count (`other`, or a page of which another worker has a later one) is left out. A later one
that refers to its body is written with that body: so there is one record of a page, whatever was fetched twice. Only
the answer "not modified" has no body of its own, and takes the capture along that has it, as `other`.
Ids are new, and count up by when things were fetched, as far as each worker has them so. Memory holds eight bytes a
capture.

`merge` makes one page index over them where they are, with a row and a new id for each capture that counts. Records
stay in the workers' WARC files, to which there are links beside it. So a `PageReader` reads it like the store of one
process.
"""

from __future__ import annotations

import heapq
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.earlier import write_list
from sitecrawl.pagestore.gzipping import GZIP_WINDOW
from sitecrawl.pagestore.index import PageIndex
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY, WarcStore
from sitecrawl.pagestore.workers import NONE_VOID, Void, WorkersReader, is_page

_CHUNK: Final = 500
_CHECKPOINT: Final = 10_000
"""Captures between two checkpoints of the result."""


class _Collected(NamedTuple):
    """Numbers of written captures."""

    captures: int
    pages: int
    left_out: int


class _Found(NamedTuple):
    """A capture of the worker `number`, and the offset of its first record in its file."""

    capture: Capture
    start: int
    number: int
    counts: bool
    has_body_of_others: bool
    """Whether later captures refer to its body."""
    is_unmodified_since: bool
    """Whether one of them is a 304."""


def collect(workers: Sequence[Path], target: Path, options: WarcOptions, void: Void = NONE_VOID) -> _Collected:
    """Write the captures of the directories `workers` that are not `void` into the empty directory `target`.

    Raises `StorageError` if it is not empty, or files cannot be read or written, and `CorruptFile` for a damaged
    record. After an error the result is no page store: delete it.
    """
    with file_errors(target):
        if target.exists() and any(target.iterdir()):
            raise StorageError(f"{target} is not empty: name a new directory")
    with WorkersReader(target, workers, void) as reader, closing(WarcStore(target, options)) as store:
        return _Collecting(reader, store).run()


def _new_ids(workers: WorkersReader) -> list[array[int]]:
    """For each worker, an array for the new ids of its captures, by old id."""
    return [array("q", bytes(8 * (one.last_id + 1))) for one in workers.readers]


def _found_in(workers: WorkersReader, last: Sequence[int]) -> Iterator[_Found]:
    """Captures of all workers up to their `last` ids, merged by time."""
    found = (_of_one(workers, number, last[number]) for number in range(len(workers.readers)))
    return heapq.merge(*found, key=lambda one: one.capture.fetched)


def _of_one(workers: WorkersReader, number: int, last: int) -> Iterator[_Found]:
    """Captures of one worker, in the order of its files."""
    reader = workers.readers[number]
    originals, unmodified = set[int](), set[int]()
    for row, status in reader.rows("SELECT DISTINCT revisit_of, status FROM pages WHERE revisit_of > 0"):
        originals.add(row)
        if status == record.NOT_MODIFIED:
            unmodified.add(row)
    captures, file, end = reader.captures(last=last), "", 0
    for chunk in batches(captures, _CHUNK):
        counting = {capture.id for capture in workers.counting(reader, chunk) if capture.kind != "other"}
        for capture in chunk:
            start = end if capture.warc_file == file else 0
            file, end = capture.warc_file, capture.warc_offset + capture.warc_length
            kept = capture if capture.id in counting else capture._replace(kind="other")
            row = capture.id
            yield _Found(kept, start, number, row in counting, row in originals, row in unmodified)


class _Collecting:
    def __init__(self, reader: WorkersReader, store: WarcStore) -> None:
        self._reader = reader
        self._store = store
        self._ids = _new_ids(reader)

    def run(self) -> _Collected:
        left_out = pages = 0
        for one in _found_in(self._reader, [len(ids) - 1 for ids in self._ids]):
            if one.counts or one.is_unmodified_since:
                self._copy(one)
                pages += is_page(one.capture)
            else:
                left_out += 1
        self._store.checkpoint()
        return _Collected(self._store.last_id, pages, left_out)

    def _copy(self, found: _Found) -> None:
        capture, ids, reader = found.capture, self._ids[found.number], self._reader.readers[found.number]
        reader.stored_record(capture)  # what is damaged is not handed on
        path = reader.directory / WARC_DIRECTORY / capture.warc_file
        with file_errors(path), path.open("rb") as file:
            file.seek(found.start)
            before, response = file.read(capture.warc_offset - found.start), file.read(capture.warc_length)
        original = None if capture.revisit_of is None else ids[capture.revisit_of]
        if original == 0:  # it does not count, and is not here
            response = self._store.written(record.with_body(reader.stored_record(capture), reader.read(capture).body))
            original = None
        ids[capture.id] = self._store.adopt(capture, _request(before), response, original)
        if self._store.last_id % _CHECKPOINT == 0:
            self._store.checkpoint()


def _request(before: bytes) -> bytes:
    """The request's record: the last one before its response; empty without one."""
    member = b""
    while before:
        stream = zlib.decompressobj(GZIP_WINDOW)
        try:
            content = stream.decompress(before)
            is_request = stream.eof and record.parse(content).type == "request"
        except (zlib.error, ValueError):
            return b""
        rest = stream.unused_data
        member, before = before[: len(before) - len(rest)] if is_request else b"", rest
    return member


def merge(workers: WorkersReader, target: Path) -> None:
    """Make the index in the directory `target`. Raises `StorageError`."""
    ids = _new_ids(workers)
    with file_errors(target):
        (target / WARC_DIRECTORY).mkdir()
    with closing(PageIndex(target / INDEX_FILE)) as index:
        for found in _found_in(workers, [len(own) - 1 for own in ids]):
            capture = found.capture
            if not (found.counts or found.has_body_of_others):
                continue
            original = None if capture.revisit_of is None else ids[found.number][capture.revisit_of]
            ids[found.number][capture.id] = index.last_id + 1
            place = _linked(workers.readers[found.number].directory, found, target)
            index.add(_renamed(capture)._replace(id=index.last_id + 1, warc_file=place, revisit_of=original))
        index.commit(None, 0)
    if names := [str(path) for one in workers.readers for path in one.earlier.directories]:
        write_list(target, dict.fromkeys(names))


def _renamed(capture: Capture) -> Capture:
    """A copy without its URL key, for a capture that is kept only for its body."""
    return capture._replace(url_key="") if capture.kind == "other" else capture


def _linked(directory: Path, found: _Found, target: Path) -> str:
    """Name of the link to the WARC file of a capture of the store in `directory`."""
    name = f"{found.number}-{found.capture.warc_file}"
    link = target / WARC_DIRECTORY / name
    with file_errors(link):
        if not link.is_symlink():
            link.symlink_to((directory / WARC_DIRECTORY / found.capture.warc_file).resolve())
    return name
