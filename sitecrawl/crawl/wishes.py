"""Operator requests, polled while a crawl runs: ask given-up hosts again.

The wish is an empty file in the crawl's directory. The crawl looks for it at every checkpoint, and deletes it when
that is on disk; a crawl that does not run asks them again when it is resumed, and finds it then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant

_NAME: Final = "retry-given-up"


def wish(directory: Path) -> None:
    """Let the crawl in `directory` ask the hosts again that were given up. Raises `StorageError`."""
    try:
        (directory / _NAME).touch()
    except OSError as error:
        raise StorageError(f"Nothing can be said to the crawl in {directory}: {error.strerror or error}") from error


class Wishes(Participant):
    """Calls `retry` when it is wished for. It is part of every checkpoint."""

    def __init__(self, directory: Path, retry: Callable[[], object]) -> None:
        self._file = directory / _NAME
        self._retry = retry
        self._taken = False

    def prepare(self, batch: Batch) -> None:
        self._taken = self._file.exists()
        if self._taken:
            self._retry()

    def committed(self) -> None:
        if self._taken:
            self._file.unlink(missing_ok=True)
