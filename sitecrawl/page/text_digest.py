"""Whether two versions of a page say the same."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from sitecrawl.page.beginning import html_of
from sitecrawl.page.links import PageOptions
from sitecrawl.page.markup import elements
from sitecrawl.page.media_type import HTML

DIGEST_SIZE: Final = 16
_USUAL: Final = PageOptions()


def text_digest(content_type: str, charset: str | None, body: bytes, options: PageOptions = _USUAL) -> bytes:
    """Of what a reader sees of a page: neither a token in the markup nor another charset is a change."""
    is_html = content_type in HTML
    text = elements(html_of(body, content_type, charset, options.budget), 1, options.tree).text if is_html else ""
    return blake2b(text.encode("utf-8", "replace") or body, digest_size=DIGEST_SIZE).digest()
