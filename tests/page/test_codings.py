"""Content codings: all of them come off, whatever they do to whoever takes them off."""

from __future__ import annotations

import gzip
import random
import sys
import tracemalloc
import zlib

import brotli  # type: ignore[import-untyped]
import pytest

from sitecrawl.page.codings import _STEP, MAX_MEMBERS, Damaged, TooLarge, at_once, checked, decoding

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"a page, " * 500


def decode_content(data: bytes, name: str, max_size: int = 1 << 20) -> bytes:
    return at_once(decoding(data, [name], max_size)).body


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


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


def quick_brotli(data: bytes) -> bytes:
    return brotli.compress(data, quality=1)


@pytest.mark.parametrize(
    ("name", "encode"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", quick_brotli), ("zstd", zstd.compress)],
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


@pytest.mark.parametrize(
    ("name", "encode"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
)
def test_what_came_before_the_end_counts(name, encode):
    """A body that ends too early is what came of it; one that ends before anything came is none."""
    text = random.Random(1).randbytes(200_000)
    data = encode(text)
    cut = decode_content(data[:150_000], name)
    assert text.startswith(cut)
    assert len(cut) > 50_000
    assert decode_content(data[:2], name) == data[:2]


def test_checksums_are_not_looked_at():
    """Some servers have them wrong."""
    assert decode_content(gzip.compress(TEXT)[:-8] + bytes(8), "gzip") == TEXT


def test_a_gzip_head_may_have_fields():
    """RFC 1952, section 2.3: extra fields, a name, a comment, a checksum of its own."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\0abc" + b"name\0" + b"comment\0" + b"\0\0"
    data = head + raw_deflate(TEXT) + bytes(8)
    assert decode_content(data, "gzip") == TEXT
    assert decode_content(data + gzip.compress(b"more"), "gzip") == TEXT + b"more"


@pytest.mark.parametrize(("name", "empty"), [("gzip", gzip.compress(b"")), ("zstd", zstd.compress(b""))])
def test_empty_members_are_work(name, empty):
    """As many as are allowed come off; with one more the body stays."""
    assert decode_content(empty * MAX_MEMBERS, name) == b""
    data = empty * (MAX_MEMBERS + 1)
    decoded = at_once(decoding(data, [name]))
    assert (decoded.body, decoded.left, decoded.is_too_much) == (data, (name,), True)


def test_members_of_all_codings_are_counted_together():
    """Else a body could have as many again with each."""
    inner = gzip.compress(gzip.compress(b"") * (MAX_MEMBERS - 1))
    assert decode_content(inner, "gzip, gzip") == b""
    assert at_once(decoding(inner + gzip.compress(b""), ["gzip, gzip"])).is_too_much


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("gzip", gzip.compress(bytes(4 << 20))),
        ("br", brotli.compress(bytes(4 << 20))),
        ("zstd", zstd.compress(bytes(4 << 20))),
        ("gzip", gzip.compress(b"") * 64),
        ("deflate", b"\0\0\0\xff\xff" * (4 << 20) + raw_deflate(b"")),
    ],
)
def test_no_step_is_long(name, data):
    """Others have their turn after each: that is about `_STEP` bytes, in or out, or an empty member."""
    assert sum(1 for _ in decoding(data, [name])) > (2 << 20) // _STEP


def test_unknown_codings_end_it():
    """What is below them cannot be reached; `identity` is none."""
    data = gzip.compress(TEXT)
    decoded = at_once(decoding(data, ["strange, identity", "gzip"]))
    assert (decoded.body, decoded.left) == (TEXT, ("strange",))
    assert at_once(decoding(data, ["gzip, strange"])).body == data


def test_what_is_wrong_is_raised():
    """For who can do nothing with what is still packed."""
    good = at_once(decoding(gzip.compress(b"x"), ["gzip"], 1))
    assert checked(good) is good
    with pytest.raises(TooLarge):
        checked(at_once(decoding(gzip.compress(b"xy"), ["gzip"], 1)))
    with pytest.raises(Damaged):
        checked(at_once(decoding(b"<!doctype html>", ["gzip"], 100)))
