"""Long work in short turns, so that the event loop has other things done in between."""

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
"""Seconds that work goes on before the event loop has its turn."""


class Stopping(Exception):
    """The crawl is being stopped: what has been begun is left, for the next run."""


class Cooperator:
    """Shares the event loop among the long works of one crawler, as Twisted's does: each calls `pause` often."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._ends = 0.0

    async def pause(self) -> None:
        """Let the event loop do other things, if this turn has been long enough. Raises `Stopping`."""
        if monotonic() < self._ends:
            return
        turn: Deferred[None] = Deferred()
        call_later(0, turn.callback, None)
        await maybe_deferred_to_future(turn)
        if is_closing(self._crawler):
            raise Stopping
        self._ends = monotonic() + _TURN


async def ended(work: Awaitable[None], checkpoints: Checkpoints) -> bool:
    """Wait for long work. Whether it is over: it is not where the crawl stops. A `StorageError` stops the crawl."""
    try:
        await work
    except Stopping:
        return False
    except StorageError as error:
        checkpoints.fail(error)
    return True
