"""The text of a page, for comparing."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from sitecrawl.markup import DEFAULT, TreeOptions, too_much


def readable_text(html: bytes, options: TreeOptions = DEFAULT) -> str:
    """The text of an HTML page, near enough for comparing; the markup as well where a tree would cost too much.

    The bytes are taken for UTF-8: in another encoding the words come out garbled, but the same garbled.
    """
    if too_much(html, options) is not None:
        return html.decode("utf-8", "replace")
    body = LexborHTMLParser(html).body
    return body.text(separator=" ") if body is not None else ""
