"""What FTP leaves to be made up: a folder's listing as an HTML page, and the media type of a file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from mimetypes import MimeTypes
from typing import Final
from urllib.parse import quote, unquote

from sitecrawl.page.media_type import MediaType, actual_type
from sitecrawl.plugins.ftp.listing import Entry

CONTENT_TYPE: Final = "text/html; charset=utf-8"
_IN_NAMES: Final = "!$&'()*+,:=@~"
"""What RFC 3986 allows in a segment of a path, but for the semicolon: behind it comes a type (RFC 1738)."""
_TYPES: Final = MimeTypes()
"""Python's own: what this machine says of endings, another may not."""
_PACKED: Final = {
    "br": "application/x-brotli",
    "bzip2": "application/x-bzip2",
    "compress": "application/x-compress",
    "gzip": "application/gzip",
    "xz": "application/x-xz",
}
_UNTYPED: Final = MediaType("", None)


def page_of(folder: str, entries: Iterable[Entry], note: str = "") -> bytes:
    """The page of the folder at the URL `folder`, which ends with a slash; `note` is for who reads it. Its links are
    read as those of any other page.
    """
    title = escape(f"Index of {unquote(folder)}")
    rows = "\n".join(map(_row, entries))
    note = f"<p>{escape(note)}</p>\n" if note else ""
    page = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<base href="{escape(folder)}"></head>\n<body><h1>{title}</h1>\n'
        f"<pre>\n{rows}\n</pre>\n{note}</body></html>\n"
    )
    return page.encode("utf-8", "replace")


def _row(entry: Entry) -> str:
    slash = "/" if entry.is_folder else ""
    address = f"./{quote(entry.name, safe=_IN_NAMES)}{slash}"  # without the dot a colon would end a scheme
    name = entry.name.decode("utf-8", "replace") + slash
    size = "" if entry.size is None else str(entry.size)
    return f'<a href="{escape(address)}">{escape(name)}</a>  {size}  {escape(entry.modified)}'.rstrip()


def media_type_of(name: bytes, body: bytes) -> str:
    """By the ending of `name`, or else by a look at `body`."""
    found, coding = _TYPES.guess_type(name.decode("latin-1").rpartition("/")[2], strict=False)
    if coding is not None:
        return _PACKED.get(coding, "application/octet-stream")
    return found or actual_type(_UNTYPED, body)
