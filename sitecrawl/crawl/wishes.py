"""Operator requests, polled while a crawl runs: ask given-up hosts again.

The wish is an empty file in the crawl's directory. The crawl looks for it at every checkpoint, and deletes it when
that is on disk; a crawl that does not run asks them again when it is resumed, and finds it then.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from scrapy.crawler import Crawler

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.frontiers import OurFrontier
from sitecrawl.crawl.privates import wake
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.by_hand import RETRY, Act

logger = logging.getLogger(__name__)

_NAME: Final = "retry-given-up"


def wish(directory: Path) -> None:
    """Let the crawl in `directory` ask the hosts again that were given up. Raises `StorageError`."""
    try:
        (directory / _NAME).touch()
    except OSError as error:
        raise StorageError(f"Nothing can be said to the crawl in {directory}: {error.strerror or error}") from error


class Wishes(Participant):
    """See the module. It is part of every checkpoint."""

    def __init__(self, directory: Path, crawler: Crawler, ours: OurFrontier) -> None:
        assert crawler.stats
        self._file = directory / _NAME
        self._crawler = crawler
        self._stats = crawler.stats
        self._ours = ours
        self._taken = False

    def retry_given_up(self) -> None:
        """Ask the hosts again that were given up, of those that this process has."""
        if not self._ours.is_replaced and (urls := self._ours.local.by_hand.retry_given_up()):
            logger.info("%d URLs of hosts that never answered are tried again", urls)
            self._stats.inc_value("frontier/retried_given_up", urls)
            wake(self._crawler)

    def prepare(self, batch: Batch) -> None:
        self._taken = self._file.exists()
        if self._taken and self._ours.team is not None:
            self._ours.team.act(Act(RETRY))  # all workers
        elif self._taken:
            self.retry_given_up()

    def committed(self) -> None:
        if self._taken:
            self._file.unlink(missing_ok=True)
