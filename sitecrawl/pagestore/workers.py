"""One reader over the page stores of all workers of a crawl: `DIR/worker-*`, each with an index of its own.

A worker that is killed may have stored pages that it never told of. Its partitions go to other workers, which fetch
them again, and those pages are the crawl's. Which pages are void by that only Redis can say (`cluster.stores`). Where
it is not asked, of pages that several workers have stored the one that was fetched last counts, and the others are
not shown. So it is with what their browsers made of a page.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from sitecrawl.base.batches import batches
from sitecrawl.crawldir.directory import WORKER_PREFIX
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageFilter, PageReader, StoredPage
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT, HttpMessage
from sitecrawl.pagestore.warc_store import INDEX_FILE

_CHUNK: Final = 500
"""Captures looked up at once."""


Void = Mapping[Path, Collection[int]]
"""Ids of captures that do not count, by the worker's directory."""
NONE_VOID: Final[Void] = {}


class WorkersReader:
    """Reads the pages of all workers below `directory`, or in `stores`, without those that are `void`. Without
    `once`, a page counts for each worker that stored it. Raises as `PageReader` does.
    """

    def __init__(
        self, directory: Path, stores: Sequence[Path] | None = None, void: Void = NONE_VOID, *, once: bool = True
    ) -> None:
        self.directory = directory
        self.readers = [PageReader(place) for place in (stores_below(directory) if stores is None else stores)]
        self._void = void
        self._once = once

    def find(self, url: str, *, all: bool = False) -> list[Capture]:  # noqa: A002 - as in `PageReader`
        found = [capture for reader in self.readers for capture in self.counting(reader, reader.find(url, all=True))]
        found.sort(key=lambda capture: capture.fetched, reverse=True)
        return found if all else sorted(found, key=lambda capture: capture.kind != "page")[:1]

    def pages(self, wanted: PageFilter | None = None) -> Iterator[Capture]:
        """Captures of all workers, merged by the ends of their downloads."""
        found = (self.counting(reader, reader.pages(wanted)) for reader in self.readers)
        return heapq.merge(*found, key=lambda one: one.fetched)

    def counting(self, reader: PageReader, captures: Iterable[Capture]) -> Iterator[Capture]:
        """Captures of `reader` that count."""
        own, void = self.readers.index(reader), self.void_of(reader)
        for chunk in batches((capture for capture in captures if capture.id not in void), _CHUNK):
            if not self._once:
                yield from chunk
                continue
            newest = self._newest({capture.url_key for capture in chunk if _counts_once(capture)})
            yield from (
                capture
                for capture in chunk
                if not _counts_once(capture) or newest.get(capture.url_key, (0.0, own))[1] == own
            )

    def _newest(self, keys: Collection[str]) -> dict[str, tuple[float, int]]:
        """Time of the last page of each URL, and the number of the reader that has it."""
        newest: dict[str, tuple[float, int]] = {}
        for number, reader in enumerate(self.readers):
            for key, fetched in reader.last_pages(keys, self.void_of(reader)):
                newest[key] = max(newest.get(key, (fetched, number)), (fetched, number))
        return newest

    def void_of(self, reader: PageReader) -> Collection[int]:
        """The ids of its captures that do not count."""
        return self._void.get(reader.directory, ())

    def read(self, capture: Capture) -> StoredPage:
        return self._reader_of(capture).read(capture)

    def sent_for(self, capture: Capture) -> HttpMessage | None:
        return self._reader_of(capture).sent_for(capture)

    def _reader_of(self, capture: Capture) -> PageReader:
        return next(reader for reader in self.readers if reader.get(capture.id) == capture)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self.readers:
            reader.close()


def stores_below(directory: Path) -> list[Path]:
    """The workers' directories below that of a crawl on a cluster."""
    return sorted(index.parent for index in directory.glob(f"{WORKER_PREFIX}*/{INDEX_FILE}"))


def is_page(capture: Capture) -> bool:
    """Whether it is a page fetched by GET."""
    return capture.kind == "page" and capture.method == "GET"


def _counts_once(capture: Capture) -> bool:
    """Whether captures of one URL are versions of one page (page, DOM or picture)."""
    return is_page(capture) or capture.kind in {RENDERED, SCREENSHOT}


Reader = PageReader | WorkersReader


def readers_of(reader: Reader) -> list[PageReader]:
    """Readers of its stores: one, or one for each worker."""
    return reader.readers if isinstance(reader, WorkersReader) else [reader]


def stores_of(directory: Path) -> list[Path]:
    """Stores below the directory of a crawl on a cluster; else its own, if any. Raises `StorageError`."""
    with file_errors(directory):
        return [directory] if (directory / INDEX_FILE).exists() else stores_below(directory)


def open_pages(directory: Path, void: Void = NONE_VOID) -> Reader:
    """A reader of a crawl's pages, of one process or many workers. Raises `StorageError`."""
    stores = stores_of(directory)
    if not stores or (stores == [directory] and not void.get(directory)):
        return PageReader(directory)
    return WorkersReader(directory, stores, void)
