"""A crawl on Redis, copied into a directory as one process has it: whatever reads or checks a crawl reads this one.

A partition is its log, replayed, and so are the rows of all partitions one database (`frontier.moving`). Each is
copied as of a moment of its own, while workers go on. Messages that are on their way are left out: what only they
lead to is not known yet, and the credit that they take along is in no ledger meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import unpack_entry
from sitecrawl.cluster.outside import CrawlOnRedis, Piece, Replaced
from sitecrawl.cluster.snapshots import unpack_part
from sitecrawl.cluster.stores import void_captures
from sitecrawl.crawldir.database import FAMILIES, Batch, Database
from sitecrawl.crawldir.directory import CrawlDirectory, manifest_of
from sitecrawl.crawldir.meta import COUNTS, JUDGE, LEDGER, LEVELS, LINKS_READ, SEEN_SERIAL
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.moving import NO_FACTS, Facts, Move, Sums, forget, region_of_row, write_rows
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.pagestore.collecting import merge
from sitecrawl.pagestore.workers import WorkersReader

_ATTEMPTS: Final = 20
"""Attempts to read a log that is replaced meanwhile, which is rare."""


@dataclass(slots=True)
class Losses:
    """Collector of what a copy leaves out. Without one, such a loss is an error."""

    entries: int = 0
    """Entries that cannot be read."""
    rows: int = 0
    """Rows that no worker can have written into that log."""


@contextmanager
def copied(crawl: CrawlOnRedis, stores: Sequence[Path] = ()) -> Iterator[Path]:
    """The directory of a copy, for as long as this lasts. It has the crawl's name, and for its pages those in the
    `stores` of workers that count. Raises `CorruptFile` or `StorageError`.
    """
    with TemporaryDirectory(prefix="sitecrawl-") as name:
        place = Path(name) / crawl.keys.crawl.replace("/", "-")
        created = min((manifest_of(store).created for store in stores), default=None)
        directory = CrawlDirectory(place, crawl.spider, key=crawl.key, split=crawl.split, created=created)
        with closing(Database(directory.database, hash_name=HASH_NAME)) as database:
            Copying(crawl, database).take_all()
        if stores:
            with WorkersReader(place, stores, void_captures(crawl, stores)) as workers:
                merge(workers, place)
        yield place


def forget_partitions(batch: Batch) -> None:
    """All that a database knows of any partition."""
    for family in FAMILIES:
        if family != "meta":
            batch.delete_between(family)
    for name in (COUNTS, LEVELS, JUDGE, LEDGER, SEEN_SERIAL, LINKS_READ):
        batch.delete("meta", name)


class Copying:
    """Writes partitions into `database`, which has none of them yet. With `losses` it leaves out what cannot be read,
    and counts that there; else it raises `CorruptFile`.
    """

    def __init__(self, crawl: CrawlOnRedis, database: Database, losses: Losses | None = None) -> None:
        self._crawl = crawl
        self._database = database
        self._territory = crawl.territory()
        self._losses = losses

    def take_all(self) -> list[PartCounts]:
        """Take all partitions; return the counts of each."""
        return [self.take(partition) for partition in self._crawl.partitions]

    def take(self, partition: int) -> PartCounts:
        """One partition. Returns what it counts."""
        try:
            facts = self._replayed(partition)
            sums = Sums.of(self._database, self._territory.regions(partition), facts.dividend)
            move = Move(self._database, self._territory, Ledger(policy_named("hosts")))
            _, counts, _ = move.settle(partition, facts, sums)
            move.commit()
        except CorruptFile as error:
            raise CorruptFile(f"Partition {partition} of {self._crawl}: {error}") from error
        return counts

    def _replayed(self, partition: int) -> Facts:
        """The facts of a partition, whose rows are in the database then."""
        for _ in range(_ATTEMPTS):
            facts, found = NO_FACTS, Losses()
            try:
                for kind, data in self._crawl.pieces(partition):
                    facts = self._apply(partition, kind, data, found) or facts
            except Replaced:
                self._clear(partition)
                continue
            self._count(found)
            return facts
        raise StorageError(
            f"The log of partition {partition} of {self._crawl} is replaced faster than it can be read"
        )

    def _count(self, found: Losses) -> None:
        if self._losses is not None:
            self._losses.entries += found.entries
            self._losses.rows += found.rows
        elif found.entries or found.rows:
            raise CorruptFile(f"{found.entries:,} entries and {found.rows:,} rows of its log cannot be read")

    def _unpack(self, kind: Piece, data: bytes) -> tuple[Facts, Sequence[Any]]:
        return unpack_part(data, self._crawl.fingerprint) if kind == Piece.PART else unpack_entry(data)

    def _apply(self, partition: int, kind: Piece, data: bytes, found: Losses) -> Facts | None:
        """Write what a piece of the log changes; None for one that cannot be read."""
        try:
            facts, rows = self._unpack(kind, data)
        except CorruptFile:
            found.entries += 1
            return None
        known = [row for row in rows if self._is_of(partition, row)]
        found.rows += len(rows) - len(known)
        write_rows(self._database, known)
        return facts

    def _is_of(self, partition: int, row: Any) -> bool:
        """Whether it may be in that partition's log."""
        if (
            not isinstance(row, list | tuple)
            or len(row) != 3
            or row[0] not in FAMILIES
            or not isinstance(row[1], bytes)
        ):
            return False
        family, key, value = row
        if value is None:
            return True
        region = region_of_row(family, key, value) if isinstance(value, bytes) else None
        return region is not None and self._territory.partition(region) == partition

    def _clear(self, partition: int) -> None:
        batch = self._database.batch()
        forget(batch, self._database, self._territory.regions(partition))
        self._database.write(batch, sync=False)
