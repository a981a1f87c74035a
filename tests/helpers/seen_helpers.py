"""The reference implementation of the exact set, and a filter as another library wrote it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sitecrawl.frontier.seen.figures import Lookups


class MemorySet:
    """The exact set in memory, without a file: the reference implementation of `ExactSet`."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self.lookups = Lookups()

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        self.lookups.recent += len(keys)
        return [key in self._keys for key in keys]

    def add_many(self, keys: Sequence[bytes]) -> None:
        self._keys.update(keys)

    def keys(self) -> Iterator[bytes]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def flush(self) -> None:
        """Nothing to do: nothing outlives the process."""

    def close(self) -> None:
        self._keys.clear()


def of_another_kind(file: Path) -> None:
    """Make the filter in `file` one of `rbloom`, as versions up to 0.2.0 wrote it where that was installed."""
    content = file.read_bytes()[:-4].replace(b'"pybloom-live"', b'"rbloom"      ')
    file.write_bytes(content + zlib.crc32(content).to_bytes(4, "little"))
