"""The part of a page that is read, as HTML in UTF-8."""

from __future__ import annotations

from sitecrawl.page.budget import DEFAULT, Budget, within
from sitecrawl.page.charset import without_bom
from sitecrawl.page.media_type import HTML
from sitecrawl.page.xhtml import TYPES, as_html


def is_markup(content_type: str) -> bool:
    """Whether bodies of that type have links."""
    return content_type in HTML or content_type in TYPES


def html_of(body: bytes, content_type: str, name: str | None, budget: Budget = DEFAULT) -> bytes:
    """A page in the charset `name` as HTML in UTF-8, cut at the limit for reading."""
    body = without_bom(within(body, budget))
    if name in {"utf-8", None} and content_type not in TYPES:
        return body
    text = as_html(body.decode(name or "utf-8", "replace"), content_type)
    return text.encode("utf-8", "replace")
