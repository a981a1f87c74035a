"""Which bodies are documents."""

from __future__ import annotations

import pytest
from documents import OPEN, SHEETS, SLIDES, WORD, docx_of, odt_of, pdf_of, pptx_of, xlsx_of, zip_of

from sitecrawl.documents.kinds import kind_of, may_be_document

PDF = "application/pdf"
VAGUE = ["application/octet-stream", "application/zip", "", "text/plain"]
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)


@pytest.mark.parametrize(
    ("declared", "body", "kind"),
    [
        *((one, pdf_of("x"), "pdf") for one in [PDF, *VAGUE]),
        *((one, docx_of("x"), "office") for one in [WORD, *VAGUE]),
        *((one, pptx_of(("x", "y")), "office") for one in [SLIDES, *VAGUE]),
        *((one, xlsx_of({"x": [[1]]}), "office") for one in [SHEETS, *VAGUE]),
        *((one, odt_of("x"), "office") for one in [OPEN, *VAGUE]),
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
