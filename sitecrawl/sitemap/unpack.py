"""Taking gzip off a stream, whatever name or header it came with."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from sitecrawl.sitemap.entry import ParseReport, Problem

_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = zlib.MAX_WBITS | 16
_PIECE: Final = 64 << 10
"""Bytes that are unpacked at a time: a bomb comes in pieces of this size, and the reader stops when it has enough."""


def unpacked(chunks: Iterable[bytes], report: ParseReport) -> Iterator[bytes]:
    """`chunks` without gzip, should they begin as gzip does: with all its members, up to where it is damaged."""
    stream = iter(chunks)
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= len(_MAGIC):
            break
    if head.startswith(_MAGIC):
        yield from _members(head, stream, report)
    else:
        yield head
        yield from stream


def _members(head: bytes, stream: Iterator[bytes], report: ParseReport) -> Iterator[bytes]:
    member = zlib.decompressobj(_GZIP)
    data = head
    try:
        while True:
            piece = member.decompress(data, _PIECE)
            if piece:
                yield piece
            data = member.unconsumed_tail
            if member.eof:
                data = member.unused_data.lstrip(b"\0") or next(stream, b"")  # RFC 1952, 2.2: padding may follow
                if not data.startswith(_MAGIC[:1]):
                    return
                member = zlib.decompressobj(_GZIP)
            elif not data:
                data = next(stream, b"")
                if not data:
                    report.problems |= Problem.TORN
                    return
    except zlib.error:
        report.problems |= Problem.TORN
