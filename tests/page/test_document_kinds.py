"""Which bodies are documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
from documents import OPEN, SHEETS, SLIDES, WORD, docx_of, odt_of, pdf_of, pptx_of, xlsx_of, zip_of

from sitecrawl.page.media_type import kind_of, may_be_document

PDF = "application/pdf"
VAGUE = ["application/octet-stream", "application/zip", "", "text/plain"]
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)


MADE: list[tuple[str, Callable[[], bytes], str]] = [
    (PDF, partial(pdf_of, "x"), "pdf"),
    (WORD, cache(partial(docx_of, "x")), "office"),
    (SLIDES, cache(partial(pptx_of, ("x", "y"))), "office"),
    (SHEETS, cache(partial(xlsx_of, {"x": [[1]]})), "office"),
    (OPEN, partial(odt_of, "x"), "office"),
]
"""To make them takes long: that is left to the tests."""


@pytest.mark.parametrize("declared", [None, *VAGUE])
@pytest.mark.parametrize(("own", "make", "kind"), MADE)
def test_what_programs_make(own: str, make: Callable[[], bytes], kind: str, declared: str | None) -> None:
    """By its own type, and by one that says nothing."""
    assert kind_of(own if declared is None else declared, make()) == kind
    assert may_be_document(own if declared is None else declared)


@pytest.mark.parametrize(
    ("declared", "body", "kind"),
    [
        (PDF, b"\n\n" + pdf_of("x"), "pdf"),
        (PDF, b"<html>no such file", None),
        (WORD, b"<html>no such file", None),
        ("application/octet-stream", zip_of({"readme.txt": "x"}), None),
        ("application/msword", OLD, None),
        (WORD, OLD, None),
        (WORD, OLD + "EncryptedPackage".encode("utf-16-le"), "office"),
        ("text/html", pdf_of("x"), None),
        ("image/png", b"\x89PNG", None),
        ("text/plain", b"%PDF is a format", None),
    ],
)  # fmt: skip
def test_kinds(declared: str, body: bytes, kind: str | None) -> None:
    """By the declared type and the first bytes, which alone count where the type says nothing."""
    assert kind_of(declared, body) == kind
    assert kind is None or may_be_document(declared)
