"""End downloads that take too long, are silent or drip, and all of them when the crawl stops.

Silence and drips are checked once a second over all downloads, at no cost a page. An answer *drips* while it brings
fewer than 100 bytes a second. It is cut off when it has dripped for as long as it came well before, and for at least
`PATIENCE` seconds. A first attempt is put off after `SHORT` seconds, behind everything else that waits for its host,
and asked for once more. If `HOPELESS` of a host in a row have dripped on the second attempt, too, others are cut off
after `SHORT` as well.

While other URLs wait for its seat (`Host.puts_off`), a first attempt is put off sooner: when hardly anything has
come for `_PUT_OFF` times the host's usual time, and for as long as it came well before. If no other download has
begun in the last half of that, though some are under way, all of them stand still: a server, a network, or this
machine, and not the URL. Then it has twice that time once more; if it is a URL that hangs, that is all it costs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
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
from sitecrawl.crawl.download_errors import IdleTimeout, Interrupted, NothingYet, PutOff, TooSlow
from sitecrawl.crawl.privates import is_closing
from sitecrawl.crawl.requests import host_of
from sitecrawl.frontier.urls.host import Host

_LOOK_SECONDS: Final = 1.0
SHUTDOWN_SECONDS: Final = 5.0
"""How long downloads under way may still take when the crawl is stopped."""
PATIENCE: Final = 15.0
"""Seconds that an answer may drip."""
SHORT: Final = 2.0
"""Seconds that a first attempt may drip before it is put off."""
HOPELESS: Final = 3
_PUT_OFF: Final = 5.0
_MAX_HOSTS: Final = 1_000
"""Most hosts whose drips on second attempts are counted."""


class _Watched(Protocol):
    """A download under way."""

    @property
    def progress(self) -> int:
        """A number that grows with every byte that comes."""
        ...

    @property
    def arrived(self) -> int:
        """Bytes of its answer received."""
        ...

    def end(self, error: Exception) -> None:
        """Let it raise `error` now."""


class Watch:
    """See the module. `looked` is called at every check with the loop's time, while there are downloads."""

    def __init__(self, crawler: Crawler, looked: Callable[[float], None] = lambda _now: None) -> None:
        self._crawler = crawler
        self._looked = looked
        self._max_idle = limits.IDLE_TIME.read_most(crawler.settings)
        self._min_rate = limits.RATE.value
        self._puts_off = _PUT_OFF, self._min_rate
        self._seconds = min(_LOOK_SECONDS, self._max_idle / 4)
        self._looked_at = 0.0
        self._running: set[_Running] = set()
        self._drips: Counter[str] = Counter()
        """By host, drips on second attempts since the last complete answer."""
        self._cut_off_at = inf
        """When downloads are cut off because the crawl stops, on the monotonic clock."""
        self._looks: AsyncioLoopingCall | LoopingCall = create_looping_call(self._look)

    def over(
        self, download: _Watched, url: str, timeout: float, *, is_again: bool = True, host: Host | None = None
    ) -> AbstractContextManager[None]:
        """Watch `download` of `url` for `timeout` seconds, 0 for no limit. A dripping one is put off, or fails
        if it `is_again` asked for; the usual time of `host`, if given, says how soon. Raises `Interrupted` if it
        is too late to begin.
        """
        if monotonic() >= self._cut_off_at:
            raise Interrupted("The crawl is being stopped")
        if not self._looks.running:
            self._looks.start(self._seconds, now=False)
        drips = self._drips if is_again else None
        return _Running(self._running, download, url, timeout, drips, asked=host, puts_off=self._puts_off)

    def _look(self) -> None:
        now = monotonic()
        passed, self._looked_at = now - self._looked_at, now
        silent = passed
        if passed > 2 * self._seconds:  # it was here that nobody had time for what came
            passed, silent = 0.0, self._seconds
        if self._cut_off_at == inf and is_closing(self._crawler):
            self._cut_off_at = now + SHUTDOWN_SECONDS
        for running in list(self._running):
            if now >= self._cut_off_at:
                running.download.end(Interrupted("The crawl is being stopped"))
            elif running.silence(silent) > self._max_idle:
                running.download.end(IdleTimeout(f"Nothing came for {self._max_idle:g} seconds"))
            elif running.drips(passed, self._min_rate):
                running.cut_off(f"It came at less than {self._min_rate:g} bytes a second")
        self._looked(asyncio.get_running_loop().time())

    def stop(self) -> None:
        if self._looks.running:
            self._looks.stop()


