"""News of a crawl's frontier and of other workers, and who is told.

The frontier is made with its listener, and most of those who hear of it are made with the frontier. So each of them
puts itself on a list here when it is made; nothing happens before all are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.privates import is_closing, stop, wake
from sitecrawl.crawldir.database import Database


class FrontierListener:
    """A `WorkerListener`."""

    def __init__(self, crawler: Crawler, stats: StatsCollector, directory: Path, database: Database) -> None:
        self._crawler = crawler
        self._stats = stats
        self.directory = directory
        self.database = database
        self.on_given_up: list[Callable[[bytes], None]] = []
        """Called with each URL that failed without a fetch because its host never answered."""
        self.on_linked_to: list[Callable[[bytes], None]] = []
        """Called with each URL that was fetched as a requisite and is now linked to."""
        self.on_moved: list[Callable[[], None]] = []
        """Called when the database has other sites than before, on a cluster."""
        self.on_withdrawn: list[Callable[[list[int]], None]] = []
        """Called with the rows of pages that another worker has stored."""
        self.on_failed: list[Callable[[StorageError], None]] = []
        self.on_due: list[Callable[[], None]] = []
        """Called when a checkpoint should not wait."""
        self.on_seed: list[Callable[[str], bool]] = []
        """Called with each pushed seed; False if it is none."""
        self.on_word: dict[str, Callable[[str], None]] = {}
        """Called with what follows the word in a message of another worker; that of "" with messages without one."""

    def given_up(self, key: bytes) -> None:
        for listener in self.on_given_up:
            listener(key)

    def linked_to(self, key: bytes) -> None:
        for listener in self.on_linked_to:
            listener(key)

    def woken(self) -> None:
        wake(self._crawler)

    def failed(self, error: StorageError) -> None:
        for listener in self.on_failed:
            listener(error)

    def counted(self, name: str, number: int) -> None:
        self._stats.inc_value(name, number)

    def moved(self) -> None:
        for listener in self.on_moved:
            listener()

    def ended(self, reason: str) -> None:
        if not is_closing(self._crawler):
            stop(self._crawler, reason)

    def withdrawn(self, rows: list[int]) -> None:
        for listener in self.on_withdrawn:
            listener(rows)

    def checkpoint(self) -> None:
        for listener in self.on_due:
            listener()

    def widened(self, url: str) -> None:
        word, _, text = url.partition(" ")
        if word in self.on_word:
            self.on_word[word](text)
        else:
            self.on_word[""](url)

    def seed_pushed(self, text: str) -> bool:
        return all(listener(text) for listener in self.on_seed)
