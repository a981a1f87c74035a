"""The directory of a worker that is not at work: what a repair of the crawl on Redis takes from it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import FormatMismatch
from sitecrawl.cluster.facts import Facts
from sitecrawl.cluster.journal import Journal
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import manifest_of
from sitecrawl.crawldir.meta import LINKS_READ, PAGES
from sitecrawl.pagestore import Capture, PageReader
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.pagestore.workers import is_page
from sitecrawl.urls.fingerprint import HASH_NAME

_FROM_THE_FIRST: Final = bytes(8)
"""A row of the page index, as `crawl.rereading` has it."""


class WorkerStore:
    """Of the crawl with these `facts`. While it is open, no worker can have the directory. What came after the last
    checkpoint is given up, as by the worker's next start.

    Raises `StorageError` if there is none, `CorruptFile` if it is damaged; `CrawlDirectoryInUse` if its worker runs;
    `FormatMismatch` if it is another crawl's.
    """

    def __init__(self, directory: Path, facts: Facts) -> None:
        self.directory = directory
        if manifest_of(directory).key.encode() != facts.fields[b"key"]:
            raise FormatMismatch(f"{directory} does not belong to the crawl {facts.keys.crawl!r} on this Redis")
        self._database = Database(directory / "db", hash_name=HASH_NAME)
        try:
            position = self._database.get("meta", PAGES)
            with closing(WarcStore(directory)) as store:
                store.recover(json.loads(position) if position else None)
                self._position = store.checkpoint()
            self.unsent = Journal(self._database).load()
            """Parcels of which Redis may not have heard."""
        except BaseException:
            self._database.close()
            raise

    def pages(self) -> Iterator[Capture]:
        """The pages that came by GET."""
        with closing(PageReader(self.directory)) as reader:
            yield from filter(is_page, reader.captures())

    def last_pages(self, keys: Collection[str]) -> list[tuple[str, float]]:
        """As `PageReader.last_pages`."""
        with closing(PageReader(self.directory)) as reader:
            return reader.last_pages(keys)

    def withdraw(self, rows: Sequence[int]) -> None:
        """These are not the pages of their URLs, which other workers have stored."""
        with closing(WarcStore(self.directory)) as store:
            store.recover(self._position)
            store.withdraw(rows)
            self._position = store.checkpoint()
        batch = self._database.batch()
        batch.put("meta", PAGES, json.dumps(self._position).encode())
        self._database.write(batch)

    def read_links_again(self) -> None:
        """Let the worker's next start read the links of all its pages, as one process does after a repair."""
        batch = self._database.batch()
        batch.put("meta", LINKS_READ, _FROM_THE_FIRST)
        self._database.write(batch)

    def close(self) -> None:
        self._database.close()
