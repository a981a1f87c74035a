"""Unpack a gzip stream, recognised by content."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from sitecrawl.crawl.sitemaps.entry import ParseReport, Problem
from sitecrawl.page.codings import MAX_MEMBERS

_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = zlib.MAX_WBITS | 16
_PIECE: Final = 64 << 10
"""Bytes unpacked at a time, so that the reader of a bomb can stop early."""


def unpacked(chunks: Iterable[bytes], report: ParseReport, max_bytes: int) -> Iterator[bytes]:
    """`chunks` without gzip, should they begin as gzip does: with all its members, up to where it is damaged.

    It ends at `max_bytes` or `MAX_MEMBERS`. A piece may be empty: each is a step of work, however little it brings.
    """
    stream = iter(chunks)
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= len(_MAGIC):
            break
    if head.startswith(_MAGIC):
        yield from _limited(_members(chain((head,), stream), report), report, max_bytes)
    else:
        yield head
        yield from stream


def _limited(pieces: Iterator[bytes], report: ParseReport, left: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        left -= len(piece)
        if left < 0:
            report.problems |= Problem.CUT
            return


def _members(stream: Iterable[bytes], report: ParseReport) -> Iterator[bytes]:
    members = _Members()
    try:
        for chunk in stream:
            yield from members.content(chunk)
            if members.has_ended:
                break
    except zlib.error:
        report.problems |= Problem.TORN
    if members.count > MAX_MEMBERS:
        report.problems |= Problem.CUT
    elif members.is_open:
        report.problems |= Problem.TORN


class _Members:
    """Unpacks gzip members one after the other."""

    def __init__(self) -> None:
        self.count = 0
        self.has_ended = False
        """Whether further data are no member, or one too many."""
        self._member: zlib._Decompress | None = None

    @property
    def is_open(self) -> bool:
        """Whether the last has not ended."""
        return self._member is not None

    def content(self, chunk: bytes) -> Iterator[bytes]:
        data = chunk
        while data:
            if self._member is None:
                data = self._begin(data)
                if self._member is None:
                    break
            yield self._member.decompress(data, _PIECE)
            if self._member.eof:
                data, self._member = self._member.unused_data, None
            else:
                data = self._member.unconsumed_tail
        yield b""

    def _begin(self, data: bytes) -> bytes:
        """Begin a member; return the rest of `data`."""
        data = data.lstrip(b"\0") if self.count else data  # RFC 1952, 2.2: padding may follow
        self.count += data.startswith(_MAGIC[:1])
        self.has_ended = bool(data) and (not data.startswith(_MAGIC[:1]) or self.count > MAX_MEMBERS)
        if data and not self.has_ended:
            self._member = zlib.decompressobj(_GZIP)
        return data
