"""A crawl's checkpoints: when they are due, their order, and what happens if one fails.

First each participant makes its files durable, page stores included; then one RocksDB batch says what is done and the
positions of the stores. After a crash the stores are cut back to that batch, so every page is stored once.

Our scheduler starts and ends checkpoints, because it knows what else must happen before files are closed. With
Scrapy's or scrapy-redis' scheduler and our page store they start and end by themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.fetches import Fetches, Pages
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawl.frontiers import OurFrontier
from sitecrawl.crawl.page_reading import PageReading
from sitecrawl.crawl.privates import stop
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.base import Peers
from sitecrawl.frontier.contract import Frontier
from sitecrawl.http import Want

logger = logging.getLogger(__name__)

PAGES_PER_CHECKPOINT: Final = 500
"""Finished URLs after which a checkpoint is due."""
FRONTIER_ERROR: Final = "frontier_error"
"""Finish reason: the frontier raised an error that is none of its disk."""
MEMORY_ERRORS: Final = "want/memory_errors"
"""Statistic: MemoryErrors that ended a crawl."""
_SECONDS: Final = 1.0
"""Seconds between two checkpoints, if fewer URLs finish."""


class Checkpoints:
    """See the module. `files` are closed, in their order, when no more can come."""

    def __init__(
        self,
        crawler: Crawler,
        database: Database,
        frontier: Frontier,
        peers: Peers,
        fetches: Fetches,
        *,
        ours: OurFrontier,
        files: Sequence[PageReading | Pages | Database],
        news: FrontierListener,
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._database = database
        self._frontier = frontier
        self._peers = peers
        self._fetches = fetches
        self._ours = ours
        self._files = files
        self._participants: list[Participant] = []
        self._timer: AsyncioLoopingCall | LoopingCall | None = None
        self._memory = _MemoryWatch(self._lose_memory)
        self.last_acts: list[Callable[[], Awaitable[None]]] = []
        """Awaited after the last checkpoint, before the files are closed."""
        self.failure = ""
        """Scrapy's finish reason after a failure; then nothing more is stored, because the stores may be ahead of the
        database."""
        news.on_due.append(self.run)
        news.on_failed.append(self.fail)
        if not has_our_scheduler(crawler.settings):
            crawler.signals.connect(self.start, signals.spider_opened)
            crawler.signals.connect(self.close, signals.spider_closed)
        crawler.signals.connect(self._listen, signals.spider_opened)  # what fails before ends the start

    def add(self, participant: Participant) -> None:
        """Let `participant` take part in every checkpoint."""
        self._participants.append(participant)

    def start(self) -> None:
        """Start the timer."""
        logging.getLogger().addHandler(self._memory)
        self._timer = create_looping_call(self.run)
        self._timer.start(_SECONDS, now=False)

    def _listen(self) -> None:
        """End the crawl at the database's first error: code of Scrapy or of a spider would log it and continue."""
        self._database.on_error = self.fail

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None and self._timer.running:
            self._timer.stop()

    @property
    def failed(self) -> bool:
        return bool(self.failure)

    @property
    def is_due(self) -> bool:
        """Whether the next should not wait for its time."""
        return self._fetches.finished >= PAGES_PER_CHECKPOINT or self._peers.wants_checkpoint

    def run(self) -> None:
        """Write a checkpoint; if it fails, end the crawl."""
        if self.failed:
            return
        try:
            self._fetches.finish_handled()
            self.write()
        except StorageError as error:
            self.fail(error)

    def write(self) -> None:
        """Write a checkpoint. Raises `StorageError`."""
        batch = self._database.batch()
        recorded = self._peers.recording(batch)
        parts: list[Participant] = [*self._participants, self._frontier]
        for part in parts:
            part.prepare(recorded)
        self._database.write(batch)
        for part in parts:
            part.committed()
        self._fetches.finished = 0

    def save(self) -> None:
        """Write the last checkpoint, and files that make the next start quick. Raises `StorageError`."""
        self._fetches.finish_handled()
        self.write()
        self._ours.save()

    def close(self) -> Deferred[None] | None:
        """Save, and close all files, whatever fails. Returns an awaitable only with `last_acts`."""
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
        logging.getLogger().removeHandler(self._memory)
        try:
            self.close_files()
        except StorageError as error:
            self._report(error)

    def close_files(self) -> None:
        """Close all files. Changes since the last checkpoint are dropped."""
        for file in self._files:
            file.close()

    def fail(self, error: Exception) -> None:
        """End the crawl after a failure of storage or frontier, with the state of the last checkpoint."""
        if not self.failed:
            self._report(error)
            stop(self._crawler, self.failure)

    def _lose_memory(self) -> None:
        """Stop storing after a MemoryError, because state in memory may be half changed. Callable from any thread."""
        from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

        self.failure = f"no_{Want.MEMORY}"
        self._stats.inc_value(MEMORY_ERRORS)
        reactor.callFromThread(stop, self._crawler, self.failure)

    def _report(self, error: Exception) -> None:
        """Report the first failure only; later ones follow from it."""
        if self.failed:
            return
        if isinstance(error, StorageError):
            logger.error("%s", error)
            self._stats.inc_value("scheduler/storage_errors")
            self.failure = "storage_error"
        else:
            logger.error("The frontier failed: %r", error, exc_info=error)
            self.failure = FRONTIER_ERROR


class _MemoryWatch(logging.Handler):
    """Handler of the root logger that calls `found` at the first `MemoryError` logged in any thread: the crawl ends,
    and keeps the last checkpoint.

    A `MemoryError` may come from half way through a change, so the state in memory may be inconsistent and is not
    stored. No code handles one, so each is logged in the end by Scrapy, Twisted or asyncio.
    """

    def __init__(self, found: Callable[[], None]) -> None:
        super().__init__()
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        if kind is not None and issubclass(kind, MemoryError):
            logging.getLogger().removeHandler(self)
            self._found()
