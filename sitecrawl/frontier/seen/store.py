"""A seen set with a directory of its own, for a crawler that keeps its queue elsewhere.

    key       who may read it: format and hash; the key of the fingerprints
    exact/    the exact set (`RocksSet`)
    filter    the Bloom filter as of the last `flush`

Invariant: after a crash the set is what it was at its last `flush`, no more and no less. The filter is saved
behind the exact set's flush, and is used again only if it holds as many keys as the exact set: both only grow, and
a flush is all or nothing, so the same number is the same keys. Any other filter, or none, or one that is damaged,
is filled again from the exact set (3 µs a key).
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch
from sitecrawl.base.hashing import HASH_NAME, new_key
from sitecrawl.crawldir.faults import file_error
from sitecrawl.frontier.seen.bloom import ScalableBloom, load_bloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.exact import RocksSet
from sitecrawl.frontier.seen.files import read_file, write_file
from sitecrawl.frontier.seen.tiered import SeenSet

MAGIC: Final = b"SCSEEN\n\0"
VERSION: Final = 1
CAPACITY: Final = 1_000_000
"""Keys in the first layer of a new filter."""


@dataclass(frozen=True, slots=True)
class SeenOptions:
    """Options of a seen set. They only cost memory or time."""

    error_rate: float = 0.01
    """Wrong yeses of the filter, as a share of new keys: look-ups on disk."""
    capacity: int = field(default_factory=lambda: CAPACITY)
    """Keys in the filter's first layer (2 MB at 1%); it grows by itself."""
    cache: int = 65_536
    """Entries of the cache (up to 260 bytes each)."""

    def new_bloom(self) -> ScalableBloom:
        """Raises `OptionError`."""
        return ScalableBloom(capacity=self.capacity, error_rate=self.error_rate)

    def load_bloom(self, path: Path, hash_name: str) -> ScalableBloom:
        """Raises as `sitecrawl.frontier.seen.bloom.load_bloom` does."""
        return load_bloom(path, error_rate=self.error_rate, hash_name=hash_name)


class SeenStore:
    """The seen set in `directory`, which is made if it does not exist.

    Raises `CrawlDirectoryInUse`, `CorruptFile`, `FormatMismatch`, `OptionError` or `StorageError`.
    """

    def __init__(self, directory: Path, options: SeenOptions) -> None:
        self._directory = directory
        self._options = options
        self.rebuilt: str | None = None
        """Why the Bloom filter was filled again from the exact set; None if it was not."""
        with ExitStack() as opening:
            opening.callback(os.close, _lock(directory))
            self.key = self._open_key()
            self._exact = RocksSet(directory / "exact", hash_name=HASH_NAME)
            opening.callback(self._exact.close)
            self._bloom = self._open_bloom()
            self.seen = SeenSet(Clock(options.cache), self._bloom, self._exact)
            self._rebuild()
            self._closing = opening.pop_all()

    @property
    def _filter(self) -> Path:
        return self._directory / "filter"

    def _open_key(self) -> bytes:
        path = self._directory / "key"
        wanted = {"hash": HASH_NAME, "exact": True}
        try:
            found, key = read_file(path, MAGIC, VERSION)
        except FileNotFoundError:
            return self._create_key(path, wanted)
        if found != wanted:
            raise FormatMismatch(
                f"{self._directory} was written as {found}, and {wanted} is asked for: "
                "use the version of sitecrawl that wrote it, or start in a new directory"
            )
        return bytes(key)

    def _create_key(self, path: Path, header: dict[str, object]) -> bytes:
        if (self._directory / "exact").exists():
            raise CorruptFile(f"{path} is missing, and without it no key compares: restore it, or start anew")
        key = new_key()
        write_file(path, MAGIC, VERSION, header, [key])
        return key

    def _open_bloom(self) -> ScalableBloom:
        try:
            return self._options.load_bloom(self._filter, HASH_NAME)
        except FileNotFoundError:
            pass
        except (CorruptFile, FormatMismatch) as error:
            self.rebuilt = str(error)
        return self._options.new_bloom()

    def _rebuild(self) -> None:
        """Fill the filter again unless it holds the keys of the exact set."""
        if len(self._bloom) == len(self._exact):
            return
        self.rebuilt = self.rebuilt or f"it held {len(self._bloom):,} of {len(self._exact):,} keys"
        self.seen.rebuild(self._exact.keys(), len(self._exact))

    def flush(self) -> None:
        """Make what was added so far permanent."""
        self._exact.flush()
        self._bloom.save(self._filter, HASH_NAME)

    def close(self, *, save: bool = True) -> None:
        """Leave the directory to another process; without `save` the adds since the last flush may be lost."""
        with self._closing:
            if save:
                self.flush()


def _lock(directory: Path) -> int:
    """An open descriptor of `directory` that holds its lock until it is closed, or the process ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise file_error(directory, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise CrawlDirectoryInUse(f"{directory} is open in another process: wait for it, or stop it") from error
    except OSError as error:
        os.close(descriptor)
        raise file_error(directory, error) from error
    return descriptor
