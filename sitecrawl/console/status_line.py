"""Where the line goes that says how a crawl fares: it is redrawn at the bottom of a terminal, or added to the log."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Final

from scrapy.settings import BaseSettings

from sitecrawl.base import declared
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.directories import is_job

if TYPE_CHECKING:
    from sitecrawl.console.live_line import LiveLine

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
