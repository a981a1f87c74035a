"""Sitemaps that a user adds to a crawl, running or not, by files in its directory.

`leave` writes one file atomically. The crawl deletes it after the checkpoint with its content, so a crash loses none,
and at worst a sitemap is visited once more.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.participant import Participant
from sitecrawl.urls.url import Url, parse_or_none

logger = logging.getLogger(__name__)

_SUFFIX: Final = ".added-sitemaps"
_MAX_SIZE: Final = 16 << 20
"""Bytes of a file that are read."""


def leave(directory: Path, urls: Iterable[Url]) -> None:
    """Add sitemaps to the crawl in `directory`. Raises `StorageError`."""
    name = secrets.token_hex(8)
    draft = directory / f"{name}.new"
    try:
        draft.write_text("".join(url.href + "\n" for url in urls), encoding="utf-8")
        draft.replace(directory / f"{name}{_SUFFIX}")
    except OSError as error:
        raise StorageError(f"Nothing can be added to {directory}: {error.strerror or error}") from error


class Added(Participant):
    """Sitemaps that were left in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._taken: set[Path] = set()
        """Added addresses that are in no checkpoint yet."""

    def take(self) -> list[Url]:
        """The sitemaps that have been added since the last call."""
        files = set(self._directory.glob(f"*{_SUFFIX}")) - self._taken
        self._taken |= files
        return [url for file in sorted(files) for url in _read(file)]

    def committed(self) -> None:
        for file in self._taken:
            file.unlink(missing_ok=True)
        self._taken.clear()


def _read(file: Path) -> list[Url]:
    try:
        with file.open("rb") as stream:
            lines = stream.read(_MAX_SIZE).decode("utf-8", "replace").splitlines()
    except OSError as error:
        logger.error("What was added by %s cannot be read: %s", file, error.strerror or error)
        return []
    return [url for line in lines if (url := parse_or_none(line)) is not None]
