"""Ctrl-C while a command starts, which is before Scrapy has its own handlers for it: one line, and no traceback."""

from __future__ import annotations

import sys
from types import TracebackType


def in_a_line() -> None:
    """From here on; Python ends the process as before, by SIGINT."""
    if sys.excepthook is sys.__excepthook__:  # else somebody has one of their own
        sys.excepthook = _tell


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("scrapy: interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)
