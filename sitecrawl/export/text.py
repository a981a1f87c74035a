"""The text of a stored page."""

from __future__ import annotations

from typing import Final

from sitecrawl.page.charset import without_bom
from sitecrawl.page.media_type import HTML
from sitecrawl.page.text_lines import html_lines
from sitecrawl.pagestore.capture import clean_text

_MAX_BODY: Final = 50_000_000
"""Bytes beyond which nobody reads a body as a text."""


def text_of(body: bytes, content_type: str, charset: str | None) -> str | None:
    """What a reader sees of a page; None of what is no text."""
    if charset is None or len(body) > _MAX_BODY:
        return None
    text = clean_text(without_bom(body).decode(charset, "replace"))
    if content_type not in HTML:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return clean_text("\n".join(" ".join(line.text.split()) for line in html_lines(text)))
