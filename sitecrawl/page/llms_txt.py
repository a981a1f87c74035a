"""llms.txt, in which a site lists its pages for language models, as links in Markdown (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.expressions import expression
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.media_type import HTML
from sitecrawl.urls.url import parse

PATH: Final = "/llms.txt"
_TARGET: Final = expression(r"\]\(\s*+<?([^()\s<>]{1,8000})|<?(https?://[^\s<>()\[\]\"'`]{1,8000})", re.IGNORECASE)
"""The target of a Markdown link, or a bare address."""


def is_llms_txt(page: PageItem) -> bool:
    """Whether `page` at that address is an llms.txt; many sites answer any address with HTML."""
    return page.charset is not None and page.content_type not in HTML


def links_in(text: str, url: str) -> Iterator[Link]:
    """URLs that the file at `url` lists, each once, in order."""
    met: set[str] = set()
    for found in _TARGET.finditer(text):
        try:
            target = parse(found[1] or found[2].rstrip(".,;:!?"), url)
        except InvalidUrl:
            continue
        if target.href not in met:
            met.add(target.href)
            yield Link(target.href, target.host, kind="llms")
