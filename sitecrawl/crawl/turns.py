"""Long work in short turns, so that the event loop has other things done in between."""

from __future__ import annotations

from time import monotonic
from typing import Final

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

_TURN: Final = 0.01
"""Seconds."""


class Stopping(Exception):
    """The crawl is being stopped: what has been begun is left, for the next run."""


class Turns:
    """Those of the works of one crawler. Each calls `pass_on` as often as it likes."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._ends = 0.0

    async def pass_on(self) -> None:
        """Let others have their turn, if this one has been long enough. Raises `Stopping`."""
        if monotonic() < self._ends:
            return
        turn: Deferred[None] = Deferred()
        call_later(0, turn.callback, None)
        await maybe_deferred_to_future(turn)
        slot = self._crawler.engine._slot if self._crawler.engine is not None else None  # noqa: SLF001 - nothing public says so
        if slot is None or slot.closing is not None:
            raise Stopping
        self._ends = monotonic() + _TURN
