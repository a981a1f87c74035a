"""What a body is: declared types, sniffed ones, and lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
from documents import OPEN, SHEETS, SLIDES, WORD, docx_of, odt_of, pdf_of, pptx_of, xlsx_of, zip_of

from sitecrawl.page.media_type import MediaType, actual_type, declared_type, kind_of, may_be_document

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
PDF_TYPE = "application/pdf"
VAGUE = ["application/octet-stream", "application/zip", "", "text/plain"]
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)


MADE: list[tuple[str, Callable[[], bytes], str]] = [
    (PDF_TYPE, partial(pdf_of, "x"), "pdf"),
    (WORD, cache(partial(docx_of, "x")), "office"),
    (SLIDES, cache(partial(pptx_of, ("x", "y"))), "office"),
    (SHEETS, cache(partial(xlsx_of, {"x": [[1]]})), "office"),
    (OPEN, partial(odt_of, "x"), "office"),
]
"""To make them takes long: that is left to the tests."""


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


@pytest.mark.parametrize("declared", [None, *VAGUE])
@pytest.mark.parametrize(("own", "make", "kind"), MADE)
def test_what_programs_make(own: str, make: Callable[[], bytes], kind: str, declared: str | None) -> None:
    """By its own type, and by one that says nothing."""
    assert kind_of(own if declared is None else declared, make()) == kind
    assert may_be_document(own if declared is None else declared)


@pytest.mark.parametrize(
    ("declared", "body", "kind"),
    [
        (PDF_TYPE, b"\n\n" + pdf_of("x"), "pdf"),
        (PDF_TYPE, b"<html>no such file", None),
        (WORD, b"<html>no such file", None),
        ("application/octet-stream", zip_of({"readme.txt": "x"}), None),
        ("application/msword", OLD, None),
        (WORD, OLD, None),
        (WORD, OLD + "EncryptedPackage".encode("utf-16-le"), "office"),
        ("text/html", pdf_of("x"), None),
        ("image/png", b"\x89PNG", None),
        ("text/plain", b"%PDF_TYPE is a format", None),
    ],
)  # fmt: skip
def test_kinds(declared: str, body: bytes, kind: str | None) -> None:
    """By the declared type and the first bytes, which alone count where the type says nothing."""
    assert kind_of(declared, body) == kind
    assert kind is None or may_be_document(declared)
