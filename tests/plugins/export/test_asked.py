"""Addresses of what was not asked for by GET."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.pagestore.record import HttpMessage
from sitecrawl.plugins.export.surt import _MAX_QUERY, as_query, with_query

EVENT = {
    "type": "event",
    "id": 44.0,
    "values": [True, False, None],
    "source": {"type": "component", "id": "a+b&c= d", "values": [3, 4.5]},
}
PARTS = (
    b'--x\r\nContent-Disposition: form-data; name="path"\r\n\r\n/team/\xc3\xa4\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n\x00\xff\r\n--x--\r\n'
)


def query(kind: str, body: bytes, method: str = "POST") -> str:
    return as_query(method, HttpMessage(b"", [(b"content-type", kind.encode())], body))


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json; charset=utf-8", json.dumps(EVENT).encode(),
         ("type=event&id=44&values=true&values.2_=false&values.3_=null&type.2_=component&id.2_=a%2Bb%26c%3D+d"
          "&values.4_=3&values.5_=4.5")),
        ("application/json", b"{", ""),
        ("application/json", b"[" * 100_000, ""),
        ("text/plain;charset=UTF-8", b"hello", "__wb_post_data=aGVsbG8="),
        ("text/plain", b'{"a": 1}', "a=1"),
        ("application/x-www-form-urlencoded", b"path=%2Fa&note=a+b", "path=/a&note=a b"),
        ("application/x-www-form-urlencoded", b"\xff", "__wb_post_data=/w=="),
        ("multipart/form-data; boundary=x", PARTS, "path=%2Fteam%2F%C3%A4&file=%00%FF"),
        ("multipart/form-data", b"--x", "__wb_post_data=LS14"),
        ("", b"hello", "__wb_post_data=aGVsbG8="),
        ("application/json", b"", ""),
    ],
)  # fmt: skip
def test_bodies(kind: str, body: bytes, expected: str) -> None:
    """Each kind of body has the form that programs that replay give it; one that is not what it says, its bytes."""
    assert query(kind, body) == expected


def test_methods() -> None:
    """The method stands behind the query of the address, and only what has a meaning for its body has one there."""
    assert with_query("http://a.example/?page=1", "POST", "a=1") == "http://a.example/?page=1&__wb_method=POST&a=1"
    assert with_query("http://a.example/", "OPTIONS", "") == "http://a.example/?__wb_method=OPTIONS"
    assert query("text/plain", b"hello", "DELETE") == ""
    assert query("text/plain", b"hello", "PUT") == "__wb_post_data=aGVsbG8="


@given(st.sampled_from(["application/json", "multipart/form-data; boundary=x", "text/plain", "x"]), st.binary())
def test_whatever_was_sent(kind: str, body: bytes) -> None:
    """Nothing that a page may send is too much."""
    assert len(query(kind, body)) <= _MAX_QUERY
    assert len(query(kind, PARTS + body * 2_000)) <= _MAX_QUERY
