"""Fetches under way: each follows a request from the frontier until Scrapy is done with it and its page is stored.

A page goes into the page store when its fetch is over, not before. So storing it and the end of its visit are in the
same checkpoint, and a crash cannot separate them.

The end of a fetch is also the content-seen test. In Mercator (Heydon and Najork 1999, 3.4) a document whose content
was seen is not processed further, so that mirrors are not crawled twice. `SITECRAWL_DUPLICATE_CONTENT` says how far a
crawl does so.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.datatypes import LocalCache

from sitecrawl.base.errors import InvalidUrl, NoParser
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawl.outcomes import OutcomeCounts
from sitecrawl.crawl.privates import in_progress
from sitecrawl.crawl.requests import VISIT
from sitecrawl.crawl.traffic import LOST
from sitecrawl.frontier.contract import Frontier
from sitecrawl.frontier.forms.duplicates import ContentFigures, Verdict
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Exchange, PageItem
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore import WarcStore

logger = logging.getLogger(__name__)

_FAILURES_KEPT: Final = 1_000
"""Most hosts whose failure is remembered."""


class Pages:
    """Where exchanges and pages are stored; nowhere without a `store`."""

    def __init__(
        self, stats: StatsCollector, store: WarcStore | None, frontier: Frontier, news: FrontierListener
    ) -> None:
        self._stats = stats
        self.store = store
        self._frontier = frontier
        news.on_linked_to.append(self._linked_to)
        news.on_withdrawn.append(self._withdraw)

    def put(self, exchange: Exchange, page: PageItem | None = None, *, is_requisite: bool = False) -> int:
        """Store an exchange and the page made of it; return its row of the page index, 0 if it cannot be stored."""
        if self.store is None:
            return 0
        try:
            self.store.put(exchange, page, is_requisite=is_requisite)
        except InvalidUrl as error:
            logger.warning("Not stored: %s", error)
            self._stats.inc_value("pagestore/not_stored")
            return 0
        return self.store.last_id

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def _linked_to(self, key: bytes) -> None:
        """Queue again, as a page, what was fetched as a requisite and is now linked to: its links count."""
        record = self._frontier.urls.get(key)
        stored = self.store.media_type(record.url) if record is not None and self.store is not None else None
        if stored is None or stored in HTML:
            self._frontier.again(key)

    def _withdraw(self, rows: list[int]) -> None:
        if rows:
            self._stats.inc_value(LOST, len(rows))
        if self.store is not None:
            self.store.withdraw(rows)


class Fetches(dict[bytes, Fetch]):
    """See the module. The keys are those of visits."""

    def __init__(
        self, crawler: Crawler, frontier: Frontier, pages: Pages, outcomes: OutcomeCounts, duplicates: str
    ) -> None:
        """`duplicates`: what SITECRAWL_DUPLICATE_CONTENT says."""
        super().__init__()
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._frontier = frontier
        self._pages = pages
        self._outcomes = outcomes
        self._skips_links = duplicates == "skip-links"
        self._compared: Counter[str] = Counter()
        """`content_figures`."""
        self.finished = 0
        """URLs finished since the last checkpoint."""
        self._look_at = 16
        """With so many fetches it is looked at again which are over: twice as many as were not, the last time."""
        self.on_begin: list[Callable[[Fetch], None]] = []
        """Called with each fetch that begins."""
        self.on_finish: list[Callable[[Fetch], None]] = [outcomes.finished]
        """Called with each fetch of a page whose visit is over."""
        self.failures: LocalCache[str, tuple[type[Exception], str]] = LocalCache(_FAILURES_KEPT)
        """Kind and text of each host's last failure."""

    def begin(self, visit: Visit, request: Request) -> Fetch:
        """Begin a fetch: Scrapy works on `request` from now on."""
        fetch = self[visit.key] = Fetch(visit, request)
        for listener in self.on_begin:
            listener(fetch)
        return fetch

    def of(self, request: Request | None) -> Fetch | None:
        """The fetch that `request` was handed out for; None for other requests, even with the same `meta`."""
        fetch = self.get(request.meta.get(VISIT, b"")) if request is not None else None
        return fetch if fetch is not None and fetch.request is request else None

    def behind(self, request: Request) -> Fetch | None:
        """The fetch behind `request`: its own, or that of the request whose `meta` it copied."""
        key = request.meta.get(VISIT)
        return self.get(key) if key is not None else None

    def put(self, exchange: Exchange, page: PageItem | None = None) -> None:
        """Store an exchange and the page made of it; if a fetch is under way, when that is over."""
        fetch = self.get(page.key) if page is not None else None
        if page is not None and fetch is not None:
            fetch.stored_page = page
        else:
            self._pages.put(exchange, page)

    def end(self, fetch: Fetch) -> int:
        """Store what the fetch brought, whatever becomes of the visit. Returns its row; 0 for none."""
        captured = fetch.captured
        if captured is not None and captured[1] is None:
            captured = captured[0], self._own_page(fetch)  # while the fetch is known: it says whose the page is
        del self[fetch.visit.key]
        self._outcomes.ended(fetch)
        if captured is None:
            return 0
        for part in fetch.parts:  # first: who reads a page again, in the order of the files, is to have its DOM
            self._pages.put(part, is_requisite=not part.is_resource)
        return self._pages.put(*captured, is_requisite=fetch.visit.is_requisite)

    def _own_page(self, fetch: Fetch) -> PageItem | None:
        try:
            return fetch.own_page()
        except (InvalidUrl, NoParser):  # the exchange is stored all the same
            self._stats.inc_value("pagestore/unread")
            return None

    def finish(self, fetch: Fetch) -> None:
        """End the fetch and its visit."""
        if fetch.interrupted:
            del self[fetch.visit.key]
            return
        row = self.end(fetch)
        self._compare(fetch)
        fetch.tell_visit()
        self._frontier.done(fetch.visit, fetch.state, status=fetch.status, good=fetch.is_good, row=row)
        self.finished += 1
        if fetch.visit.is_requisite:
            return
        for listener in self.on_finish:
            listener(fetch)

    def finish_handled(self) -> bool:
        """Finish the fetches that Scrapy is done with: callback run, items through the pipelines. Returns whether
        there was one.
        """
        working = in_progress(self._crawler) if self else ()
        handled = [fetch for fetch in self.values() if fetch.request not in working]
        for fetch in handled:
            self.finish(fetch)
        self._look_at = 2 * len(self) + 2
        return bool(handled)

    def finish_some(self) -> None:
        """Finish what Scrapy is done with, if that may be as much as is under way: what a page has taught is to be
        known before many more are chosen, and a look at each fetch is to cost no page more than two.
        """
        if len(self) >= self._look_at:
            self.finish_handled()

    # Content seen

    def follows(self, fetch: Fetch, page: PageItem) -> bool:
        """Whether the links of `page` are followed. Ask once a page.

        They are not if the crawl is done with another page of that content: its links are in the same checkpoint as
        the page itself, so a crash cannot lose them. Of two such pages in flight at once, both are followed; so is a
        page that is fetched again.
        """
        if not self._skips_links or fetch.visit.again:
            return True
        self.finish_handled()
        if not self._frontier.contents.is_repeated(fetch.visit, page.sha1):
            return True
        self._compared["links_skipped"] += 1
        return False

    def _compare(self, fetch: Fetch) -> None:
        """Compare the page's content with others', and record it: once the fetch is over, because content in a
        checkpoint before that would make the page repeat itself when it is fetched again after a crash.
        """
        page = fetch.to_compare
        if page is None:
            return
        title = page.title or ""
        verdict = self._frontier.contents.judge(
            fetch.visit, page.sha1, title=title, text_hash=page.text_hash, sample=page.sample
        )
        self._compared["pages"] += 1
        if verdict is not Verdict.NEW:
            self._compared[verdict.value] += 1
        fetch.verdict = verdict

    def content_figures(self) -> ContentFigures:
        """Figures of this run."""
        return ContentFigures(**self._compared)
