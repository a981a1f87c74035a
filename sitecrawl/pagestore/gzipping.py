"""Gzip members, one a record."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable

GZIP_WINDOW = 31
"""zlib's `wbits` for a gzip header and trailer around a 32 KB window."""

_compress: Callable[[bytes, int, int], bytes] = zlib.compress
_level = 3
with contextlib.suppress(ImportError):  # the `fast` extra: a third of the time for the same size
    from isal import isal_zlib

    _compress = isal_zlib.compress
    _level = 1


def compress_member(data: bytes) -> bytes:
    """One gzip member of `data`."""
    return _compress(data, _level, GZIP_WINDOW)


def decompress_member(data: bytes, max_size: int) -> bytes:
    """The content of the one gzip member that `data` is, of at most `max_size` bytes.

    Raises `ValueError` for a member that is too large, cut off, damaged or followed by something else.
    """
    stream = zlib.decompressobj(GZIP_WINDOW)
    try:
        content = stream.decompress(data, max_size + 1)
    except zlib.error as error:
        raise ValueError(f"damaged gzip member: {error}") from error
    if len(content) > max_size:
        raise ValueError(f"a gzip member of more than {max_size} bytes")
    if not stream.eof or stream.unused_data:
        raise ValueError("not one whole gzip member")
    return content


def decompress_last_member(data: bytes, max_size: int) -> bytes:
    """The content of the last of the gzip members that `data` is, each of at most `max_size` bytes.

    Raises `ValueError` as `decompress_member` does.
    """
    while True:
        stream = zlib.decompressobj(GZIP_WINDOW)
        try:
            content = stream.decompress(data, max_size)
        except zlib.error as error:
            raise ValueError(f"damaged gzip member: {error}") from error
        if not stream.eof:
            raise ValueError(f"a gzip member that is cut off, or of more than {max_size} bytes")
        if not stream.unused_data:
            return content
        data = stream.unused_data
