"""One line that is redrawn at the bottom of a terminal, with log and output above it.

Log messages contain text from the web: control characters are escaped, and nothing is read as markup.
"""

from __future__ import annotations

import atexit
import io
import logging
import re
import sys
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sitecrawl.base.display import visible

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
"""Escapes that LOG_COLOR writes, which are kept."""


class LiveLine:
    """The line, on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, force_terminal=True)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._handlers: list[tuple[logging.StreamHandler[Any], Any]] = []

    def start(self) -> None:
        stream = _AboveLine(self._console)
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                self._handlers.append((handler, handler.setStream(stream)))
        self._live.start()
        self._console.show_cursor(True)  # noqa: FBT003 - a killed process could not bring it back
        atexit.register(self.stop)

    def show(self, line: str) -> None:
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis", end=""), refresh=True)

    def stop(self) -> None:
        """Remove the line, and restore the log handlers' streams. Called at exit, too: after a second Ctrl-C no
        signal of Scrapy's says that the crawl ends.
        """
        atexit.unregister(self.stop)
        self._live.stop()
        while self._handlers:
            handler, stream = self._handlers.pop()
            handler.setStream(stream)


class _AboveLine(io.TextIOBase):
    """A stream for log handlers, each message in one `write`."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, text: str) -> int:
        parts = _COLOUR.split(text.rstrip("\n"))
        message = "".join(part if n % 2 else visible(part) for n, part in enumerate(parts))
        self._console.print(Text(message), soft_wrap=True)
        return len(text)
