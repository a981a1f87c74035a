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
    """Estimate of the time left, between two bounds: the shorter if no new URL is found, the longer if as many are
    found as lately. No upper bound if more are found than fetched.
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
        """For example `0:10:00 to 0:25:00 left`; empty if unknown. `most`: limit of pages, 0 for none."""
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
    """Hosts with waiting URLs and no request under way."""
    active: Sequence[str] = ()
    """Hosts with requests under way."""
    paused: str = ""
    """What this machine lacks, and since when; empty for nothing."""
    rests: str = ""
    """A host that has asked for a long rest, and until when; empty without one."""
    left: str = ""
    """Time left, in words; empty if unknown."""
    last: str = ""
    """What is fetched of what is held back, in words; empty while other URLs are left."""

    def line(self) -> str:
        """The line. Names of hosts come last, because a narrow terminal cuts it off."""
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
    """The live line, or a line in the log every `interval` seconds; `aloud`: on stderr as well."""

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
    """Whether to print the log's lines on stderr, because the log does not go there."""
    return declared.PROGRESS.read(settings) == "auto" and not is_job() and not _log_shows_info()


def _log_shows_info() -> bool:
    shown = [one for one in logging.root.handlers if isinstance(one, logging.StreamHandler)]
    return logger.isEnabledFor(logging.INFO) and any(
        one.stream is sys.stderr and one.level <= logging.INFO for one in shown
    )
