"""What happens when the process finds no more memory: the crawl ends, and keeps what its last checkpoint has.

A `MemoryError` comes from anywhere, also from half way through a change: what is in memory may be half of something,
and nothing of it is stored any more. Nobody handles one, so each comes to the log in the end, from Scrapy, Twisted or
asyncio. There it is noticed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable


class MemoryWatch(logging.Handler):
    """Calls `found` once between `begin` and `end`, when a `MemoryError` is logged, in whatever thread that is."""

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
