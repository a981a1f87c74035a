"""Scrapy's own commands with more, which only this project has (`COMMANDS_MODULE`).

Scrapy names a command after its module, and imports all of these whatever command is run. So they are light, as those
of `entry_points` are, which every project has.
"""

from __future__ import annotations

import sys
from types import TracebackType


def _in_a_line() -> None:
    """Print one line without a traceback at Ctrl-C, until Scrapy has handlers of its own."""
    if sys.excepthook is sys.__excepthook__:  # else a program has one of its own
        sys.excepthook = _tell


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("scrapy: interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


_in_a_line()  # only Scrapy's command line imports this, and first of all that is ours but the settings
