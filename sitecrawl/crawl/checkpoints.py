"""A crawl's checkpoints: when they are due, their order, and what happens when one fails.

First whoever takes part makes its files durable, the page stores among them; then one RocksDB batch says what is
done, and how far the stores had come. So after a crash the stores are cut back to that batch, and every page is in
them once.

With our scheduler, it begins and ends them: it knows what else there is to do before files are closed. Without, in a
project that has Scrapy's scheduler or that of scrapy-redis and our page store, they do so themselves.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from scrapy import signals
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.misc import load_object
from twisted.internet.task import LoopingCall

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.engine import stop
from sitecrawl.crawldir.participant import Participant

if TYPE_CHECKING:
    from sitecrawl.crawl.runtime import Runtime

logger = logging.getLogger(__name__)

PAGES_PER_CHECKPOINT: Final = 500
"""After so many finished URLs a checkpoint is due, however short the time since the last."""
_SECONDS: Final = 1.0
"""Between two checkpoints, if there are fewer URLs."""
_SCHEDULER: Final = "sitecrawl.scheduler.Scheduler"


def has_our_scheduler(settings: BaseSettings) -> bool:
    """Whether the crawl's URLs are in our frontier. Asking the runtime would make one."""
    scheduler = load_object(settings["SCHEDULER"])
    return any(f"{base.__module__}.{base.__qualname__}" == _SCHEDULER for base in scheduler.__mro__)


class Checkpoints:
    """See the module."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._participants: list[Participant] = [runtime.seed_hosts]
        self._timer: AsyncioLoopingCall | LoopingCall | None = None
        self.pages = 0
        """URLs that are finished since the last one."""
        self.failed = False
        """Whether nothing more can be stored: the stores may have come farther than the database."""
        if not has_our_scheduler(runtime.crawler.settings):
            runtime.crawler.signals.connect(self.start, signals.spider_opened)
            runtime.crawler.signals.connect(self.close, signals.spider_closed)

    def add(self, participant: Participant) -> None:
        """From now on it takes part in every checkpoint."""
        self._participants.append(participant)

    def start(self) -> None:
        """Have one every second."""
        self._timer = create_looping_call(self.run)
        self._timer.start(_SECONDS, now=False)

    def stop(self) -> None:
        """No more of themselves."""
        if self._timer is not None and self._timer.running:
            self._timer.stop()

    @property
    def is_due(self) -> bool:
        """Whether the next should not wait for its time."""
        return self.pages >= PAGES_PER_CHECKPOINT or self._runtime.frontier.wants_checkpoint

    def run(self) -> None:
        """Make durable what has been done so far. If that fails, the crawl ends."""
        if self.failed:
            return
        try:
            self._runtime.finish_handled()
            self.write()
        except StorageError as error:
            self.fail(error)

    def write(self) -> None:
        """The checkpoint itself. Raises `StorageError`."""
        database, frontier = self._runtime.database, self._runtime.frontier
        batch = database.batch()
        for participant in self._participants:
            participant.prepare(batch)
        frontier.flush(batch)
        database.write(batch)
        for participant in self._participants:
            participant.committed()
        frontier.flushed()
        self.pages = 0

    def save(self) -> None:
        """The last checkpoint, and what makes the next start quick. Raises `StorageError`."""
        self._runtime.finish_handled()
        self.write()
        self._runtime.save_filter()

    def close(self) -> None:
        """Save, and close all files, whatever fails."""
        self.stop()
        try:
            if not self.failed:
                self.save()
        except StorageError as error:
            self._report(error)
        finally:
            self._close()

    def _close(self) -> None:
        try:
            self._runtime.close()
        except StorageError as error:
            self._report(error)

    def fail(self, error: StorageError) -> None:
        """Nothing more can be stored: end the crawl, and keep what the last checkpoint has."""
        if not self.failed:
            self._report(error)
            stop(self._runtime.crawler, "storage_error")

    def _report(self, error: StorageError) -> None:
        """Once: what fails after it is the same once more."""
        if not self.failed:
            logger.error("%s", error)
            self._runtime.stats.inc_value("scheduler/storage_errors")
        self.failed = True
