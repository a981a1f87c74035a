"""`scrapy crawl`, which says in one line what is wrong with an argument or a directory."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from typing import Final

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.console.version import Versioned
from sitecrawl.crawl.checked_settings import check_scrapys, not_loaded
from sitecrawl.crawl.checkpoints import MEMORY_ERRORS
from sitecrawl.crawl.configuration import is_job
from sitecrawl.crawl.outcomes import NO_PAGE
from sitecrawl.crawl.pause import REASONS
from sitecrawl.crawl.reading import NO_PARSER
from sitecrawl.rendering.outcome import NO_BROWSER

logger = logging.getLogger(__name__)

IN_WANT: Final = 3
"""The exit code of a crawl that can go on when this machine and its network can."""
_BY_HAND: Final = frozenset({"cancelled", "dashboard", "shutdown"})
"""Finish reasons of crawls that somebody has ended, before there was a page perhaps."""


class Command(Versioned, ScrapyCrawl):
    """Exit codes: 0 when the crawl ended by itself, 1 when it could not begin or had to stop, 2 for a wrong call,
    3 when it stopped for want of something on this machine, or of the network, and `SITECRAWL_NO_PAGE_CODE`, which is
    4, when no page was fetched.
    """

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Some settings are read before any add-on is asked: those of the log, of the reactor."""
        super().process_options(args, opts)
        assert self.settings is not None
        try:
            check_scrapys(self.settings)
        except SitecrawlError as error:
            sys.exit(f"sitecrawl: {error}")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("Name one spider: scrapy crawl generic -a seeds=https://example.com")
        assert self.crawler_process
        try:
            crawler = self._create_crawler(args[0])
        except KeyError:
            known = ", ".join(self.crawler_process.spider_loader.list())
            raise UsageError(f"There is no spider {args[0]!r}; there are: {known}", print_help=False) from None
        task = asyncio.ensure_future(self.crawler_process.crawl(crawler, **opts.spargs))
        self.crawler_process.start()
        error = task.exception() if task.done() and not task.cancelled() else None
        reason = (
            "" if error is None else str(error) if isinstance(error, SitecrawlError) else not_loaded(crawler.settings)
        )
        if reason:
            print(f"sitecrawl: {reason}", file=sys.stderr)
            if is_job():  # nobody sees its stderr
                logger.error("%s", reason)
            self.exitcode = 1
        elif error is not None:
            raise error
        elif self.crawler_process.bootstrap_failed or _had_to_stop(crawler):
            self.exitcode = 1
        elif _was_in_want(crawler):
            self.exitcode = IN_WANT
        elif _has_no_page(crawler):
            self.exitcode = crawler.settings.getint("SITECRAWL_NO_PAGE_CODE")


def _was_in_want(crawler: Crawler) -> bool:
    """Whether it ended for that; or lost its last checkpoint to it, when it had ended for something else."""
    stats = crawler.stats
    return stats.get_value("finish_reason") in REASONS or bool(stats.get_value(MEMORY_ERRORS))


def _has_no_page(crawler: Crawler) -> bool:
    """Whether it came to nothing, in this run and those before it, and not because somebody has ended it."""
    return bool(crawler.stats.get_value(NO_PAGE)) and crawler.stats.get_value("finish_reason") not in _BY_HAND


def _had_to_stop(crawler: Crawler) -> bool:
    """Whether something could not be stored, or read."""
    stats = crawler.stats
    is_failure = stats.get_value("finish_reason") in {"storage_error", NO_PARSER, NO_BROWSER}
    return is_failure or bool(stats.get_value("scheduler/storage_errors"))
