"""Bytes in a Zstandard frame (RFC 8878) with a checksum, for places that have none of their own."""

from __future__ import annotations

import sys
from typing import Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_QUICK: Final = 3
"""The level for what is written often."""


def compress(data: bytes, level: int = _QUICK) -> bytes:
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: level,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    packed: bytes = zstd.compress(data, options=options)
    return packed


def decompress(data: bytes) -> bytes:
    """Undo `compress`. Raises `ValueError` for anything else."""
    try:
        found: bytes = zstd.decompress(data)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
    return found