class _Running:
    """A watched download, in the set `running` while entered."""

    __slots__ = (
        "_alarm", "_arrived", "_asked", "_drips", "_ends", "_had", "_host", "_patience", "_progress", "_puts_off",
        "_rings", "_running", "_silent", "_slow", "_stood_still", "_timeout", "_url", "_well", "began", "download",
    )  # fmt: skip

    def __init__(
        self,
        running: set[_Running],
        download: _Watched,
        url: str,
        timeout: float,
        drips: Counter[str] | None,
        *,
        asked: Host | None = None,
        puts_off: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """`drips`: counts of second attempts by host; None on a first attempt. `asked`: host that may put it
        off; its `puts_off` says after how many times its usual time, below how many bytes a second.
        """
        self.download = download
        self._running = running
        self._url = url
        self._timeout = timeout
        self._asked = asked
        self._puts_off = puts_off
        self._alarm: asyncio.TimerHandle | None = None
        self._rings = self._ends = inf
        """Times of its alarm and of its end, on the loop's clock."""
        self._had = 0
        """Bytes received at the last alarm."""
        self._stood_still = False
        """Whether it has had more time because all stood still."""
        self._progress = -1
        self._silent = 0.0
        self._drips = drips
        self._host = host_of(url) if drips is not None else ""
        self._patience = SHORT if drips is None or drips[self._host] >= HOPELESS else PATIENCE
        self._arrived = 0
        self._well = self._slow = 0.0
        """Seconds for which it came well, and dripped since."""

    def __enter__(self) -> None:
        self._running.add(self)
        self.begin(asyncio.get_running_loop())

    def __exit__(self, raised: object, *_: object) -> None:
        if raised is None and self._drips:
            self._drips.pop(self._host, None)
        if self._alarm is not None:
            self._alarm.cancel()
        self._running.discard(self)

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start its time on the clock of `loop`."""
        self.began = loop.time()
        if self._timeout:
            self._ends = self.began + self._timeout
        self._set_alarm(loop, 0.0)

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, well: float) -> None:
        """Set the alarm for its end, or for when it may be put off: at least as long as it came `well`."""
        patience = inf if self._asked is None else max(self._asked.patience(self._puts_off[0]), well)
        self._rings = min(loop.time() + patience, self._ends)
        if self._rings < inf:
            self._alarm = loop.call_at(self._rings, self._ring, loop, patience)

    def _ring(self, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        if self._rings >= self._ends:
            self.download.end(DownloadTimeoutError(f"Getting {self._url} took longer than {self._timeout} seconds."))
            return
        had, self._had = self._had, self.download.arrived
        comes = self._had > 0 and self._had - had >= patience * self._puts_off[1]
        is_late = loop.time() - self._rings > patience / 2  # it was here that nobody had time for what came
        if comes or is_late:
            self._set_alarm(loop, loop.time() - self.began if comes else 0.0)
            return
        if self._stands_still(self._rings - patience / 2):
            self._stood_still = True
            self._set_alarm(loop, 2 * patience)
            return
        if self._asked is None or not self._asked.puts_off():
            self._set_alarm(loop, 0.0)
            return
        error = PutOff if self._had else NothingYet
        self.download.end(error(f"Hardly anything came for {patience:.2g} seconds, and other URLs wait"))

    def _stands_still(self, since: float) -> bool:
        """Whether others are under way, and none of them has begun since then; said once."""
        others = self._running - {self}
        return bool(others) and not self._stood_still and all(one.began <= since for one in others)

    def cut_off(self, why: str) -> None:
        """End a dripping download."""
        if self._drips is None:
            self.download.end(PutOff(why))
            return
        if len(self._drips) < _MAX_HOSTS or self._host in self._drips:
            self._drips[self._host] += 1
        self.download.end(TooSlow(why))

    def silence(self, passed: float) -> float:
        """Seconds of silence, `passed` seconds after the last call."""
        before, self._progress = self._progress, self.download.progress
        self._silent = self._silent + passed if before == self._progress else 0.0
        return self._silent

    def drips(self, passed: float, min_rate: float) -> bool:
        """Whether it has dripped for too long, `passed` seconds after the last call."""
        before, self._arrived = self._arrived, self.download.arrived
        if not before or not passed:
            return False
        if self._arrived - before < passed * min_rate:
            self._slow += passed
            return self._slow >= max(self._patience, self._well)
        self._well, self._slow = self._well + self._slow + passed, 0.0
        return False
