"""URLs of hosts that have never answered: which, and what they ask for.

They count as failed, and the crawl does not wait for them. But the host may have been down for that time alone, so
every resume puts them back. A host that has answered by then is no such host any more: its URLs have failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.host import KEY_BYTES

FAMILY: Final = "given_up"


class GivenUp:
    """The family `given_up`: the host's key and the URL's fingerprint → what the request is beside a GET."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Overlay(database, FAMILY)

    def add(self, host: bytes, key: bytes, request: bytes) -> None:
        self._rows.put(host + key, request)

    def all(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Those that were there at the last checkpoint, and are still: host, fingerprint, request."""
        for row, request in self._database.scan(FAMILY):
            if not self._rows.has_changed(row):
                yield row[:KEY_BYTES], row[KEY_BYTES:], request

    def remove(self, host: bytes, key: bytes) -> None:
        self._rows.delete(host + key)

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        self._rows.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._rows.flushed()
