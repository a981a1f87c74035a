"""What an agent may ask of a stored crawl. Each call opens the crawl anew, so one that still runs is seen as it is.

All answers are bounded, and are what JSON has. All calls raise `StorageError` where the crawl cannot be read or does
not have what is asked for, and `OptionError` where a question makes no sense.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.page.links import AGENT
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.console import parse_since
from sitecrawl.pagestore.reader import PageFilter
from sitecrawl.pagestore.rounds import rounds_in, span_of
from sitecrawl.pagestore.workers import Reader
from sitecrawl.plugins.export.changes import WITH_DIFFS, changes, spans_of, spans_since
from sitecrawl.plugins.export.formats import iso_of
from sitecrawl.plugins.export.fulltext import HITS, SearchIndex
from sitecrawl.plugins.export.pages import pages_with_texts
from sitecrawl.plugins.why.explain import why
from sitecrawl.plugins.why.source import Source

_MOST_ROWS: Final = 500
_MOST_TEXT: Final = 100_000
"""Characters of a page in one answer."""
_INDEXING_SECONDS: Final = 20.0
"""For which a search takes in new pages before it answers."""
_SEARCH_SECONDS: Final = 20.0


class StoredCrawl:
    """`pages` opens the crawl's page store, `source` its frontier. `use`: what the pages are for, if that is said:
    those that refuse it are not shown. `agent`: our name to robots.txt.
    """

    def __init__(
        self,
        pages: Callable[[], AbstractContextManager[Reader]],
        source: Callable[[], AbstractContextManager[Source]],
        use: str = "",
        agent: str = AGENT,
    ) -> None:
        self._use, self._agent = use, agent
        self._pages = pages
        self._source = source

    def search(self, words: str, limit: int = 10) -> dict[str, Any]:
        """Find the stored pages that contain all of the words, the best first. "Words in quotation marks" have to
        stand next to one another; begin* finds words that begin so. `complete` is false while pages are missing in
        the index: ask again.
        """
        _check(limit)
        until = time.monotonic() + _INDEXING_SECONDS
        with (
            self._pages() as reader,
            SearchIndex(reader.directory) as index,
            pages_with_texts(reader, agent=self._agent) as pages,
        ):
            index.update(pages, lambda: time.monotonic() < until)
            found = index.find(words, limit, seconds=_SEARCH_SECONDS, importance=pages.importance_of)
            found = [hit for hit in found if not pages.refuse(hit.url, self._use)]
        return {"hits": [dict(HITS.facts(hit)) for hit in found], "complete": time.monotonic() < until}

    def page(self, url: str, offset: int = 0, limit: int = 20_000) -> dict[str, Any]:
        """Read the newest stored version of a page as Markdown: `limit` characters from `offset` on. `next` is the
        offset of what follows, null at the end.
        """
        if offset < 0 or not 1 <= limit <= _MOST_TEXT:
            raise OptionError(f"offset is at least 0, and limit from 1 to {_MOST_TEXT}")
        with self._pages() as reader, pages_with_texts(reader, agent=self._agent) as pages:
            captures = reader.find(url)
            if not captures:
                raise StorageError(f"{url} is not stored")
            if pages.refuse(captures[0].url, self._use):
                raise StorageError(f"{url} is not to be used for {self._use}: its site says so")
            store = next(store for _, store in pages.stores if store.get(captures[0].id) == captures[0])
            text = pages.page_of(store, captures[0]).markdown or ""
            end = offset + limit
            return {
                **_row(captures[0]),
                "language": captures[0].language,
                "markdown": text[offset:end],
                "characters": len(text),
                "next": end if end < len(text) else None,
            }

    def pages(
        self, host: str = "", status: int = 0, url_like: str = "", offset: int = 0, limit: int = 50
    ) -> dict[str, Any]:
        """List what is stored, the oldest first: of one host, with one status, or with a part of the URL, in which
        `*` stands for anything.
        """
        _check(limit)
        if offset < 0:
            raise OptionError("offset is at least 0")
        wanted = PageFilter(host=host or None, status=status or None, url_like=url_like or None)
        with self._pages() as reader:
            rows = [_row(capture) for capture in islice(reader.pages(wanted), offset, offset + limit)]
        return {"pages": rows, "next": offset + limit if len(rows) == limit else None}

    def changes(self, since: str = "", limit: int = 50) -> dict[str, Any]:
        """List the pages that are new, changed (with a diff of the text), gone or moved: by the last round of the
        crawl, or since a time such as 2026-11-21, 12h or 7d.
        """
        _check(limit)
        with self._pages() as reader, pages_with_texts(reader, agent=self._agent) as pages:
            if since:
                spans = spans_since(pages, parse_since(since, datetime.now(UTC)))
            else:
                spans = spans_of(pages, span_of(rounds_in(reader.directory)))
            found = (one for one in changes(pages, spans) if not pages.is_refused(one.page, self._use))
            return {"changes": [dict(WITH_DIFFS.facts(one)) for one in islice(found, limit)]}

    def why(self, url: str) -> dict[str, Any]:
        """Say why a URL was fetched, waits, was left out, or is not known; with the evidence, and what would help."""
        with self._source() as source:
            return why(source, url).as_dict()

    @property
    def questions(self) -> Mapping[str, Callable[..., dict[str, Any]]]:
        """All of these, by name."""
        return {
            "search": self.search,
            "page": self.page,
            "pages": self.pages,
            "changes": self.changes,
            "why": self.why,
        }


def _row(capture: Capture) -> dict[str, Any]:
    return {
        "url": capture.url,
        "title": capture.title,
        "status": capture.status,
        "kind": capture.kind,
        "type": capture.content_type,
        "fetched": iso_of(capture.fetched),
    }


def _check(limit: int) -> None:
    if not 1 <= limit <= _MOST_ROWS:
        raise OptionError(f"limit: {limit} is not from 1 to {_MOST_ROWS}")
