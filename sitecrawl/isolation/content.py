"""What is done with a page: it is read, or the text of two is compared.

A crawl does this itself or has `sitecrawl.isolation.worker` do it: it is these functions either way, and
`sitecrawl.page.codings.decoding` before them.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

from sitecrawl.base.limits import Limit
from sitecrawl.isolation.facts import Reading
from sitecrawl.page.beginning import html_of
from sitecrawl.page.items import Headers
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.page.markup import elements
from sitecrawl.page.media_type import HTML

DIGEST_SIZE: Final = 16


def read(url: str, body: bytes, headers: Headers, options: PageOptions) -> Reading:
    """The page that `body`, without content coding, is."""
    met: Counter[Limit] = Counter()
    return Reading(read_page(url, body, headers, options=options, met=met), met)


def text_digest(content_type: str, body: bytes, options: PageOptions) -> bytes:
    """Of what a reader sees of a page: a token in the markup that is new each time is no change."""
    is_html = content_type in HTML
    text = elements(html_of(body, content_type, None, options.budget), 1, options.tree).text if is_html else ""
    return blake2b(text.encode("utf-8", "replace") or body, digest_size=DIGEST_SIZE).digest()
