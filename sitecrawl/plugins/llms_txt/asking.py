"""Ask the hosts of seeds for their llms.txt (https://llmstxt.org), once each, and take what these list as links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from sitecrawl.base.expressions import expression
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import GUESS, pack
from sitecrawl.frontier.contract import Asked
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.media_type import HTML
from sitecrawl.urls.url import WEB, Url, parse, parse_or_none

_PATH: Final = "/llms.txt"
_DEPTH: Final = 1
"""Depth as of sitemaps. Not 0: where a seed redirects to is in scope."""
_TARGET: Final = expression(r"\]\(\s*+<?([^()\s<>]{1,8000})|<?(https?://[^\s<>()\[\]\"'`]{1,8000})", re.IGNORECASE)
"""The target of a Markdown link, or a bare address."""


class LlmsTxt:
    """See the module."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    def ask(self, seeds: Iterable[Url]) -> None:
        """Queue a request for each host, before its pages. Those of earlier runs are known and not repeated."""
        for url in {seed.host: parse(_PATH, seed.href) for seed in seeds if seed.scheme in WEB}.values():
            link = Link(url.href, url.host, priority=1, key=self._crawl.keys.key_of(url.href))
            request = pack({"meta": {GUESS: True}})  # nobody has said that there is one
            self._crawl.frontier.add([link], depth=_DEPTH, asked=Asked(request=request, brings_credit=True))

    def read(self, fetch: Fetch | None, page: PageItem) -> bool:
        """Give `page` the links that it lists, if it is an llms.txt; False for another page in its place."""
        if urlsplit(page.url).path != _PATH or not 200 <= page.status < 300:
            return True
        if page.charset is not None and page.content_type not in HTML:  # many sites answer anything with HTML
            reading = self._crawl.reading
            page.links = list(islice(_links_in(reading.text(page), page.url), reading.max_links))
            return True
        if fetch is None or GUESS not in fetch.request.meta:
            return True
        fetch.is_worth_it = True  # what answers for all that is missing is no page, and says nothing of its section
        return False


def _links_in(text: str, url: str) -> Iterator[Link]:
    """URLs that the file at `url` lists, each once, in order."""
    met: set[str] = set()
    for found in _TARGET.finditer(text):
        target = parse_or_none(found[1] or found[2].rstrip(".,;:!?"), url)
        if target is not None and target.href not in met:
            met.add(target.href)
            yield Link(target.href, target.host, kind="llms")
