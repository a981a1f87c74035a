"""End the crawl when the process runs out of memory, and keep the last checkpoint.

A `MemoryError` may come from half way through a change, so the state in memory may be inconsistent and is not stored.
No code handles one, so each is logged in the end by Scrapy, Twisted or asyncio, which is where it is noticed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable


class MemoryWatch(logging.Handler):
    """Calls `found` once between `begin` and `end`, when a `MemoryError` is logged in any thread."""

    def __init__(self, found: Callable[[], None]) -> None:
        super().__init__()
        self._found = found

    def begin(self) -> None:
        logging.getLogger().addHandler(self)

    def end(self) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        if kind is not None and issubclass(kind, MemoryError):
            self.end()
            self._found()
