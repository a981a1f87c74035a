"""A WARC file from its first byte to its last: its records, and what between them is none.

Where a record is damaged, the next one is looked for at every place where a gzip member may begin. Bodies come from
the web, and what does not compress stands in the file as it came: so who serves them can put a million beginnings
there, each of which unpacks to all that comes after it, and to no record. So what is unpacked in vain is counted: a
file may cost `Work.LEAST` bytes and, for each byte that was passed, `Work.PER_BYTE` more. Who is out of them looks at
no more beginnings until enough has been passed. Whole records cost nothing of it, for there each byte is read once.

Such a beginning can also be that of a whole record, of a page that its author would like the crawl to have. So what
is found by looking for it has to have the crawl's seal; what follows directly on a record of the crawl is one, too.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore import record
from sitecrawl.pagestore.files import Seal
from sitecrawl.pagestore.gzipping import GZIP_WINDOW
from sitecrawl.pagestore.record import Record

_MEMBER: Final = b"\x1f\x8b\x08"
"""How a gzip member begins (RFC 1952)."""
_RECORD: Final = b"WARC/"
_FIRST_STEP: Final = 1 << 10
"""Bytes of a member that are unpacked at first: what stands behind its end is copied."""
_STEP: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes of one record, or bytes that are no record."""

    offset: int
    end: int
    record: Record | None

    @property
    def length(self) -> int:
        return self.end - self.offset

    @property
    def is_answer(self) -> bool:
        """Whether it is what the page index has a row for."""
        return self.record is not None and self.record.type in record.ANSWERS


class _Work:
    """What may still be unpacked in vain: see the module."""

    LEAST: ClassVar[int] = 5 << 28
    """Bytes: more than a record has with the DOWNLOAD_MAXSIZE of Scrapy itself, and some seconds."""
    PER_BYTE: ClassVar[int] = 16
    """Bytes."""
    BEGIN: ClassVar[int] = 4 << 10
    """Bytes that could be unpacked in the time that it takes to begin."""

    def __init__(self) -> None:
        self.left = self.LEAST
        self.spent = 0
        self._passed = 0

    def passed(self, offset: int) -> None:
        """The file was looked at up to `offset`."""
        self.left += self.PER_BYTE * max(0, offset - self._passed)
        self._passed = max(self._passed, offset)

    def spend(self, size: int) -> None:
        self.left -= size
        self.spent += size


def walk(path: Path, seal: Seal, end: int | None = None, work: _Work | None = None) -> Iterator[Stretch]:
    """The stretches of `path`, in their order and without gaps, up to the offset `end`; `seal` is the crawl's."""
    with file_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        if not size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _walk(data, seal, size if end is None else min(end, size), work or _Work())


def _walk(data: mmap.mmap, seal: Seal, end: int, work: _Work) -> Iterator[Stretch]:
    offset = 0
    while offset < end:
        found = _record(data, offset, end, work)
        if found is None:
            found = Stretch(offset, _next_record(data, seal, offset + 1, end, work), None)
        yield found
        offset = found.end


def _next_record(data: mmap.mmap, seal: Seal, start: int, end: int, work: _Work) -> int:
    """Where the next record begins; `end` if none does."""
    while (start := data.find(_MEMBER, start, end)) >= 0:
        if _record(data, start, end, work, seal) is not None:
            return start
        start += 1
    return end


def _record(data: mmap.mmap, offset: int, end: int, work: _Work, seal: Seal | None = None) -> Stretch | None:
    """The record that begins at `offset`, if one does, is whole, and there is work left to find it; one that has not
    `seal` is none.
    """
    work.passed(offset)
    if work.left <= 0:
        return None
    unpacking = _Unpacking(data, offset, end)
    try:
        found = record.parse(unpacking.content(work.left))
    except (zlib.error, ValueError):
        found = None
    if found is None or not (seal is None or seal.is_on(found)):
        work.spend(_Work.BEGIN + unpacking.size)
        return None
    return Stretch(offset, unpacking.at, found)


class _Unpacking:
    """Takes a gzip member apart."""

    def __init__(self, data: mmap.mmap, offset: int, end: int) -> None:
        self._data = data
        self._end = end
        self.at = offset
        """Where what was not unpacked yet begins."""
        self.size = 0
        """Bytes that came out so far."""

    def content(self, most: int) -> bytes:
        """Raises `ValueError` or `zlib.error` for what is no whole member of at most so many bytes with a record."""
        stream = zlib.decompressobj(GZIP_WINDOW)
        parts: list[bytes] = []
        step = _FIRST_STEP
        while not stream.eof:
            given = self._data[self.at : min(self.at + step, self._end)]
            parts.append(stream.decompress(given, most + 1 - self.size))
            self.size += len(parts[-1])
            self.at += len(given) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
            step = min(2 * step, _STEP)
            if len(parts) == 1 and not _RECORD.startswith(parts[0][: len(_RECORD)]):
                raise ValueError("no WARC record")
            if self.size > most or (not given and not parts[-1]):
                raise ValueError("too large, or not whole")
        return b"".join(parts)
