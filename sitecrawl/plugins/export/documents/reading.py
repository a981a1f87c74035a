"""A document, read by the reader of its kind."""

from __future__ import annotations

from sitecrawl.page.document_kinds import Kind
from sitecrawl.plugins.export.documents.document import Document, DocumentLimits
from sitecrawl.plugins.export.documents.office import read_office
from sitecrawl.plugins.export.documents.pdf import read_pdf


def read(kind: Kind, body: bytes, limits: DocumentLimits) -> Document:
    """Raises `Unreadable`."""
    return {"pdf": read_pdf, "office": read_office}[kind](body, limits)
