"""Gzip members, one a record, and content codings taken off again."""

from __future__ import annotations

import contextlib
import sys
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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


def _gunzip(data: bytes) -> bytes:
    content = b""
    while data:
        stream = zlib.decompressobj(GZIP_WINDOW)
        content += stream.decompress(data)
        # Servers pad gzip bodies; what follows the last member and starts no new one is not content.
        data = stream.unused_data if stream.unused_data.startswith(b"\x1f\x8b") else b""
    return content


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        # RFC 9110, 8.4.1.2: some servers send the raw deflate format under this name.
        return zlib.decompress(data, -zlib.MAX_WBITS)


_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": brotli.decompress,
    "zstd": zstd.decompress,
}


def decode_content(payload: bytes, content_encoding: str) -> bytes:
    """`payload` with its codings removed, last applied first (RFC 9110, section 8.4).

    Whatever does not decode stays as it is from there on: a stored page with a wrong Content-Encoding is
    still a stored page.
    """
    for name in reversed([part.strip().lower() for part in content_encoding.split(",")]):
        decoder = _DECODERS.get(name)
        if decoder is None or not payload:
            continue
        try:
            payload = decoder(payload)
        except (zlib.error, brotli.error, zstd.ZstdError):
            return payload
    return payload
