"""The content-seen test of a crawl: what pages say that others have said, and what comes of it.

In Mercator (Heydon and Najork 1999, 3.4) a document whose content was seen is not processed any further, so that
mirrors are not crawled twice. `SITECRAWL_DUPLICATE_CONTENT` says how far a crawl goes along with that.
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
REVISIT: Final = "revisit"
"""A body is stored once; the other pages that have it refer to that."""
SKIP_LINKS: Final = "skip-links"
"""Besides, the links of those others are not followed."""
DUPLICATE_CONTENT: Final = (KEEP, REVISIT, SKIP_LINKS)


class ContentSeen:
    """See the module. `duplicates` is one of `DUPLICATE_CONTENT`; `finish_handled` ends the fetches with whose pages
    nobody has anything left to do.
    """

    def __init__(self, frontier: Frontier, duplicates: str, finish_handled: Callable[[], None]) -> None:
        self._frontier = frontier
        self._finish_handled = finish_handled
        self._skips_links = duplicates == SKIP_LINKS
        self._counts: Counter[str] = Counter()

    def follows(self, fetch: Fetch, page: PageItem) -> bool:
        """Whether the links of `page` are followed. To be asked once.

        They are not where another page, with which the crawl is done, has the content: its links fall into the same
        checkpoint as itself, so a crash parts them nowhere. Of two that come at the same moment both lead on, and so
        does one that is fetched again: it meets itself.
        """
        if not self._skips_links or fetch.visit.again:
            return True
        self._finish_handled()
        if not self._frontier.contents.is_repeated(fetch.visit, page.sha1):
            return True
        self._counts["links_skipped"] += 1
        return False

    def compare(self, fetch: Fetch) -> None:
        """Find out whether others have the content of its page, and let them know that it has.

        To be called once, when the fetch is over: a page whose content a checkpoint knew before would repeat itself
        when it is fetched again after a crash.
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
