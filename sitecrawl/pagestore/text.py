"""A page as JSON that any language reads."""

from __future__ import annotations

import base64
import json

from sitecrawl.page.items import PageItem


def page_json(page: PageItem) -> str:
    """One JSON object: the page's facts, the addresses of its links, and its body.

    `body` is text where that is exact: encoded in `charset` it gives the very bytes again. Any other body is in
    `body_base64`.
    """
    fields = ("url", "status", "fetched", "depth", "referrer", "content_type", "charset", "title", "canonical")
    facts = {name: getattr(page, name) for name in (*fields, "noindex", "size")}
    text = _exact_text(page.body, page.charset)
    body = {"body_base64": base64.b64encode(page.body).decode()} if text is None else {"body": text}
    return json.dumps({**facts, "links": [link.url for link in page.links], **body})


def _exact_text(body: bytes, charset: str | None) -> str | None:
    """`body` as text, if that loses nothing."""
    if charset is None:
        return None
    try:
        text = body.decode(charset)
        return text if text.encode(charset) == body else None
    except (UnicodeError, LookupError):
        return None
