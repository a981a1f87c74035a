"""Gzip members, one a record, and content codings taken off again."""

from __future__ import annotations

import contextlib
import sys
import zlib
from collections.abc import Callable
from typing import Final

import brotli  # type: ignore[import-untyped]

from sitecrawl.page.items import Headers

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_WINDOW = 31
"""zlib's `wbits` for a gzip header and trailer around a 32 KB window."""

MAX_CONTENT: Final = 64 << 20
"""Bytes to which a stored body unpacks, where nobody knows how many it has."""
MAX_CODINGS: Final = 5
"""On top of one another, as in curl: a body can be made that unpacks to itself for ever."""
_STEP: Final = 1 << 20

_compress: Callable[[bytes, int, int], bytes] = zlib.compress
_level = 3
with contextlib.suppress(ImportError):  # the `fast` extra: a third of the time for the same size
    from isal import isal_zlib

    _compress = isal_zlib.compress
    _level = 1


def compress_member(data: bytes) -> bytes:
    """One gzip member of `data`."""
    return _compress(data, _level, GZIP_WINDOW)


def decompress_member(data: bytes) -> bytes:
    """The content of the one gzip member that `data` is.

    Raises `ValueError` for a member that is cut off, damaged or followed by something else.
    """
    stream = zlib.decompressobj(GZIP_WINDOW)
    try:
        content = stream.decompress(data)
    except zlib.error as error:
        raise ValueError(f"damaged gzip member: {error}") from error
    if not stream.eof or stream.unused_data:
        raise ValueError("not one whole gzip member")
    return content


class _TooLarge(Exception):
    """A body that unpacks to more than it may."""


def _gunzip(data: bytes, most: int) -> bytes:
    content = b""
    while data:
        stream = zlib.decompressobj(GZIP_WINDOW)
        content += _whole(stream, data, most - len(content))
        # Servers pad gzip bodies; what follows the last member and starts no new one is not content.
        data = stream.unused_data if stream.unused_data.startswith(b"\x1f\x8b") else b""
    return content


def _inflate(data: bytes, most: int) -> bytes:
    try:
        return _whole(zlib.decompressobj(), data, most)
    except zlib.error:
        # RFC 9110, 8.4.1.2: some servers send the raw deflate format under this name.
        return _whole(zlib.decompressobj(-zlib.MAX_WBITS), data, most)


def _whole(stream: zlib._Decompress, data: bytes, most: int) -> bytes:
    content = stream.decompress(data, most + 1)
    if len(content) > most:
        raise _TooLarge
    if not stream.eof:
        raise zlib.error("incomplete or truncated stream")
    return content


def _unbrotli(data: bytes, most: int) -> bytes:
    stream = brotli.Decompressor()
    content = bytearray(stream.process(data, output_buffer_limit=_STEP))
    while len(content) <= most and not stream.is_finished():
        more = stream.process(b"", output_buffer_limit=_STEP)
        if not more:
            raise brotli.error("truncated stream")
        content += more
    if len(content) > most:
        raise _TooLarge
    return bytes(content)


def _unzstd(data: bytes, most: int) -> bytes:
    content = b""
    while data:
        stream = zstd.ZstdDecompressor()
        content += stream.decompress(data, max_length=most + 1 - len(content))
        if len(content) > most:
            raise _TooLarge
        if not stream.eof:
            raise zstd.ZstdError("truncated stream")
        data = stream.unused_data
    return content


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


def without_codings(payload: bytes, headers: Headers, max_size: int = MAX_CONTENT) -> bytes:
    """`payload` with the codings removed that `headers` name."""
    codings = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding"]
    return decode_content(payload, ",".join(codings), max_size)


def decode_content(payload: bytes, content_encoding: str, max_size: int = MAX_CONTENT) -> bytes:
    """`payload` with its codings removed, last applied first (RFC 9110, section 8.4).

    Whatever does not decode, or decodes to more than `max_size` bytes, stays as it is from there on: a stored page
    with a wrong Content-Encoding is still a stored page. So do more than `MAX_CODINGS` codings.
    """
    names = [part.strip().lower() for part in content_encoding.split(",")]
    if len(names) > MAX_CODINGS:
        return payload
    for name in reversed(names):
        decoder = _DECODERS.get(name)
        if decoder is None or not payload:
            continue
        try:
            payload = decoder(payload, max_size)
        except (zlib.error, brotli.error, zstd.ZstdError, _TooLarge):
            return payload
    return payload
