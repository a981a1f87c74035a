"""The text of PDF files."""

from __future__ import annotations

import pytest
from documents import pdf_of

from sitecrawl.plugins.export.documents.document import Document, DocumentLimits, Unreadable
from sitecrawl.plugins.export.documents.pdf import read_pdf

LIMITS = DocumentLimits()
ENCRYPTED = "/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + "41" * 32 + ">/U<" + "42" * 32 + ">>>"


def test_a_pdf_file() -> None:
    """Pages are in their order, and are counted; title and language are those that it names."""
    body = pdf_of("Gr\xfc\xdfe", "second page", title="A title", language="de-AT")
    assert read_pdf(body, LIMITS) == Document("Grüße\nsecond page", "A title", "de-AT", 2)


def test_a_pdf_file_that_says_nothing_of_itself() -> None:
    """It has no title and no language, and a page without text is none."""
    assert read_pdf(pdf_of("", "words"), LIMITS) == Document("words", None, None, 2)


def test_rubbish_around_it() -> None:
    """Readers of PDF put up with bytes before and after it, and with a table that is wrong."""
    assert read_pdf(b"\n\n" + pdf_of("words") + b"\n\n\n", LIMITS).text == "words"
    assert read_pdf(pdf_of("words").replace(b"xref\n0", b"xref\n9"), LIMITS).text == "words"


def test_more_pages_than_are_read() -> None:
    """As much is read as is wanted, and it is said that there is more."""
    found = read_pdf(pdf_of(*["words"] * 50), DocumentLimits(characters=20))
    assert (found.text.split(), found.pages, found.is_cut) == (["words"] * 3 + ["wo"], 50, True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"%PDF-1.7 no file", "damaged"),
        (b"", "damaged"),
        (pdf_of("words").replace(b"/Type/Pages", b"/Type/Sages").replace(b"/Kids", b"/Lids"), None),
        (pdf_of("words", trailer=ENCRYPTED), "encrypted"),
    ],
)
def test_what_cannot_be_read(body: bytes, reason: str | None) -> None:
    """Files that are none, and files with a password; one without pages has no text."""
    if reason is None:
        assert read_pdf(body, LIMITS).text == ""
        return
    with pytest.raises(Unreadable) as caught:
        read_pdf(body, LIMITS)
    assert caught.value.reason == reason
