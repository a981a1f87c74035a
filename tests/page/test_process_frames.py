"""What goes between a crawl and a process that reads its pages."""

from __future__ import annotations

import io

import pytest

from sitecrawl.page import process_serving
from sitecrawl.page.process_serving import BadFrame, Ended, frame, read_frame


def test_a_frame_comes_back() -> None:
    """Object and bytes, also where it comes a byte at a time, and the next one after it."""
    stream = io.BytesIO(frame({"a": ["\ud800", 1]}, b"body") + frame({}))
    assert read_frame(lambda most: stream.read(min(most, 1)), 4) == ({"a": ["\ud800", 1]}, b"body")
    assert read_frame(stream.read, 0) == ({}, b"")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 8,
        b"\x00\x00\x00\x02\x00\x00\x00\x05{}abcde",
        b"\x00\x00\x00\x02\x00\x00\x00\x00{]",
        b"\x00\x00\x00\x02\x00\x00\x00\x00[]",
        b"\x00\x00\x00\x01\x00\x00\x00\x00\xff",
        b"\x00\x01\x00\x00\x00\x00\x00\x00" + b"[" * 65536,
    ],
)
def test_what_is_no_frame(data: bytes) -> None:
    """Lengths beyond what is allowed, no JSON, no object, nesting without end."""
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(data).read, 4)


@pytest.mark.parametrize("data", [b"", b"\x00\x00", frame({"a": 1}, b"body")[:-1]])
def test_an_end_within_a_frame(data: bytes) -> None:
    """The other side has gone."""
    with pytest.raises(Ended):
        read_frame(io.BytesIO(data).read, 4)


def test_nothing_is_sent_that_would_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is one, on both sides."""
    monkeypatch.setattr(process_serving, "_MAX_OBJECT", 10)
    with pytest.raises(BadFrame):
        frame({"a": "too long"})
