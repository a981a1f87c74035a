"""One reader over the page stores of all workers of a crawl: `DIR/worker-*`, each with an index of its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Self

from sitecrawl.crawldir.directory import WORKER_PREFIX
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageFilter, PageReader, StoredPage
from sitecrawl.pagestore.warc_store import INDEX_FILE


class WorkersReader:
    """Reads the pages of all workers below `directory`. Raises `StorageError` as `PageReader` does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._readers = [PageReader(place) for place in stores_below(directory)]

    def find(self, url: str, *, all: bool = False) -> list[Capture]:  # noqa: A002 - as in `PageReader`
        found = [capture for reader in self._readers for capture in reader.find(url, all=all)]
        found.sort(key=lambda capture: capture.fetched, reverse=True)
        return found if all else sorted(found, key=lambda capture: capture.kind != "page")[:1]

    def pages(self, wanted: PageFilter | None = None, limit: int | None = None) -> Iterator[Capture]:
        """Oldest first, as far as each worker has them so: by the ends of their downloads."""
        merged = heapq.merge(*(reader.pages(wanted) for reader in self._readers), key=lambda one: one.fetched)
        return islice(merged, limit)

    def read(self, capture: Capture) -> StoredPage:
        reader = next(reader for reader in self._readers if reader.get(capture.id) == capture)
        return reader.read(capture)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.close()


def stores_below(directory: Path) -> list[Path]:
    """The workers' directories below that of a crawl on a cluster."""
    return sorted(index.parent for index in directory.glob(f"{WORKER_PREFIX}*/{INDEX_FILE}"))


Reader = PageReader | WorkersReader


def open_pages(directory: Path) -> Reader:
    """A reader of a crawl's pages, whether one process made it or many. Raises `StorageError`."""
    with file_errors(directory):
        is_shared = not (directory / INDEX_FILE).exists() and bool(stores_below(directory))
    if is_shared:
        return WorkersReader(directory)
    return PageReader(directory)
