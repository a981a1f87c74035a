from __future__ import annotations

import gzip

import pytest

from sitecrawl.pagestore.gzipping import compress_member, decompress_member

TEXT = b"a page, " * 500


@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_a_member_is_read_back(data):
    """What was compressed comes out again, here and with Python's own gzip."""
    member = compress_member(data)
    assert decompress_member(member, len(data)) == data
    assert gzip.decompress(member) == data


@pytest.mark.parametrize(
    "damage", [lambda m: m[:-1], lambda m: m + b"x", lambda m: b"x" + m, lambda m: m[:20] + b"\0" + m[21:]]
)
def test_a_damaged_member_is_refused(damage):
    """A member that is cut off, changed or followed by bytes is an error, never a shorter content."""
    with pytest.raises(ValueError, match="gzip member"):
        decompress_member(damage(compress_member(TEXT)), 2 * len(TEXT))


def test_a_member_that_is_too_large_is_refused():
    """It is not unpacked to find out."""
    with pytest.raises(ValueError, match="more than 3999 bytes"):
        decompress_member(compress_member(TEXT), len(TEXT) - 1)
