"""A crawl on Redis, copied into a directory as one process has it: whatever reads or checks a crawl reads this one.

A partition is its log, replayed, and so are the rows of all partitions one database (`frontier.moving`). Each is
copied as of a moment of its own, while workers go on. Messages that are on their way are left out: what only they
lead to is not known yet, and the credit that they take along is in no ledger meanwhile.

Of the pages that its workers have stored, those count of which Redis has heard. So does one of which its worker will
yet tell: as long as nobody else has had the page's partition since. Any other is void: whoever has the partition now
fetches it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import CorruptFile, FormatMismatch, NothingYet, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import unpack_entry
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.cluster.outside import CrawlOnRedis, Piece, Replaced
from sitecrawl.cluster.snapshots import unpack_part
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.directory import CrawlDirectory, database_to_read, manifest_of
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.moving import NO_FACTS, Facts, Move, Sums, forget, region_of_row, write_rows
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.collecting import merge
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.pagestore.workers import WorkersReader


class _Untold(NamedTuple):
    """Captures of which Redis has not heard."""

    rows: set[int]
    """Their ids."""
    held: Held | None = None
    """The partition that they are of; None for those of which the worker, too, knows that they do not count."""
    session: str = ""
    """The worker's."""


def void_captures(crawl: CrawlOnRedis, directories: Sequence[Path]) -> dict[Path, set[int]]:
    """The ids of captures that do not count, by the worker's directory. Workers may be at work.

    Raises `FormatMismatch` for a directory of another crawl, `StorageError` for one that cannot be read, and
    `redis.RedisError`.
    """
    return {
        directory: set().union(*(one.rows for one in untold if not _is_to_come(crawl, one)))
        for directory, untold in _untold(crawl, directories)
    }


def untold_captures(crawl: CrawlOnRedis, directories: Sequence[Path]) -> dict[Path, set[int]]:
    """Captures that Redis does not have yet. Raises as `void_captures` does."""
    return {
        directory: set().union(*(one.rows for one in untold)) for directory, untold in _untold(crawl, directories)
    }


def _untold(crawl: CrawlOnRedis, directories: Sequence[Path]) -> Iterator[tuple[Path, list[_Untold]]]:
    for directory in directories:
        if not crawl.has(directory):
            raise FormatMismatch(f"{directory} does not belong to {crawl}")
        try:
            with database_to_read(directory) as database:
                holdings = Holdings(database, "")  # before Redis is asked: what is sent meanwhile counts
                position = database.get("meta", PAGES)
        except NothingYet:
            yield directory, []
            continue
        unsent = [held for held in holdings.all if held.unsent]
        found = [_Untold(_rows_after(held, _accepted_of(crawl, held)), held, holdings.session) for held in unsent]
        orphans = {row for entry in holdings.orphans for row in entry.rows}
        yield directory, [_Untold(_rows_behind(directory, position) | orphans), *found]


def _rows_behind(directory: Path, position: bytes | None) -> set[int]:
    """A kill leaves them, and the worker's next start takes them out."""
    if position is None or not (directory / INDEX_FILE).exists():
        return set()
    with PageReader(directory) as reader:
        return set(range(json.loads(position)["last_id"] + 1, reader.last_id + 1))


def _rows_after(held: Held, number: int) -> set[int]:
    return {row for entry in held.unsent if entry.number > number for row in entry.rows}


def _is_to_come(crawl: CrawlOnRedis, untold: _Untold) -> bool:
    """Whether Redis will take what the worker has yet to send."""
    held = untold.held
    if held is None:
        return False
    base = crawl.keys.base(held.partition)
    token, lease = crawl.client.get(base + "token"), crawl.client.get(base + "lease")
    return int(token or 0) == held.token or (lease or b"").partition(b":")[2] == untold.session.encode()


def _accepted_of(crawl: CrawlOnRedis, held: Held) -> int:
    """The number of the last entry that Redis has taken under a worker's token."""
    return int(crawl.client.hget(crawl.keys.base(held.partition) + "tokens", str(held.token)) or 0)


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
        directory = CrawlDirectory(place, crawl.spider, key=crawl.key, created=created)
        with closing(Database(directory.database, hash_name=HASH_NAME)) as database:
            Copying(crawl, database).take_all()
        if stores:
            with WorkersReader(place, stores, void_captures(crawl, stores)) as workers:
                merge(workers, place)
        yield place


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
