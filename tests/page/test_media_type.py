"""What a body is: declared types, sniffed ones, and lies."""

from __future__ import annotations

import pytest

from sitecrawl.page.media_type import MediaType, actual_type, declared_type

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], MediaType("", None)),
        (["Text/HTML"], MediaType("text/html", None)),
        (['text/html; Charset="UTF-8"'], MediaType("text/html", "UTF-8")),
        (["text/html;charset=koi8-r;x=y"], MediaType("text/html", "koi8-r")),
        (["text/html", "text/plain", "nonsense"], MediaType("text/plain", None)),
        (["html"], MediaType("", None)),
        (["text/html; charset=utf-8,utf-8"], MediaType("text/html", "utf-8")),
        (["text/html; charset=koi8-r, text/html"], MediaType("text/html", "koi8-r")),
        (["text/html; charset=koi8-r", "TEXT/html; charset=utf-8"], MediaType("text/html", "utf-8")),
        (["text/html; charset=koi8-r, text/plain", "*/*"], MediaType("text/plain", None)),
        (['text/html; x="a,b"; charset=koi8-r'], MediaType("text/html", "koi8-r")),
        ([" text/html ; x=1; charset = utf-8"], MediaType("text/html", "utf-8")),
    ],
)
def test_declared_type(headers: list[str], expected: MediaType) -> None:
    """The last valid Content-Type counts, in lower case, with its charset, or that of the same type before it."""
    assert declared_type(headers) == expected


@pytest.mark.parametrize(
    ("declared", "body", "actual"),
    [
        ("text/html", b"<p>x", "text/html"),
        ("text/html", b"", "text/html"),
        ("text/html", b"\0\0<html>" + b"x" * 100, "text/html"),
        ("application/xhtml+xml", b"<?xml version='1.0'?><html>", "application/xhtml+xml"),
        ("text/html", PDF, "application/pdf"),
        ("text/html", PNG, "image/png"),
        ("text/html", bytes(range(32)) * 10, "application/octet-stream"),
        ("text/html", b"\xff\xfe" + "<html>".encode("utf-16-le"), "text/html"),
        ("text/plain", b"<html>", "text/plain"),
        ("application/pdf", b"<html>", "application/pdf"),
        ("", b"\n <!DOCTYPE html><p>", "text/html"),
        ("", b"\xef\xbb\xbf<html >", "text/html"),
        ("", b"<!-- x --><html>", "text/html"),
        ("", b"<?xml version='1.0'?><rss>", "text/xml"),
        ("", b"plain words", "text/plain"),
        ("", PDF, "application/pdf"),
        ("", b"\0\1\2\3", "application/octet-stream"),
        ("unknown/unknown", b"<html><p>", "text/html"),
    ],
)
def test_actual_type(declared: str, body: bytes, actual: str) -> None:
    """A body is what it was declared to be, unless that says nothing, or says HTML of what is binary."""
    assert actual_type(MediaType(declared, None), body) == actual


def test_utf16_is_not_binary() -> None:
    """The NULs of a page in UTF-16 are text where the Content-Type says so."""
    body = "<html>words</html>".encode("utf-16-le")
    assert actual_type(MediaType("text/html", "UTF-16LE"), body) == "text/html"
    assert actual_type(MediaType("text/html", None), body) == "application/octet-stream"
