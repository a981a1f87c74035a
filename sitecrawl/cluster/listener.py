"""Interface between a worker's frontier and its crawl."""

from __future__ import annotations

from typing import Protocol

from sitecrawl.base.errors import StorageError
from sitecrawl.frontier.contract import Listener


class WorkerListener(Listener, Protocol):
    """See the module."""

    def woken(self) -> None:
        """Called when there is something to hand out, or the crawl has ended."""

    def failed(self, error: StorageError) -> None:
        """Called when the crawl cannot go on."""

    def counted(self, name: str, number: int) -> None:
        """A figure for the crawl's statistics."""

    def moved(self) -> None:
        """Other sites are this worker's now: the database has their rows, and not those of others any more."""

    def ended(self, reason: str) -> None:
        """Another worker has ended the crawl, for Scrapy's finish reason `reason`."""

    def withdrawn(self, rows: list[int]) -> None:
        """These rows of the page index are not this worker's to have."""

    def checkpoint(self) -> None:
        """Make durable at once what has been done."""

    def seed_pushed(self, text: str) -> bool:
        """Take what was pushed to the seed queue; false if it is no seed."""

    def widened(self, url: str) -> None:
        """A seed came up on another worker, or its spider says something."""
