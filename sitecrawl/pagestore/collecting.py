"""The page stores of several workers, written into one: every page once, each record as it is, byte for byte.

A capture that does not count (`other`, or a page of which another worker has a later one) is left out, unless a later
capture refers to its body: then it comes along as `other`. Ids are new, and count up by when things were fetched, as
far as each worker has them so. Memory holds eight bytes a capture.
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
from sitecrawl.pagestore.gzipping import GZIP_WINDOW
from sitecrawl.pagestore.options import WarcOptions
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import WARC_DIRECTORY, WarcStore
from sitecrawl.pagestore.workers import WorkersReader, is_page

_CHUNK: Final = 500
_CHECKPOINT: Final = 10_000
"""Captures after which what is written is made durable."""


class Collected(NamedTuple):
    """What has been written, in captures."""

    captures: int
    pages: int
    left_out: int


class _Found(NamedTuple):
    """A capture of the worker `number`, and where its first record begins in its file."""

    capture: Capture
    start: int
    number: int
    is_wanted: bool


def collect(workers: Sequence[Path], target: Path, options: WarcOptions) -> Collected:
    """Write what the directories `workers` have stored into the directory `target`, which must hold nothing.

    Raises `StorageError` if it does, or files cannot be read or written, and `CorruptFile` for a damaged record. What
    is written by then is no page store: it is to be deleted.
    """
    with file_errors(target):
        if target.exists() and any(target.iterdir()):
            raise StorageError(f"{target} is not empty: name a new directory")
    with WorkersReader(target, workers) as reader, closing(WarcStore(target, options)) as store:
        return _Collecting(reader, store).run()


class _Collecting:
    def __init__(self, reader: WorkersReader, store: WarcStore) -> None:
        self._reader = reader
        self._store = store
        self._ids = [array("q", bytes(8 * (one.last_id + 1))) for one in reader.readers]
        """The new id of each capture, by its old one."""

    def run(self) -> Collected:
        found = (self._found(number, one) for number, one in enumerate(self._reader.readers))
        left_out = pages = 0
        for one in heapq.merge(*found, key=lambda one: one.capture.fetched):
            if one.is_wanted:
                self._copy(one)
                pages += is_page(one.capture)
            else:
                left_out += 1
        self._store.checkpoint()
        return Collected(self._store.last_id, pages, left_out)

    def _found(self, number: int, reader: PageReader) -> Iterator[_Found]:
        """All captures of a worker, in the order of its files."""
        originals = {row for (row,) in reader.rows("SELECT DISTINCT revisit_of FROM pages WHERE revisit_of > 0")}
        captures, file, end = reader.captures(last=len(self._ids[number]) - 1), "", 0
        for chunk in batches(captures, _CHUNK):
            counting = {capture.id for capture in self._reader.counting(reader, chunk) if capture.kind != "other"}
            for capture in chunk:
                start = end if capture.warc_file == file else 0
                file, end = capture.warc_file, capture.warc_offset + capture.warc_length
                kept = capture if capture.id in counting else capture._replace(kind="other")
                yield _Found(kept, start, number, capture.id in counting | originals)

    def _copy(self, found: _Found) -> None:
        capture, ids, reader = found.capture, self._ids[found.number], self._reader.readers[found.number]
        reader.stored_record(capture)  # what is damaged is not handed on
        path = reader.directory / WARC_DIRECTORY / capture.warc_file
        with file_errors(path), path.open("rb") as file:
            file.seek(found.start)
            before, response = file.read(capture.warc_offset - found.start), file.read(capture.warc_length)
        original = None if capture.revisit_of is None else ids[capture.revisit_of]
        ids[capture.id] = self._store.adopt(capture, _request(before), response, original)
        if self._store.last_id % _CHECKPOINT == 0:
            self._store.checkpoint()


def _request(before: bytes) -> bytes:
    """The request's record, which is the last of what stands before its response; nothing if none does."""
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
