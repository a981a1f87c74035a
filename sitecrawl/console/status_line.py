"""Where the line goes that says how a crawl fares: it is redrawn at the bottom of a terminal, or added to the log.

Messages above it come off the web: what a terminal would obey is written out, and nothing is read as markup.
"""

from __future__ import annotations

import atexit
import io
import logging
import re
import sys
import time
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text
from scrapy.settings import BaseSettings

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.directories import is_job

logger = logging.getLogger(__name__)

REDRAW_SECONDS: Final = 0.25

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
"""What LOG_COLOR writes: the only control characters of a log line that reach the terminal."""


class StatusLine:
    """The live line, or a line in the log every so often, and one on stderr where the log does not lead there."""

    def __init__(self, *, live: bool, interval: float, aloud: bool) -> None:
        self.interval = REDRAW_SECONDS if live else interval
        """Seconds from one line to the next; 0 for none."""
        self._live = LiveLine() if live else None
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


class LiveLine:
    """One line at the bottom of the terminal on stderr. What is logged or printed meanwhile appears above it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, force_terminal=True)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._handlers: list[tuple[logging.StreamHandler[Any], Any]] = []

    def start(self) -> None:
        stream = AboveLine(self._console)
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                self._handlers.append((handler, handler.setStream(stream)))
        self._live.start()
        self._console.show_cursor(True)  # noqa: FBT003 - a killed process could not bring it back
        atexit.register(self.stop)

    def show(self, line: str) -> None:
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis", end=""), refresh=True)

    def stop(self) -> None:
        """Take the line away, and give the logs their stream back. Also at a second Ctrl-C, after which no more
        signals are sent.
        """
        atexit.unregister(self.stop)
        self._live.stop()
        while self._handlers:
            handler, stream = self._handlers.pop()
            handler.setStream(stream)


class AboveLine(io.TextIOBase):
    """A stream for log handlers, each message in one `write`."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, text: str) -> int:
        parts = _COLOUR.split(text.rstrip("\n"))
        message = "".join(part if n % 2 else visible(part) for n, part in enumerate(parts))
        self._console.print(Text(message), soft_wrap=True)
        return len(text)


def wants_line(settings: BaseSettings) -> bool:
    """What SITECRAWL_PROGRESS says. Raises `OptionError`."""
    value = settings.get("SITECRAWL_PROGRESS", "auto")
    if value == "auto":
        return sys.stderr.isatty()
    try:
        return settings.getbool("SITECRAWL_PROGRESS")
    except ValueError:
        raise OptionError(f"SITECRAWL_PROGRESS must be auto, True or False, and not {value!r}") from None


def is_aloud(settings: BaseSettings) -> bool:
    """Whether stderr has the lines that go to the log, which does not lead there."""
    return settings.get("SITECRAWL_PROGRESS", "auto") == "auto" and not is_job() and not log_shows_info()


def log_shows_info() -> bool:
    """Whether what is logged at level INFO is on stderr, so that nobody wants it there twice."""
    shown = [one for one in logging.root.handlers if isinstance(one, logging.StreamHandler)]
    return logger.isEnabledFor(logging.INFO) and any(
        one.stream is sys.stderr and one.level <= logging.INFO for one in shown
    )
