"""The content-seen test of a crawl: which pages repeat others, and what follows from that.

In Mercator (Heydon and Najork 1999, 3.4) a document whose content was seen is not processed further, so that mirrors
are not crawled twice. `SITECRAWL_DUPLICATE_CONTENT` says how far a crawl does so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.frontier.contract import Frontier
from sitecrawl.frontier.forms.duplicates import ContentFigures, Verdict
from sitecrawl.page.items import PageItem

KEEP: Final = "keep"
"""Each page is stored with its body."""
_REVISIT: Final = "revisit"
"""A body is stored once; other pages with it are stored as references."""
_SKIP_LINKS: Final = "skip-links"
"""As `_REVISIT`, and links of the other pages are not followed."""
DUPLICATE_CONTENT: Final = (KEEP, _REVISIT, _SKIP_LINKS)


class ContentSeen:
    """See the module. `duplicates` is one of `DUPLICATE_CONTENT`; `finish_handled` finishes the fetches that Scrapy
    is done with.
    """

    def __init__(self, frontier: Frontier, duplicates: str, finish_handled: Callable[[], None]) -> None:
        self._frontier = frontier
        self._finish_handled = finish_handled
        self._skips_links = duplicates == _SKIP_LINKS
        self._counts: Counter[str] = Counter()

    def follows(self, fetch: Fetch, page: PageItem) -> bool:
        """Whether the links of `page` are followed. Ask once a page.

        They are not if the crawl is done with another page of that content: its links are in the same checkpoint as
        the page itself, so a crash cannot lose them. Of two such pages in flight at once, both are followed; so is a
        page that is fetched again.
        """
        if not self._skips_links or fetch.visit.again:
            return True
        self._finish_handled()
        if not self._frontier.contents.is_repeated(fetch.visit, page.sha1):
            return True
        self._counts["links_skipped"] += 1
        return False

    def compare(self, fetch: Fetch) -> None:
        """Compare the page's content with others', and record it.

        Call once, when the fetch is over: content in a checkpoint before that would make the page repeat itself when
        it is fetched again after a crash.
        """
        page = fetch.to_compare
        if page is None:
            return
        title = page.title or ""
        verdict = self._frontier.contents.judge(
            fetch.visit, page.sha1, title=title, text_hash=page.text_hash, sample=page.sample
        )
        self._counts["pages"] += 1
        if verdict is not Verdict.NEW:
            self._counts[verdict.value] += 1
        fetch.compared(verdict)

    def figures(self) -> ContentFigures:
        """Figures of this run."""
        return ContentFigures(**self._counts)
