"""Ends downloads that take too long, that are silent for too long, and all of them when the crawl is to stop.

Silence is looked for once a second over all downloads, which costs a page nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from time import monotonic
from typing import Final, Protocol

from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from sitecrawl.base import limits
from sitecrawl.base.limits import NO_LIMIT
from sitecrawl.crawl.privates import is_closing
from sitecrawl.extensions.download_errors import IdleTimeout, Interrupted

_LOOK_SECONDS: Final = 1.0


class Watched(Protocol):
    """A download under way."""

    @property
    def progress(self) -> int:
        """A number that grows with every byte that comes."""
        ...

    def end(self, error: Exception) -> None:
        """Let it raise `error`, at once."""


class Watch:
    """See the module. `looked` is called with every look, and the loop's time, while there are downloads."""

    def __init__(self, crawler: Crawler, looked: Callable[[float], None] = lambda _now: None) -> None:
        self._crawler = crawler
        self._looked = looked
        self._max_idle = crawler.settings.getfloat(limits.IDLE_TIME.setting) or NO_LIMIT
        self._patience = crawler.settings.getfloat("SITECRAWL_SHUTDOWN_TIME")
        self._running: set[_Running] = set()
        self._cut_off_at = inf
        """When downloads are cut off, on the monotonic clock: the crawl is being stopped."""
        self._looks: AsyncioLoopingCall | LoopingCall = create_looping_call(self._look)

    def over(self, download: Watched, url: str, timeout: float) -> AbstractContextManager[None]:
        """Watch over `download`, of `url`, for `timeout` seconds, 0 for no limit. Raises `Interrupted` if it is too
        late to begin one.
        """
        if monotonic() >= self._cut_off_at:
            raise Interrupted("The crawl is being stopped")
        if not self._looks.running:
            self._looks.start(min(_LOOK_SECONDS, self._max_idle / 4), now=False)
        return _Running(self._running, download, url, timeout)

    def _look(self) -> None:
        now = monotonic()
        if self._cut_off_at == inf and is_closing(self._crawler):
            self._cut_off_at = now + self._patience
        for running in list(self._running):
            if now >= self._cut_off_at:
                running.download.end(Interrupted("The crawl is being stopped"))
            elif running.silence(now) > self._max_idle:
                running.download.end(IdleTimeout(f"Nothing came for {self._max_idle:g} seconds"))
        self._looked(asyncio.get_running_loop().time())

    def stop(self) -> None:
        if self._looks.running:
            self._looks.stop()


class _Running:
    """A download, and when there was progress. It is among all that are `running` while it is entered."""

    __slots__ = ("_alarm", "_last", "_progress", "_running", "_timeout", "_url", "download")

    def __init__(self, running: set[_Running], download: Watched, url: str, timeout: float) -> None:
        self.download = download
        self._running = running
        self._url = url
        self._timeout = timeout
        self._alarm: asyncio.TimerHandle | None = None
        self._progress = -1
        self._last = monotonic()

    def __enter__(self) -> None:
        self._running.add(self)
        if self._timeout:
            self._alarm = asyncio.get_running_loop().call_later(self._timeout, self._end_late)

    def __exit__(self, *_raised: object) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._running.discard(self)

    def _end_late(self) -> None:
        self.download.end(DownloadTimeoutError(f"Getting {self._url} took longer than {self._timeout} seconds."))

    def silence(self, now: float) -> float:
        """Seconds, as far as is known."""
        if self.download.progress != self._progress:
            self._progress, self._last = self.download.progress, now
        return now - self._last
