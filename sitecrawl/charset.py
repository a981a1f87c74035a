"""Which character encoding a page is in, as a browser decides (WHATWG Encoding, and HTML §13.2.3.2).

In this order: a byte order mark; the Content-Type's charset; a declaration in the first 1,024 bytes; UTF-8 if the
body is UTF-8 throughout, as Chrome's detector would find; windows-1252. A label that no browser knows counts as none.
"""

from __future__ import annotations

from typing import Final

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, resolve_encoding

PRESCAN: Final = 1024
"""Bytes in which a declaration counts."""

_DEFAULT = "windows-1252"
_WHATWG_NAMES: Final = {"cp1252": "windows-1252", "cp1251": "windows-1251", "cp932": "shift_jis", "cp949": "euc-kr"}
_NOT_BY_META: Final = frozenset({"utf-16", "utf-16-le", "utf-16-be"})


def charset_of(body: bytes, content_type: str) -> str:
    """The encoding's name, which Python knows as well; `content_type` is the header as it came."""
    bom, _ = read_bom(body)
    if bom is not None:
        return bom
    name = resolve_encoding(http_content_type_encoding(content_type) or "") or _declared(body)
    if name is None:
        name = "utf-8" if _is_utf8(body) else _DEFAULT
    return _WHATWG_NAMES.get(name, name)


def decode(body: bytes, charset: str) -> str:
    """The body as text, without byte order mark; what does not decode becomes U+FFFD."""
    _, bom = read_bom(body)
    return body[len(bom or b"") :].decode(charset, errors="replace")


def _declared(body: bytes) -> str | None:
    name = html_body_declared_encoding(body[:PRESCAN])
    # Who could read the declaration byte by byte is not reading UTF-16 (HTML §13.2.3.2, step 11).
    return "utf-8" if name in _NOT_BY_META else name


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.end >= len(body) and error.reason == "unexpected end of data"
    return True
