"""The text of PDF files, by PDFium (extra `documents`)."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

from sitecrawl.plugins.export.documents.document import (
    MAX_FACT,
    NOT_INSTALLED,
    Document,
    DocumentLimits,
    Full,
    Gathered,
    Unreadable,
)

_PASSWORD: Final = 4
"""FPDF_ERR_PASSWORD: nothing can be read without one."""
_HYPHENATED: Final = re.compile("[\x02\ufffe](?:\r?\n)?")
"""What PDFium makes of a hyphen at which a word is broken, and the end of that line."""


def read_pdf(body: bytes, limits: DocumentLimits) -> Document:
    """Raises `Unreadable`."""
    try:
        import pypdfium2 as pdfium  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise Unreadable(NOT_INSTALLED) from error
    try:
        pdf = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        raise Unreadable("encrypted" if error.err_code == _PASSWORD else "damaged") from error
    gathered, is_cut = Gathered(limits), False
    try:
        for number in range(len(pdf)):
            gathered.add(_page_text(pdf, number, pdfium.PdfiumError) + "\n")
    except Full:
        is_cut = True
    return Document(
        gathered.text,
        title=pdf.get_metadata_value("Title")[:MAX_FACT] or None,
        language=_language(pdf, pdfium.raw),
        pages=len(pdf),
        is_cut=is_cut,
    )


def _page_text(pdf: Any, number: int, error: type[Exception]) -> str:
    """Empty for a page that is damaged: the others may not be."""
    try:
        page = pdf[number]
        try:
            return _HYPHENATED.sub("", page.get_textpage().get_text_bounded())
        finally:
            page.close()
    except error:
        return ""


def _language(pdf: Any, raw: Any) -> str | None:
    buffer = ctypes.create_string_buffer(2 * MAX_FACT)
    size = raw.FPDFCatalog_GetLanguage(pdf, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), len(buffer))
    return buffer.raw[: max(size - 2, 0)].decode("utf-16-le", "replace") or None if size <= len(buffer) else None
