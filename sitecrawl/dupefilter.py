"""The seen set as Scrapy's duplicate filter: `DUPEFILTER_CLASS = "sitecrawl.dupefilter.DupeFilter"`.

It stands in for `scrapy.dupefilters.RFPDupeFilter` under Scrapy's own scheduler, in any project, in bounded
memory. With JOBDIR it keeps its set in `JOBDIR/seen`.

The set is made permanent only when the spider closes, because that is when Scrapy's scheduler makes its queue
permanent: queuelib writes its sizes and the scheduler its `active.json` on close, not before. After a `kill -9` the
set is what it was at the last clean close. What is left of the queue is not: its files have requests in them and no
sizes, so remove `JOBDIR/requests.queue` and start again; every page is then found and fetched. A set that
remembered more would filter requests that no queue holds any more: lost pages. (`sitecrawl.scheduler` resumes at
its last checkpoint and needs no such care.)
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from sitecrawl.crawl import configuration
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore
from sitecrawl.urls.fingerprint import Fingerprinter

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from scrapy.utils.request import RequestFingerprinterProtocol

logger = logging.getLogger(__name__)


class DupeFilter(RFPDupeFilter):
    """Filters requests whose fingerprint was seen before, by `sitecrawl.frontier.seen`.

    `fingerprinter` decides which requests are the same: it is Scrapy's, so `REQUEST_FINGERPRINTER_CLASS` rules.
    Without `jobdir` the set is in a temporary directory that goes when the spider closes.
    """

    def __init__(
        self,
        jobdir: str | None,
        options: SeenOptions,
        *,
        fingerprinter: RequestFingerprinterProtocol,
        stats: StatsCollector | None = None,
        debug: bool = False,
    ) -> None:
        super().__init__(debug=debug, fingerprinter=fingerprinter)
        self._jobdir = jobdir
        self._options = options
        self._stats = stats
        self._closing = ExitStack()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.request_fingerprinter is not None
        return cls(
            job_dir(crawler.settings),
            configuration.seen(crawler.settings),
            fingerprinter=crawler.request_fingerprinter,
            stats=crawler.stats,
            debug=crawler.settings.getbool("DUPEFILTER_DEBUG"),
        )

    def open(self) -> None:
        """Open the set. Raises a `SitecrawlError` that says what to do if it cannot be used."""
        with ExitStack() as opening:
            path = self._jobdir or opening.enter_context(TemporaryDirectory(prefix="sitecrawl-"))
            self._store = SeenStore(Path(path, "seen"), self._options)
            opening.callback(self._store.close, save=self._jobdir is not None)
            self._key_of = Fingerprinter(self._store.key).opaque
            self._closing = opening.pop_all()
        self._report_opening()

    def _report_opening(self) -> None:
        logger.info("URL-seen test: %s", self._store.seen.describe())
        if self._store.rebuilt is not None:
            logger.info("The Bloom filter was filled again from the exact set: %s", self._store.rebuilt)

    def request_seen(self, request: Request) -> bool:
        key = self._key_of(self.fingerprinter.fingerprint(request))
        return not self._store.seen.add_many((key,))[0]

    def close(self, reason: str) -> None:
        """Make the set permanent, if it has a JOBDIR, and count what its tiers did as `seen/...`."""
        self._closing.close()
        if self._stats is not None:
            for name, value in self._store.seen.figures().counts().items():
                self._stats.set_value(f"seen/{name}", value)
