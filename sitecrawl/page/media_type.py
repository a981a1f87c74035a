"""The type of a body: as declared, or by its bytes if that is missing or plainly wrong.

After the WHATWG MIME sniffing standard, with one deviation: a browser trusts a declaration as HTML, and a crawler
must not, because PDFs, images and archives are often declared as `text/html`.

Servers declare unknown types as `application/octet-stream`, and Office files as the ZIP archives that they are. If
the type of a document is as vague as that, its first bytes decide: in an archive, the name of its first file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.page.xhtml import is_page

HTML: Final = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})

CSS: Final = "text/css"

_OCTETS = "application/octet-stream"
_UNKNOWN = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})  # section 7: these are sniffed
_HEADER_BYTES = 1445  # the standard's resource header, section 5.2
_MIME_TYPE = expression(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHARSET = expression(r""";\s*+charset\s*+=\s*+(?:"([^"]*+)"|([^\s;"]++))""", re.IGNORECASE)

_IN_LIST = expression(r"""(?:[^,"]++|"(?:[^"\\]|\\.)*+"?+)++""")
"""Fetch, "get, decode, and split"."""

_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)
_HTML_START = expression(
    rb"[\t\n\f\r ]*+(?:<!--|<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)"
    rb"[ >])",
    re.IGNORECASE,
)
_SIGNED = tuple(signature for signature, _ in _SIGNATURES)
_XML_START = expression(rb"[\t\n\f\r ]*+<\?xml")
_BINARY_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])  # section 3
_TEXT_BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_REMEMBERED_LENGTH = 100  # of a Content-Type, in characters
_MOSTLY_BINARY = 10  # a tenth of the bytes; a few NULs in a page are an accident
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


class MediaType(NamedTuple):
    """A media type without parameters, lower case, and its charset parameter."""

    essence: str
    charset: str | None


def is_media_type(value: str) -> bool:
    """Whether `value` is an essence as `declared_type` gives it."""
    return _MIME_TYPE.fullmatch(value) is not None and value == value.lower()


def declared_type(content_types: list[str]) -> MediaType:
    """The last valid Content-Type of several, which may stand in one header; an empty essence where none is.

    Fetch, "extract a MIME type": the same type said again without a charset keeps the one that it had.
    """
    if len(content_types) == 1 and len(content_types[0]) <= _REMEMBERED_LENGTH:
        return _remembered(content_types[0])
    return _last_of(content_types)


def _last_of(content_types: Iterable[str]) -> MediaType:
    found = MediaType("", None)
    for value in content_types:
        for part in _IN_LIST.findall(value):
            parsed = _parsed(part)
            if parsed is not None and parsed.essence != "*/*":
                kept = found.charset if parsed.essence == found.essence else None
                found = MediaType(parsed.essence, parsed.charset or kept)
    return found


def _parsed(content_type: str) -> MediaType | None:
    match = _MIME_TYPE.match(content_type.strip())
    if match is None:
        return None
    found = _CHARSET.search(content_type)
    return MediaType(match[0].lower(), (found[1] or found[2]) if found else None)


# A crawl's pages have a handful between them.
_remembered = lru_cache(maxsize=256)(lambda content_type: _last_of([content_type]))


def actual_type(declared: MediaType, body: bytes) -> str:
    """The essence of what `body` is: as declared, unless that says nothing, or says HTML of what is binary; XML whose
    root is a page's is XHTML, by whatever name of XML it comes.
    """
    if declared.essence in HTML:
        return _binary_type(body, utf16=_is_utf16(declared)) or declared.essence
    essence = _sniffed(body) if declared.essence in _UNKNOWN else declared.essence
    return "application/xhtml+xml" if essence.endswith("xml") and is_page(body) else essence


def _is_utf16(declared: MediaType) -> bool:
    return declared.charset is not None and declared.charset.lower().startswith(("utf-16", "utf16", "unicode", "ucs"))


def _sniffed(body: bytes) -> str:
    if _HTML_START.match(body.removeprefix(_TEXT_BOMS[0])):
        return "text/html"
    if _XML_START.match(body):
        return "text/xml"
    return _binary_type(body, utf16=False) or "text/plain"


def _binary_type(body: bytes, *, utf16: bool) -> str | None:
    if body.startswith(_SIGNED):
        return next(essence for signature, essence in _SIGNATURES if body.startswith(signature))
    if utf16 or body.startswith(_TEXT_BOMS):
        return None
    head = body[:_HEADER_BYTES]
    binary = len(head) - len(head.translate(None, delete=_BINARY_BYTES))
    return _OCTETS if binary * _MOSTLY_BINARY > len(head) else None


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
