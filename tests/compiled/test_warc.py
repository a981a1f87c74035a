"""The heads and digests that the C makes are those of its twins. What they have to be is in
tests/pagestore/test_record.py, which runs over both.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import Any

import pytest
from compiled_core import in_c
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.pagestore.http_head import _http_head_in_python
from sitecrawl.pagestore.record import _base32_in_python

FRAMING = [b"Content-Length", b"content-LENGTH", b"Transfer-Encoding", b"TRANSFER-ENCODING", b"Content-Lengthy"]
NAMES = st.sampled_from([*FRAMING, b"A", b"~!", b"Content-Type"])
VALUES = st.sampled_from(
    [b"", b"5", b" 5\t", b"\x0b5\x0c", b"05", b"5 5", b"+5", b"chunked", b"\xff\xa0\x85", b"v" * 99]
)
AWKWARD_NAMES = st.sampled_from([b"", b" A", b"A ", b"A:", b"A\r\nB", b"\0", b"\x7f", b"\xe9"]) | st.binary(
    max_size=3
)
AWKWARD_VALUES = st.sampled_from([b"\r", b"\n", b"\0", b"5\r\n", b"a\r\n b"]) | st.binary(max_size=9)
PLAIN = st.lists(st.tuples(NAMES, VALUES), max_size=8)
ANY = st.lists(st.tuples(NAMES | AWKWARD_NAMES, VALUES | AWKWARD_VALUES), max_size=8)
LINE = b"HTTP/1.1 200 OK"


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


@given(PLAIN, st.sampled_from([0, 5, 10**18]), st.integers(-1, 200))
def test_plain_headers(native: Native, headers: list[tuple[bytes, bytes]], size: int, room: int) -> None:
    """It makes all of them itself, wherever the room ends."""
    assert native.http_head(LINE, headers, size, room) == _http_head_in_python(LINE, headers, size, room)


@given(ANY, st.integers(0, 120))
def test_any_headers(native: Native, headers: list[tuple[bytes, bytes]], room: int) -> None:
    """It makes what its twin makes, or nothing."""
    assert native.http_head(LINE, headers, 5, room) in {_http_head_in_python(LINE, headers, 5, room), None}


def test_every_byte(native: Native) -> None:
    """In names and values: what a header line may hold is plain to the C, and made as its twin makes it."""
    for byte in range(256):
        one = bytes([byte])
        for header, is_plain in [
            ((b"A" + one + b"B", b"x"), 0x20 < byte < 0x7F and one != b":"),
            ((b"A", b"x" + one + b"y"), one not in b"\r\n\0"),
            ((b"Content-Length", one + b"5" + one), one not in b"\r\n\0"),
        ]:
            twins = _http_head_in_python(LINE, [header], 5, 99)
            assert native.http_head(LINE, [header], 5, 99) == (twins if is_plain else None)


@pytest.mark.parametrize(
    "headers",
    [
        (), ((b"A", b"x"),), None, [None], [[b"A", b"x"]], [(b"A",)], [(b"A", b"x", b"y")], [("A", b"x")],
        [(b"A", "x")], [(b"A", None)], [(b"A", bytearray(b"x"))], [(b"B", b"x"), (b"A", b"x\n")],
    ],
)  # fmt: skip
def test_what_it_leaves_to_its_twin(native: Native, headers: Any) -> None:
    """What are no pairs of bytes in a list, and what needs a change."""
    assert native.http_head(LINE, headers, 5, 99) is None


def test_many_lines_that_do_not_fit(native: Native) -> None:
    """What is left out takes no memory."""
    headers = [(b"A", b"a" * 10_000), (b"B", b"b")] * 100
    assert native.http_head(LINE, headers, 5, 30) == _http_head_in_python(LINE, headers, 5, 30)


@pytest.mark.parametrize("wrong", [(), (None, [], 1, 1), ("x", [], 1, 1), (b"x", [], "1", 1), (b"x", [], 1)])
def test_other_arguments(native: Native, wrong: tuple[Any, ...]) -> None:
    """A caller's mistake is a TypeError."""
    with pytest.raises(TypeError):
        native.http_head(*wrong)


@given(st.binary(max_size=60))
def test_base32(native: Native, data: bytes) -> None:
    """Of any length, though digests have 20 bytes."""
    assert native.base32(data) == _base32_in_python(data)


@pytest.mark.parametrize("wrong", [None, "x", 5, bytearray(20)])
def test_base32_of_no_bytes(native: Native, wrong: Any) -> None:
    """A caller's mistake is a TypeError."""
    with pytest.raises(TypeError):
        native.base32(wrong)


def test_nothing_is_kept(native: Native) -> None:
    """After hundreds of heads more than after the first no memory is held, and no reference to what went in."""
    headers: list[Any] = [(b"Content-Length", b"1"), (b"B", b"b" * 50), (b"A", b"x")]
    digest, awkward = bytes(range(20)), [*headers, (b"A", b"x\n")]

    def work() -> None:
        for some in (headers, awkward, [*headers, None]):
            native.http_head(LINE, some, 5, 40)
        native.base32(digest)

    def counted() -> list[int]:
        return [sys.getrefcount(one) for one in (LINE, headers, awkward, digest, *headers, *headers[0], None)][:-1]

    work()
    gc.collect()
    before = counted()
    tracemalloc.start()
    try:
        work()
        held = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            work()
        assert tracemalloc.get_traced_memory()[0] - held < 1000
    finally:
        tracemalloc.stop()
    assert counted() == before
