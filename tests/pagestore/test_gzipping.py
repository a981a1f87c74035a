from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib

import brotli  # type: ignore[import-untyped]
import pytest

from sitecrawl.pagestore.gzipping import compress_member, decode_content, decompress_member

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"a page, " * 500


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_a_member_is_read_back(data):
    """What was compressed comes out again, here and with Python's own gzip."""
    member = compress_member(data)
    assert decompress_member(member) == data
    assert gzip.decompress(member) == data


@pytest.mark.parametrize(
    "damage", [lambda m: m[:-1], lambda m: m + b"x", lambda m: b"x" + m, lambda m: m[:20] + b"\0" + m[21:]]
)
def test_a_damaged_member_is_refused(damage):
    """A member that is cut off, changed or followed by bytes is an error, never a shorter content."""
    with pytest.raises(ValueError, match="gzip member"):
        decompress_member(damage(compress_member(TEXT)))


@pytest.mark.parametrize(
    ("name", "encode"),
    [
        ("gzip", gzip.compress),
        ("X-GZip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("br", brotli.compress),
        ("zstd", zstd.compress),
        ("identity", bytes),
        ("", bytes),
        ("br, gzip", lambda data: gzip.compress(brotli.compress(data))),
        ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
        ("gzip", lambda data: gzip.compress(data) + b"\0\0padding"),
    ],
)
def test_content_codings_are_removed(name, encode):
    """Every coding that a browser asks for comes off, also several on top of one another."""
    assert decode_content(encode(TEXT), name) == TEXT


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd", "unheard-of"])
def test_what_does_not_decode_stays(name):
    """A body that is not in the coding that its header claims is given as it was transferred."""
    assert decode_content(TEXT, name) == TEXT


@pytest.mark.parametrize(
    ("name", "encode"),
    [
        ("gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("br", brotli.compress),
        ("zstd", zstd.compress),
        ("zstd", lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
    ],
)
def test_a_bomb_stays(name, encode):
    """A body that unpacks to more than it may is given as it was transferred; one byte less, and it is unpacked."""
    data = encode(TEXT)
    assert decode_content(data, name, len(TEXT)) == TEXT
    assert decode_content(data, name, len(TEXT) - 1) == data


@pytest.mark.parametrize(
    ("name", "encode"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
)
def test_a_bomb_takes_no_memory(name, encode):
    """Unpacking ends at the limit: 64 MB of zeros do not come into being to be counted."""
    data = encode(bytes(64 << 20))
    tracemalloc.start()
    assert decode_content(data, name, 1000) == data
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_endless_codings_stay():
    """More codings than anyone uses are not removed."""
    data = gzip.compress(TEXT)
    assert decode_content(data, ",".join(["x"] * 4 + ["gzip"])) == TEXT
    assert decode_content(data, ",".join(["x"] * 5 + ["gzip"])) == data
