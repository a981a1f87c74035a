"""Run long work in short turns of the event loop."""

from __future__ import annotations

from collections.abc import Awaitable
from time import monotonic
from typing import TYPE_CHECKING, Final

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.privates import is_closing

if TYPE_CHECKING:
    from sitecrawl.crawl.checkpoints import Checkpoints

_TURN: Final = 0.01
"""Seconds of work between two turns of the event loop."""


class Stopping(Exception):
    """The crawl is stopping: unfinished work is left to the next run."""


class Cooperator:
    """Shares the event loop among one crawler's long tasks: each calls `pause` often."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._ends = 0.0

    async def pause(self) -> None:
        """Yield to the event loop if this turn has been long enough. Raises `Stopping`."""
        if monotonic() < self._ends:
            return
        turn: Deferred[None] = Deferred()
        call_later(0, turn.callback, None)
        await maybe_deferred_to_future(turn)
        if is_closing(self._crawler):
            raise Stopping
        self._ends = monotonic() + _TURN


async def ended(work: Awaitable[None], checkpoints: Checkpoints) -> bool:
    """Wait for long work; False if the crawl stopped first. A `StorageError` stops the crawl."""
    try:
        await work
    except Stopping:
        return False
    except StorageError as error:
        checkpoints.fail(error)
    return True
