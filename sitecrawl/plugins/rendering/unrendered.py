"""The pages that were taken as they came because they crashed in the browser: the next run asks for them again."""

from __future__ import annotations

from collections.abc import Iterator

from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.meta import UNRENDERED
from sitecrawl.crawldir.participant import Participant


class Unrendered(Participant):
    """Each is a key of the family `meta`, with its request, until it is rendered."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys = {row.removeprefix(UNRENDERED) for row, _ in self._rows()}
        self._changed: dict[bytes, bytes | None] = {}
        """Since the last checkpoint: the request of each that is new, None of one that is rendered."""

    def _rows(self) -> Iterator[tuple[bytes, bytes]]:
        return self._database.scan("meta", UNRENDERED, next_prefix(UNRENDERED))

    def of_runs_before(self) -> list[tuple[bytes, bytes | None]]:
        """The key and the request of each; None for a plain GET."""
        return [(row.removeprefix(UNRENDERED), request or None) for row, request in self._rows()]

    def add(self, key: bytes, request: bytes | None) -> None:
        self._keys.add(key)
        self._changed[key] = request or b""

    def discard(self, key: bytes) -> None:
        """It is rendered."""
        if key in self._keys:
            self._keys.remove(key)
            self._changed[key] = None

    def prepare(self, batch: Batch) -> None:
        for key, request in self._changed.items():
            if request is None:
                batch.delete("meta", UNRENDERED + key)
            else:
                batch.put("meta", UNRENDERED + key, request)

    def committed(self) -> None:
        self._changed.clear()
