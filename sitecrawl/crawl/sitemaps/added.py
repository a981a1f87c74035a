"""Sitemaps that a person adds to a crawl, whether it runs or not: files in its directory, which the crawl takes in.

Each `leave` writes one file, whole from the first moment that it has its name. The crawl deletes it when what it says
has been part of a checkpoint; so a crash forgets none, and at worst a sitemap is visited once more.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import InvalidUrl, StorageError
from sitecrawl.crawldir.participant import Participant
from sitecrawl.urls.url import Url, parse

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
    """What has been left in `directory`. It is part of every checkpoint."""

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
        """What was taken is in the store of sitemaps, and so on disk."""
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
    return [url for line in lines if (url := _url(line)) is not None]


def _url(line: str) -> Url | None:
    try:
        return parse(line)
    except InvalidUrl:
        return None
