"""A crawl's checkpoints: when they are due, their order, and what happens when one fails.

First whoever takes part makes its files durable, the page stores among them; then one RocksDB batch says what is
done, and how far the stores had come. So after a crash the stores are cut back to that batch, and every page is in
them once.

With our scheduler, it begins and ends them: it knows what else there is to do before files are closed. Without, in a
project that has Scrapy's scheduler or that of scrapy-redis and our page store, they do so themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.crawl.memory import MemoryWatch
from sitecrawl.crawl.privates import stop
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.contract import Frontier
from sitecrawl.http import Want

logger = logging.getLogger(__name__)

PAGES_PER_CHECKPOINT: Final = 500
"""After so many finished URLs a checkpoint is due, however short the time since the last."""
MEMORY_ERRORS: Final = "want/memory_errors"
"""The statistic of crawls that ended for one."""
_SECONDS: Final = 1.0
"""Between two checkpoints, if there are fewer URLs."""
_SCHEDULER: Final = "sitecrawl.scheduler.Scheduler"


def has_our_scheduler(settings: BaseSettings) -> bool:
    """Whether the crawl's URLs are in our frontier. Asking the runtime would make one."""
    scheduler = load_object(settings["SCHEDULER"])
    return any(f"{base.__module__}.{base.__qualname__}" == _SCHEDULER for base in scheduler.__mro__)


class Checkpoints:
    """See the module. `close` is called when no more can come."""

    def __init__(
        self,
        crawler: Crawler,
        database: Database,
        frontier: Frontier,
        fetches: Fetches,
        *,
        close: Callable[[], None],
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._database = database
        self._frontier = frontier
        self._fetches = fetches
        self._close_files = close
        self._participants: list[Participant] = []
        self._timer: AsyncioLoopingCall | LoopingCall | None = None
        self._memory = MemoryWatch(self._lose_memory)
        self.last_acts: list[Callable[[], Awaitable[None]]] = []
        """Waited for when the last checkpoint is made, before the files are closed."""
        self.failure = ""
        """Scrapy's finish reason if nothing more can be stored: the stores may be farther than the database."""
        if not has_our_scheduler(crawler.settings):
            crawler.signals.connect(self.start, signals.spider_opened)
            crawler.signals.connect(self.close, signals.spider_closed)
        crawler.signals.connect(self._listen, signals.spider_opened)  # what fails before ends the start

    def add(self, participant: Participant) -> None:
        """From now on it takes part in every checkpoint."""
        self._participants.append(participant)

    def start(self) -> None:
        """Have one every second."""
        self._memory.begin()
        self._timer = create_looping_call(self.run)
        self._timer.start(_SECONDS, now=False)

    def _listen(self) -> None:
        """Whoever asks the database may be code of Scrapy or of a spider, which logs an error and goes on."""
        self._database.on_error = self.fail

    def stop(self) -> None:
        """No more of themselves."""
        if self._timer is not None and self._timer.running:
            self._timer.stop()

    @property
    def failed(self) -> bool:
        return bool(self.failure)

    @property
    def is_due(self) -> bool:
        """Whether the next should not wait for its time."""
        return self._fetches.finished >= PAGES_PER_CHECKPOINT or self._frontier.wants_checkpoint

    def run(self) -> None:
        """Make durable what has been done so far. If that fails, the crawl ends."""
        if self.failed:
            return
        try:
            self._fetches.finish_handled()
            self.write()
        except StorageError as error:
            self.fail(error)

    def write(self) -> None:
        """The checkpoint itself. Raises `StorageError`."""
        batch = self._database.batch()
        recorded = self._frontier.recording(batch)
        for participant in self._participants:
            participant.prepare(recorded)
        self._frontier.flush(recorded)
        self._database.write(batch)
        for participant in self._participants:
            participant.committed()
        self._frontier.flushed()
        self._fetches.finished = 0

    def save(self) -> None:
        """The last checkpoint, and what makes the next start quick. Raises `StorageError`."""
        self._fetches.finish_handled()
        self.write()
        self._frontier.save()

    def close(self) -> Deferred[None] | None:
        """Save, and close all files, whatever fails. There is something to wait for only with `last_acts`."""
        self.stop()
        try:
            if not self.failed:
                self.save()
        except StorageError as error:
            self._report(error)
        except BaseException:
            self._close()
            raise
        if self.last_acts and not self.failed:
            return deferred_from_coro(self._end())
        self._close()
        return None

    async def _end(self) -> None:
        try:
            for act in self.last_acts:
                await act()
        except StorageError as error:
            self._report(error)
        finally:
            self._close()

    def _close(self) -> None:
        self._memory.end()
        try:
            self._close_files()
        except StorageError as error:
            self._report(error)

    def fail(self, error: StorageError) -> None:
        """Nothing more can be stored: end the crawl, and keep what the last checkpoint has."""
        if not self.failed:
            self._report(error)
            stop(self._crawler, self.failure)

    def _lose_memory(self) -> None:
        """Stop storing: what is in memory may be half changed. May be called in any thread."""
        from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

        self.failure = f"no_{Want.MEMORY}"
        self._stats.inc_value(MEMORY_ERRORS)
        reactor.callFromThread(stop, self._crawler, self.failure)

    def _report(self, error: StorageError) -> None:
        """Once: what fails after it is the same once more."""
        if not self.failed:
            logger.error("%s", error)
            self._stats.inc_value("scheduler/storage_errors")
            self.failure = "storage_error"
