"""Participants of a crawl's checkpoints."""

from __future__ import annotations

from typing import Protocol

from sitecrawl.crawldir.database import Batch


class Participant(Protocol):
    """A part that is made durable together with the frontier. Inherit it, or have both methods."""

    def prepare(self, batch: Batch) -> None:
        """Put what you have into `batch`, or make your own files durable: these come before the batch.

        Raises `StorageError`; then nothing of this checkpoint counts, and there is no other one in this run.
        """
        return

    def committed(self) -> None:
        """The batch is on disk, and nothing has happened since `prepare`."""
        return
