"""What a check finds and a repair writes is the same step: only the repair keeps what the step puts down."""

from __future__ import annotations

from sitecrawl.crawldir.database import Batch, Database

_AT_ONCE = 10_000
"""Writes a batch."""


class Changes:
    """Writes to `database`; `dry` throws them away."""

    def __init__(self, database: Database, *, dry: bool) -> None:
        self._database = database
        self._dry = dry
        self.batch: Batch = database.batch()
        """Where a step puts what is to be written together."""
        self.have_been_written = False

    def part(self) -> None:
        """What the batch holds leaves the crawl no worse by itself: it may be written, if there is much of it."""
        if len(self.batch) >= _AT_ONCE:
            self.end()

    def end(self) -> None:
        if len(self.batch) and not self._dry:
            self._database.write(self.batch)
            self.have_been_written = True
        self.batch = self._database.batch()
