"""How important a stored page is: the share of all credit that came to its URL along links (docs/glossary.md)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from sitecrawl.base.errors import StorageError
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore.capture import Capture
from sitecrawl.urls.fingerprint import Fingerprinter


class Importance:
    """Asks the frontier in `directory`, if there is one. Pages of workers have none beside them, and nor have pages
    that were collected into a directory of their own.
    """

    def __init__(self, directory: Path) -> None:
        self._open = ExitStack()
        self._frontier: FrontierReader | None = None
        try:
            self._frontier = self._open.enter_context(FrontierReader(directory))
        except StorageError:
            return
        self._fingerprint = Fingerprinter(*self._frontier.manifest.keying).url

    def of(self, capture: Capture) -> float | None:
        """From 0 to 1; None where it is not known."""
        return self.of_key(capture.url_key)

    def of_key(self, url_key: str) -> float | None:
        """Importance of the page with this URL key."""
        if self._frontier is None:
            return None
        record = self._frontier.record(self._fingerprint(url_key))
        return None if record is None else self._frontier.importance(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
