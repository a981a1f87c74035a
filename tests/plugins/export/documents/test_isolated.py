"""Documents that are read in a process of their own, and what becomes of one on which that breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from documents import docx_of, odt_of, pdf_of, pptx_of, xlsx_of, zip_of
from waiting import until

from sitecrawl.page.process_pool import PoolOptions
from sitecrawl.plugins.export.documents.document import NOT_INSTALLED, DocumentLimits
from sitecrawl.plugins.export.documents.isolated import _RATIONS, LIMITS, IsolatedDocuments
from sitecrawl.plugins.export.documents.worker import _READERS

BREAKING = "breaking_document_worker"


@pytest.fixture(scope="module")
def documents() -> Iterator[IsolatedDocuments]:
    with closing(IsolatedDocuments()) as opened:
        yield opened


@pytest.fixture(scope="module")
def breaking() -> Iterator[IsolatedDocuments]:
    with closing(IsolatedDocuments(module=BREAKING)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("pdf", pdf_of("Gr\xfc\xdfe", title="T", language="de")),
        ("office", docx_of("Grüße, 日本", title="T", language="de", table=[["1"]])),
        ("office", pptx_of(("a", "b"))),
        ("office", xlsx_of({"a": [["b", 1]]})),
        ("office", odt_of("x")),
    ],
)
def test_the_answers_are_those_of_the_same_process(documents: IsolatedDocuments, kind: str, body: bytes) -> None:
    """Behind the fences is all that reading takes."""
    assert documents.read(kind, body) == _READERS[kind](body, LIMITS)  # type: ignore[arg-type]
    assert not documents.unread


def test_what_cannot_be_read_is_counted() -> None:
    """By what was in the way; the process goes on."""
    with closing(IsolatedDocuments()) as documents:
        assert documents.read("pdf", b"%PDF-") is None
        assert documents.read("office", zip_of({"content.xml": "<!DOCTYPE x><x><p/></x>"})) is None
        assert documents.unread == {"damaged": 1, "entities": 1}
        assert documents.read("pdf", pdf_of("words"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"segfault", "SIGSEGV"), (b"eat", "memory"), (b"raise", "exit 1"), (b"long", "answer"), (b"lie", "answer")],
)
def test_a_document_that_breaks_its_reader(breaking: IsolatedDocuments, body: bytes, reason: str) -> None:
    """It has no text, and is counted by how the process ended; the next document has a new one."""
    breaking.unread.clear()
    assert breaking.read("pdf", body) is None
    assert breaking.unread == {reason: 1}
    assert breaking.read("pdf", pdf_of("words"))


def test_a_document_on_which_its_reader_hangs() -> None:
    """After its time the process is killed; the next document has a new one."""
    rations = PoolOptions(1, seconds=4.0, memory=_RATIONS.memory)
    with closing(IsolatedDocuments(rations=rations, module=BREAKING)) as documents:
        assert documents.read("pdf", b"hang") is None
        assert documents.unread == {"timeout": 1}
        until(lambda: documents.read("pdf", pdf_of("words")), "a document that is read in its time")


def test_no_process() -> None:
    """Where none starts, documents have no text, and it is tried once."""
    with closing(IsolatedDocuments(module="no_such_worker")) as documents:
        assert documents.read("pdf", pdf_of("words")) is None
        assert documents.read("pdf", pdf_of("words")) is None
        assert documents.unread == {"no process": 2}


def test_without_the_extra() -> None:
    """PDF files are counted as such, and Office files are read."""
    with closing(IsolatedDocuments(module="worker_without_pdfium")) as documents:
        assert documents.read("pdf", pdf_of("words")) is None
        assert documents.unread == {NOT_INSTALLED: 1}
        assert documents.read("office", odt_of("<text:p>words</text:p>"))


def test_limits_hold_there() -> None:
    """How much is read is said once, when a process begins."""
    with closing(IsolatedDocuments(DocumentLimits(characters=3))) as documents:
        found = documents.read("pdf", pdf_of("words"))
    assert found is not None
    assert (found.text, found.is_cut) == ("wor", True)
