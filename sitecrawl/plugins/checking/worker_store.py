"""The directory of a worker that is not at work: what a repair of the crawl on Redis takes from it, and leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import FormatMismatch
from sitecrawl.cluster.copy import forget_partitions
from sitecrawl.cluster.outside import CrawlOnRedis
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import ENTRY, HELD, LINKS_READ, PAGES
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.urls.fingerprint import HASH_NAME

_FROM_THE_FIRST: Final = bytes(8)
"""A row of the page index, as `rereading` has it."""


class WorkerStore:
    """See the module. While it is open, no worker can have the directory. What came after the last checkpoint is
    given up, as by the worker's next start.

    Raises `FormatMismatch` for that of another crawl, `CrawlDirectoryInUse` if its worker runs, or another
    `StorageError` if it cannot be used.
    """

    def __init__(self, crawl: CrawlOnRedis, directory: Path) -> None:
        self.directory = directory
        if not crawl.has(directory):
            raise FormatMismatch(f"{directory} does not belong to {crawl}")
        self._database = Database(directory / "db", hash_name=HASH_NAME)
        try:
            position = self._database.get("meta", PAGES)
            with closing(WarcStore(directory)) as store:
                store.recover(json.loads(position) if position else None)
                self._position = store.checkpoint()
        except BaseException:
            self._database.close()
            raise

    def withdraw(self, rows: Sequence[int]) -> None:
        """These are not the pages of their URLs."""
        if not rows:
            return
        with closing(WarcStore(self.directory)) as store:
            store.recover(self._position)
            store.withdraw(rows)
            self._position = store.checkpoint()
        batch = self._database.batch()
        batch.put("meta", PAGES, json.dumps(self._position).encode())
        self._database.write(batch)

    def forget_partitions(self, *, reads_links: bool) -> None:
        """Let the worker's next start take partitions as a new worker does; pages of which it has yet to tell must be
        withdrawn before. If it `reads_links`, it reads those of all its pages again, as one process after a repair.
        So it does where it has yet to tell of anything: links among that may be those of other partitions' pages.
        """
        batch = self._database.batch()
        forget_partitions(batch)
        batch.delete("meta", HELD)
        untold = [key for key, _ in self._database.scan("meta", ENTRY, ENTRY + b"\xff")]
        for key in untold:
            batch.delete("meta", key)
        if reads_links or untold:
            batch.put("meta", LINKS_READ, _FROM_THE_FIRST)
        self._database.write(batch)

    def close(self) -> None:
        self._database.close()
