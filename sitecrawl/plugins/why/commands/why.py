"""`scrapy why URL`: why a URL was fetched, waits, or is not known."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from scrapy.exceptions import UsageError

from sitecrawl.base.display import visible
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawldir.directory import database_to_read
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.why.explain import why
from sitecrawl.plugins.why.source import Source

_SEARCHED: Final = 1_000
"""Pages: a second's work, or so."""


class Command(ReadingCommand):
    """Say why a URL was fetched, waits, was left out, or is not known; with the evidence, and what would help. Works
    while the crawl runs.
    """

    usage = "[options] <url>"
    summary = "Say why a URL was fetched, or was not"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--search-pages",
            type=int,
            metavar="N",
            default=_SEARCHED,
            help=f"how many stored pages to search for links to an unknown URL (default: {_SEARCHED:,})",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("exactly one URL is needed")
        if opts.search_pages < 0:
            raise UsageError(f"--search-pages: {opts.search_pages} is no number of pages", print_help=False)
        with exit_code_on_error(self), source_of(self, opts, opts.search_pages) as source:
            answer = why(source, args[0])
            if opts.json:
                print(json.dumps(answer.as_dict()))
            else:
                print("\n".join(visible(line) for line in answer.lines()))


@contextmanager
def source_of(command: ReadingCommand, opts: argparse.Namespace, search_pages: int = _SEARCHED) -> Iterator[Source]:
    """What the crawl that a command means says of URLs; `search_pages`: how many stored pages to search for links to
    an unknown one. Raises `StorageError`.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(command.crawl(opts, with_pages=True))
        reader = stack.enter_context(FrontierReader(directory))
        has_pages = (directory / INDEX_FILE).exists()
        pages = stack.enter_context(PageReader(directory)) if has_pages else None
        worker = _worker(command, opts)
        told = reader.database if worker is None else stack.enter_context(database_to_read(worker))
        yield Source(reader.database, reader.manifest, pages, told=told, search_pages=search_pages)


def _worker(command: ReadingCommand, opts: argparse.Namespace) -> Path | None:
    """Of a crawl on Redis, a worker's directory: what it was told stands there."""
    with command.shared(opts) as shared:
        stores = [] if shared is None else command.stores(opts, shared)
    return next(iter(stores), None)
