"""Recognise documents by declared type and first bytes.

Servers declare unknown types as `application/octet-stream`, and Office files as the ZIP archives that they are. If
the type is as vague as that, the first bytes decide: in an archive, the name of its first file.
"""

from __future__ import annotations

import re
from typing import Final, Literal

DocumentKind = Literal["pdf", "office"]

_PDF: Final = frozenset({"application/pdf", "application/x-pdf"})
_OFFICE: Final = re.compile(
    r"application/vnd\.(?:openxmlformats-officedocument\.(?:wordprocessingml|presentationml|spreadsheetml)\."
    r"|oasis\.opendocument\.(?:text|presentation|spreadsheet)"
    r"|ms-(?:word|powerpoint|excel)\.\w+\.macroenabled)"
)
_VAGUE: Final = frozenset(
    {
        "", "application/octet-stream", "binary/octet-stream", "application/download", "application/force-download",
        "application/x-download", "application/zip", "application/x-zip-compressed", "text/plain",
    }
)  # fmt: skip
_PDF_MAGIC: Final = b"%PDF-"
_PDF_WITHIN: Final = 1024
"""Bytes allowed before the magic of a PDF."""
_ZIP_MAGIC: Final = b"PK\x03\x04"
_OLE_MAGIC: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
"""Name of the stream with a password-protected package, in a file of the old form (MS-OFFCRYPTO, section
2.3.4.4)."""
_FIRST_NAMES: Final = re.compile(
    rb"(?:\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/|ppt/|mimetypeapplication/vnd\.oasis\.opendocument\.)"
)
_NAME_AT: Final = 30
"""Offset of the name of an archive's first file; its content follows if there is no extra field."""


def may_be_document(content_type: str) -> bool:
    """Whether a body of that media type may be a document."""
    return content_type in _PDF or content_type in _VAGUE or _OFFICE.match(content_type) is not None


def kind_of(content_type: str, body: bytes) -> DocumentKind | None:
    """Kind of document of `body`; None for none."""
    if content_type in _PDF:
        return "pdf" if _PDF_MAGIC in body[: _PDF_WITHIN + len(_PDF_MAGIC)] else None
    if _OFFICE.match(content_type) is not None:
        return "office" if body.startswith(_ZIP_MAGIC) or is_encrypted_package(body) else None
    if content_type not in _VAGUE:
        return None
    if body.startswith(_PDF_MAGIC):
        return "pdf"
    is_office = body.startswith(_ZIP_MAGIC) and _FIRST_NAMES.match(body, _NAME_AT) is not None
    return "office" if is_office else None


def is_encrypted_package(body: bytes) -> bool:
    """Whether it is an Office file with a password, which is no archive."""
    return body.startswith(_OLE_MAGIC) and _ENCRYPTED in body
