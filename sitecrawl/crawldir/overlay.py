"""Changes of the open checkpoint in one family, over the database."""

from __future__ import annotations

from collections.abc import Collection

from sitecrawl.crawldir.database import Batch, Database


class Overlay:
    """One family's changes; None marks a deleted key."""

    def __init__(self, database: Database, family: str) -> None:
        self._database = database
        self._family = family
        self._changed: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._changed[key] if key in self._changed else self._database.get(self._family, key)

    def contains_many(self, keys: Collection[bytes]) -> set[bytes]:
        """Subset of `keys` that exists."""
        ask = [key for key in keys if key not in self._changed]
        there = zip(ask, self._database.get_many(self._family, ask), strict=True)
        return {key for key in keys if self._changed.get(key) is not None} | {k for k, v in there if v is not None}

    def put(self, key: bytes, value: bytes = b"") -> None:
        self._changed[key] = value

    def delete(self, key: bytes) -> None:
        self._changed[key] = None

    def move(self, before: bytes, after: bytes) -> None:
        """Delete the row at `before`, and put an empty one at `after`, which is another key."""
        self._changed[before] = None
        self._changed[after] = b""

    def has_changed(self, key: bytes) -> bool:
        return key in self._changed

    def pending(self, prefix: bytes) -> list[bytes]:
        """Keys with `prefix` that were put and are not on disk yet."""
        return [key for key, value in self._changed.items() if value is not None and key.startswith(prefix)]

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for key, value in self._changed.items():
            if value is None:
                batch.delete(self._family, key)
            else:
                batch.put(self._family, key, value)

    def flushed(self) -> None:
        self._changed.clear()
