"""The page that searches the texts of stored pages. The index is what `scrapy search` has made: to read all pages is
no business of a process that crawls.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from sitecrawl.base.display import visible
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.crawldir.directory import WORKER_PREFIX
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.plugins.export.fulltext import FILE, FOUND, Hit, SearchIndex
from sitecrawl.plugins.export.importance import Importance

_SHOWN: Final = 30
_SECONDS: Final = 5.0
"""For one search; what takes longer is ended."""
_MARKED = re.compile(f"([{''.join(FOUND)}])")
_LINKED: Final = ("http://", "https://")


class SearchPage:
    """Of the crawl in `directory`, or of that which a worker there has a part in. One search at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.parent if directory.name.startswith(WORKER_PREFIX) else directory
        self._one_at_a_time = asyncio.Lock()

    async def render(self, words: str) -> str:
        """The page, with what is found for `words`, if there are some."""
        hits: list[Hit] = []
        said = ""
        if words:
            try:
                async with self._one_at_a_time:
                    hits = await asyncio.to_thread(self._find, words)
                said = "" if hits else "Nothing is found."
            except SitecrawlError as error:
                said = visible(str(error))
        return self._template.render(words=words, hits=hits, said=said, shown=visible, parts=_parts, is_link=_is_link)

    def _find(self, words: str) -> list[Hit]:
        if not (self._directory / FILE).exists():
            raise SitecrawlError("There is no index yet: `scrapy search` makes it, and adds to it what is new")
        with SearchIndex(self._directory) as index, Importance(self._directory) as importance:
            return index.find(words, _SHOWN, seconds=_SECONDS, importance=importance.of_key)

    @cached_property
    def _template(self) -> Template:
        loader = PackageLoader("sitecrawl.plugins.dashboard")
        return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template("search.html")


def _parts(snippet: str) -> Iterator[tuple[str, bool]]:
    """Its pieces, and whether each was asked for."""
    is_found = False
    for part in _MARKED.split(snippet):
        if part in FOUND:
            is_found = part == FOUND[0]
        else:
            yield visible(part), is_found


def _is_link(url: str) -> bool:
    """Whether a click may lead there."""
    return url.startswith(_LINKED) and bool(host_of(url))
