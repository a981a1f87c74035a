"""What the URL-seen test did, in *tests*: one for each link of a page, however many of them are asked in a batch.

The figures are those that Mercator published (Heydon and Najork, "Mercator: A scalable, extensible Web crawler",
1999), so that they can stand beside them: of 100 tests 66.2 were answered by the cache of popular URLs and 9.5 by the
table of recently added ones. That table is here what waits to be written: keys that were added since the last write
are in memory anyway.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sitecrawl.base.figures import Figures


@dataclass(slots=True)
class Lookups:
    """Numbers of keys that an exact set answered, by place."""

    recent: int = 0
    """Found in the write batch, the table of recently added URLs."""
    buffer: int = 0
    """Found in recently read or written records in memory."""
    disk: int = 0
    """Asked of RocksDB, which has buffers of its own."""


@dataclass(frozen=True, slots=True)
class SeenFigures(Figures):
    """Counts of tests. `asked` is the sum of the answers; each test counts once."""

    prefix = "seen"

    cache_hits: int = 0
    """Answered by the cache of popular URLs: seen."""
    bloom_negatives: int = 0
    """Answered by the filter: new."""
    recent_hits: int = 0
    """Answered by the table of recently added URLs."""
    buffer_hits: int = 0
    """Answered by records that are kept in memory."""
    disk_lookups: int = 0
    """Answered by RocksDB."""
    new: int = 0
    """Tests that found their URL new."""
    bloom_false_positives: int = 0
    """Tests of new URLs that the filter took for seen, and the exact set knew to be new."""

    @property
    def asked(self) -> int:
        """All tests."""
        in_memory = self.cache_hits + self.bloom_negatives
        return in_memory + self.recent_hits + self.buffer_hits + self.disk_lookups

    def counts(self) -> dict[str, int]:
        """Counts by name, `asked` first."""
        return {"asked": self.asked, **asdict(self)}
