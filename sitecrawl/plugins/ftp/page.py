"""A listing as an HTML page, whose links are read as those of any other page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final
from urllib.parse import quote, unquote

from sitecrawl.plugins.ftp.listing import Entry

CONTENT_TYPE: Final = "text/html; charset=utf-8"
_IN_NAMES: Final = "!$&'()*+,:=@~"
"""What RFC 3986 allows in a segment of a path, but for the semicolon: behind it comes a type (RFC 1738)."""


def page_of(folder: str, entries: Iterable[Entry], note: str = "") -> bytes:
    """The page of the folder at the URL `folder`, which ends with a slash; `note` is for who reads it."""
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
