"""What `why` is asked of, for the crawl that a command means."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawldir.directory import database_to_read
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.why.source import Source

SEARCHED: Final = 1_000
"""Pages: a second's work, or so."""


@contextmanager
def source_of(command: ReadingCommand, opts: argparse.Namespace, search_pages: int = SEARCHED) -> Iterator[Source]:
    """`search_pages`: how many stored pages to search for links to an unknown URL. Raises `StorageError`."""
    with ExitStack() as stack:
        directory = stack.enter_context(command.crawl(opts, with_pages=True))
        reader = stack.enter_context(FrontierReader(directory))
        has_pages = (directory / INDEX_FILE).exists()
        pages = stack.enter_context(PageReader(directory)) if has_pages else None
        worker = _worker(command, opts)
        told = reader.database if worker is None else stack.enter_context(database_to_read(worker))
        yield Source(reader.database, reader.manifest, pages, told=told, thorough=True, search_pages=search_pages)


def _worker(command: ReadingCommand, opts: argparse.Namespace) -> Path | None:
    """Of a crawl on Redis, a worker's directory: what it was told stands there."""
    with command.shared(opts) as shared:
        stores = [] if shared is None else command.stores(opts, shared)
    return next(iter(stores), None)
