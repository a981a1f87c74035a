"""Shared parts of `scrapy page` and `scrapy pages`: choice of the crawl, errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sitecrawl.base.errors import SitecrawlError, StorageError
from sitecrawl.crawldir.directory import WORKER_PREFIX
from sitecrawl.pagestore.warc_store import INDEX_FILE


def crawl_directory(asked: str | None, crawls: Path) -> Path:
    """The directory that was asked for, or else the newest below `crawls` that has a page index.

    Raises `StorageError` if there is none.
    """
    if asked is not None:
        return Path(asked)
    found = {index.parent for index in crawls.glob(f"*/{INDEX_FILE}")}
    found |= {index.parent.parent for index in crawls.glob(f"*/{WORKER_PREFIX}*/{INDEX_FILE}")}
    if not found:
        raise StorageError(f"there is no crawl below {crawls.absolute()}: name its directory with -d")
    return max(found, key=lambda path: (path.stat().st_mtime, path))


@contextmanager
def exit_code_on_error(command: object, code: int = 1) -> Iterator[None]:
    """Turn expected errors into a line on stderr and an exit code; end silently if the reader of a pipe closes
    it.
    """
    try:
        yield
        sys.stdout.flush()
    except SitecrawlError as error:
        print(f"scrapy: {error}", file=sys.stderr)
        command.exitcode = code  # type: ignore[attr-defined]
    except BrokenPipeError:
        # Python flushes stdout once more when it exits, and would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
