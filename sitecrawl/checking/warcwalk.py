"""A WARC file from its first byte to its last: its records, and what between them is none."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore import record
from sitecrawl.pagestore.gzipping import GZIP_WINDOW
from sitecrawl.pagestore.record import Record

_MEMBER: Final = b"\x1f\x8b\x08"
"""How a gzip member begins (RFC 1952)."""
_CHUNK: Final = 256 << 10


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
        return self.record is not None and self.record.type in {"response", "revisit"}


def walk(path: Path, end: int | None = None) -> Iterator[Stretch]:
    """The stretches of `path`, in their order and without gaps, up to the offset `end`."""
    with file_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        if not size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _walk(data, size if end is None else min(end, size))


def _walk(data: mmap.mmap, end: int) -> Iterator[Stretch]:
    offset = 0
    while offset < end:
        found = _record(data, offset, end)
        if found is None:
            found = Stretch(offset, _next_record(data, offset + 1, end), None)
        yield found
        offset = found.end


def _next_record(data: mmap.mmap, start: int, end: int) -> int:
    """Where the next record begins; `end` if none does."""
    while (start := data.find(_MEMBER, start, end)) >= 0:
        if _record(data, start, end) is not None:
            return start
        start += 1
    return end


def _record(data: mmap.mmap, offset: int, end: int) -> Stretch | None:
    """The record that begins at `offset`, if one does and is whole."""
    stream = zlib.decompressobj(GZIP_WINDOW)
    parts: list[bytes] = []
    at = offset
    try:
        while not stream.eof and at < end:
            chunk = data[at : min(at + _CHUNK, end)]
            parts.append(stream.decompress(chunk))
            at += len(chunk)
        if not stream.eof:
            return None
        return Stretch(offset, at - len(stream.unused_data), record.parse(b"".join(parts)))
    except (zlib.error, ValueError):
        return None
