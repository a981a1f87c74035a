"""The crawl's seen set: the tiers of `sitecrawl.frontier.seen` over the frontier's own table of URLs.

The Bloom filter is saved when the crawl is closed, with the serial number of the newest URL beside it in the
database. The serial grows with every URL, so a filter whose serial is not the database's lacks some: it was saved
before a crash, and is filled again from the table while the crawl goes on.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final, Protocol

from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import SEEN_SERIAL
from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.seen.tiered import SeenSet
from sitecrawl.frontier.urls.tables import UrlTable

logger = logging.getLogger(__name__)

SEEN_FILE: Final = "seen.bloom"
"""The filter, in the crawl's directory."""


class SeenKeeper(Protocol):
    """Opens and saves the seen set of one crawl."""

    def open(self, database: Database, urls: UrlTable, serial: int) -> SeenSet:
        """The seen set over `urls`, whose newest URL has the number `serial`."""

    def save(self, database: Database, seen: SeenSet, serial: int) -> None:
        """Keep for the next time what takes long to make; then nothing may be added. Raises `StorageError`."""


class CrawlSeen:
    """The one of a crawl on disk, whose Bloom filter is kept in `file`."""

    def __init__(self, file: Path, options: SeenOptions, *, hash_name: str) -> None:
        self._file = file
        self._options = options
        self._hash_name = hash_name

    def open(self, database: Database, urls: UrlTable, serial: int) -> SeenSet:
        bloom = self._load() if database.get("meta", SEEN_SERIAL) == _pack(serial) else None
        seen = SeenSet(Clock(self._options.cache), bloom or self._options.new_bloom(), urls)
        if bloom is None:
            seen.rebuild_gradually(urls.keys(), len(urls))
        logger.info("URL-seen test: %s", seen.describe())
        return seen

    def save(self, database: Database, seen: SeenSet, serial: int) -> None:
        if seen.is_filling:
            seen.stop_filling()
            return
        seen.bloom.save(self._file, self._hash_name)
        batch = database.batch()
        batch.put("meta", SEEN_SERIAL, _pack(serial))
        database.write(batch)

    def _load(self) -> ScalableBloom | None:
        try:
            return self._options.load_bloom(self._file, self._hash_name)
        except (FileNotFoundError, CorruptFile, FormatMismatch) as error:
            logger.info("The Bloom filter is filled again from the table of URLs: %s", error)
            return None


def _pack(serial: int) -> bytes:
    return serial.to_bytes(8, "big")
