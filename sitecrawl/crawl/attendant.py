"""Keeps the checkpoints of a crawl whose scheduler is not ours.

Checkpoints are the scheduler's work. Where the page store, or the middleware that captures exchanges, works in a
project with Scrapy's scheduler or that of scrapy-redis, someone else has to make durable
what is stored, and to close it.
"""

from __future__ import annotations

import logging

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from twisted.internet.task import LoopingCall

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.runtime import Runtime

logger = logging.getLogger(__name__)

_SCHEDULER = "sitecrawl.scheduler.Scheduler"
_ATTRIBUTE = "sitecrawl_attendant"
_CHECKPOINT_SECONDS = 1.0


def has_our_scheduler(settings: BaseSettings) -> bool:
    """Whether the crawl's URLs are in our frontier. Asking the runtime would make one."""
    scheduler = load_object(settings["SCHEDULER"])
    return any(f"{base.__module__}.{base.__qualname__}" == _SCHEDULER for base in scheduler.__mro__)


def attend(crawler: Crawler) -> None:
    """See to the checkpoints of `crawler`, if its scheduler does not. The second call changes nothing."""
    if _ATTRIBUTE not in vars(crawler) and not has_our_scheduler(crawler.settings):
        vars(crawler)[_ATTRIBUTE] = Attendant(crawler)


class Attendant:
    """See the module; `attend` makes it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._runtime = Runtime.of(crawler)
        self._failed = False
        self._checkpoints: AsyncioLoopingCall | LoopingCall = create_looping_call(self._checkpoint)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def _opened(self) -> None:
        self._checkpoints.start(_CHECKPOINT_SECONDS, now=False)

    def _closed(self) -> None:
        if self._checkpoints.running:
            self._checkpoints.stop()
        try:
            if not self._failed:
                self._runtime.save()
        except StorageError as error:
            self._failed = True
            self._report(error)
        finally:
            self._close()

    def _close(self) -> None:
        try:
            self._runtime.close()
        except StorageError as error:
            if not self._failed:  # else it is the same once more
                self._report(error)

    def _checkpoint(self) -> None:
        try:
            if not self._failed:
                self._runtime.checkpoint()
        except StorageError as error:
            self._failed = True
            self._report(error)
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="storage_error"))

    def _report(self, error: StorageError) -> None:
        logger.error("%s", error)
        self._runtime.stats.inc_value("scheduler/storage_errors")
