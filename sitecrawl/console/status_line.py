"""One line with the figures of a running crawl: redrawn at the bottom of a terminal, or added to the log."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapy.settings import BaseSettings

from sitecrawl.base import declared
from sitecrawl.base.display import counted, duration, printable, size
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.directories import is_job

if TYPE_CHECKING:
    from sitecrawl.console.live_line import LiveLine

_SECONDS: Final = 300.0
"""Seconds before now by which the time left is estimated."""
_LEAST: Final = 10.0
"""Fewest seconds by which it is."""
_SAMPLES: Final = 64


class TimeLeft:
    """Two times that bound the rest: what waits now takes the first, if no link leads to anything else. It takes the
    second if as many new URLs are found as of late; where more are found than fetched, nobody knows an end.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque()

    def update(self, now: float, pages: int, waiting: int) -> None:
        """Note the URLs fetched and those that wait, at the time `now` in seconds."""
        if self._samples and now - self._samples[-1][0] < _SECONDS / _SAMPLES:
            return
        self._samples.append((now, pages, waiting))
        while now - self._samples[0][0] > _SECONDS:
            self._samples.popleft()

    def words(self, now: float, pages: int, waiting: int, most: int = 0) -> str:
        """Such as `0:10:00 to 0:25:00 left`; empty where nobody can tell. `most`: the limit of pages, or 0."""
        if not self._samples or waiting <= 0:
            return ""
        since, before, waited = self._samples[0]
        seconds, fetched, fewer = now - since, pages - before, waited - waiting
        if seconds < _LEAST or fetched <= 0:
            return ""
        of_limit = [max(0, most - pages) * seconds / fetched] if most else []
        least = min([waiting * seconds / fetched, *of_limit])
        ends = [*of_limit, *([waiting * seconds / fewer] if fewer > 0 else [])]
        if not ends:
            return f"{duration(least)} or more left" if least >= 1 else ""
        low, high = duration(least), duration(max(least, min(ends)))
        return f"{low} left" if low == high else f"{low} to {high} left"


_NAMED_HOSTS: Final = 3


@dataclass(frozen=True, slots=True)
class Status:
    """The live line's figures; None where the frontier is not ours."""

    pages: int
    rate: float
    """Pages a second, of late."""
    received: int
    """Bytes."""
    duplicates: int
    errors: int
    seconds: float
    waiting: int | None = None
    resting: int = 0
    """Hosts with work that are not being asked now."""
    active: Sequence[str] = ()
    """Hosts that are being asked now."""
    paused: str = ""
    """What this machine lacks, and since when; empty while nothing is lacking."""
    rests: str = ""
    """Which host has asked for a long rest, and until when; empty without one."""
    left: str = ""
    """How long it may take yet, in words; empty where nobody can tell."""
    last: str = ""
    """What is fetched although nothing is left but what is held back, in words; empty as long as there is more."""

    def line(self) -> str:
        """What names the hosts comes last: a narrow terminal cuts it off."""
        parts = [counted(self.pages, "page"), f"{self.rate:,.1f}/s", size(self.received)]
        if self.waiting is not None:
            parts.append(f"{self.waiting:,} waiting")
        if self.left and not self.last:  # nobody knows the end of what grows
            parts.append(self.left)
        if self.paused:
            parts.append(self.paused)
        if self.rests:
            parts.append(printable(self.rests, 1000))
        if self.last:
            parts.append(printable(self.last, 1000))
        parts += [f"{self.duplicates:,} duplicates", f"{self.errors:,} errors", duration(self.seconds)]
        if self.waiting is not None:
            parts.append(f"hosts {len(self.active):,} active {self.resting:,} resting")
            parts += [printable(name) for name in self.active[:_NAMED_HOSTS]]
        return "  ".join(parts)


logger = logging.getLogger(__name__)

_REDRAW_SECONDS: Final = 0.25


class StatusLine:
    """The live line, or a line in the log every so often, and one on stderr where the log does not lead there."""

    def __init__(self, *, live: bool, interval: float, aloud: bool) -> None:
        self.interval = _REDRAW_SECONDS if live else interval
        """Seconds from one line to the next; 0 for none."""
        self._live = _live_line() if live else None
        self._aloud = aloud

    @property
    def is_live(self) -> bool:
        return self._live is not None

    def start(self) -> None:
        if self._live is not None:
            self._live.start()

    def show(self, line: str) -> None:
        if self._live is not None:
            self._live.show(line)
            return
        logger.info("%s", line)
        if self._aloud:
            print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()


def _live_line() -> LiveLine:
    from sitecrawl.console.live_line import LiveLine  # noqa: PLC0415 - rich, for those who have a terminal

    return LiveLine()


def wants_line(settings: BaseSettings) -> bool:
    """What SITECRAWL_PROGRESS says. Raises `OptionError`."""
    value = declared.PROGRESS.read(settings)
    if value == "auto":
        return sys.stderr.isatty()
    try:
        return settings.getbool(declared.PROGRESS.name)
    except ValueError:
        raise OptionError(f"SITECRAWL_PROGRESS must be auto, True or False, and not {value!r}") from None


def is_aloud(settings: BaseSettings) -> bool:
    """Whether stderr has the lines that go to the log, which does not lead there."""
    return declared.PROGRESS.read(settings) == "auto" and not is_job() and not _log_shows_info()


def _log_shows_info() -> bool:
    """Whether what is logged at level INFO is on stderr, so that nobody wants it there twice."""
    shown = [one for one in logging.root.handlers if isinstance(one, logging.StreamHandler)]
    return logger.isEnabledFor(logging.INFO) and any(
        one.stream is sys.stderr and one.level <= logging.INFO for one in shown
    )
