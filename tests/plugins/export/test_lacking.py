"""What is said of texts that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sitecrawl.base.limits import READ_ELEMENTS, READ_SIZE
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.plugins.export import pages as module
from sitecrawl.plugins.export.documents.document import NOT_INSTALLED
from sitecrawl.plugins.export.pages import Pages

BOTH = "pip install 'scrapy-sitecrawl[export,documents]'"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    WarcStore(tmp_path).close()
    with PageReader(tmp_path) as reader, Pages(reader) as opened:
        yield opened


@pytest.mark.parametrize(
    ("unread", "finds", "cut", "lines"),
    [
        ({}, True, 0, []),
        ({}, False, 0, ["texts are whole pages, not their main texts: pip install 'scrapy-sitecrawl[export]'"]),
        (
            {NOT_INSTALLED: 2}, False, 0,
            ["texts are whole pages, not their main texts, and 2 PDF files have no text: " + BOTH],
        ),
        (
            {NOT_INSTALLED: 1, "damaged": 1, "timeout": 2}, True, 1,
            ["1 PDF file has no text: pip install 'scrapy-sitecrawl[documents]'",
             "3 documents have no text: 2 timeout, 1 damaged",
             "1 document has more text than the 2,000,000 characters that were read"],
        ),
    ],
)  # fmt: skip
def test_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch, pages: Pages, unread: dict[str, int], *, finds: bool, cut: int, lines: list[str]
) -> None:
    """One line for all extras that are missing, one for documents that cannot be read, one for those that are cut."""
    monkeypatch.setattr(module, "finds_main_text", lambda: finds)
    pages.has_asked_for_text, pages.cut = True, cut
    assert list(module._lacking(unread, pages)) == lines


def test_long_pages(monkeypatch: pytest.MonkeyPatch, pages: Pages) -> None:
    """How many pages are longer than what is read of one."""
    monkeypatch.setattr(module, "finds_main_text", lambda: True)
    pages.shortened = 2
    assert list(module._lacking({}, pages)) == [
        f"2 pages have more than the {READ_SIZE.value:,} bytes or {READ_ELEMENTS.value:,} elements that were read"
    ]
