"""What a crawl has on Redis, checked: each partition by itself, then the stored pages of its workers against all.

A partition's log is replayed, and then checked as the database of one process is (`checking.frontier`). While workers
are at work each key is read at another moment, so there is nothing to be said of what one says of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.copy import Copying, Losses, forget_partitions, untold_captures
from sitecrawl.cluster.outside import FIELDS, CrawlOnRedis, fields_of
from sitecrawl.cluster.records import Records, read_records, spoilt
from sitecrawl.crawldir.database import Database
from sitecrawl.pagestore.collecting import merge
from sitecrawl.pagestore.workers import WorkersReader
from sitecrawl.plugins.checking.frontier import check_frontier, check_pages, load_counts
from sitecrawl.plugins.checking.store import Index, Problem

_AT_WORK: Final = "workers are at work, so what keys say of one another, and stored pages, were not checked"
_IN_RECORDS: Final = {"state", "tokens", "senders", "outbox"}


@dataclass(slots=True)
class _Checked:
    """Result of a check."""

    faults: list[str] = field(default_factory=list)
    """Each with the partition that it is in."""
    notes: list[str] = field(default_factory=list)
    """Notes that are no faults."""


def check(crawl: CrawlOnRedis, directories: Sequence[Path] = ()) -> _Checked:
    """Check the crawl, and with it what is stored in the `directories` of its workers: of all, or what is not there
    counts as lost. Raises `StorageError` for one that cannot be read, and `redis.RedisError`.
    """
    with TemporaryDirectory() as name, closing(Database(Path(name) / "db", hash_name=HASH_NAME)) as database:
        return _Check(crawl, database).run(directories)


class _Check:
    """`database` is a place for copies."""

    def __init__(self, crawl: CrawlOnRedis, database: Database) -> None:
        self._crawl = crawl
        self._database = database
        self._found = _Checked()
        self._is_quiet = not crawl.workers()
        self._records: dict[int, Records] = {}
        """Records of the readable partitions."""
        self._copied = 0
        """Partitions that can be copied."""

    def run(self, directories: Sequence[Path]) -> _Checked:
        for partition in self._crawl.partitions:
            self._look_at(partition)
        if not self._is_quiet:
            self._found.notes.append(_AT_WORK)
            return self._found
        self._found.faults += _disagreements(self._records)
        if directories and self._copied == len(self._records) == len(self._crawl.partitions):
            self._found.faults += map(str, self._page_faults(directories))
        return self._found

    def _look_at(self, partition: int) -> None:
        wrong = list(spoilt(self._crawl, partition))
        faults: list[object] = [*_missing_facts(self._crawl, partition), *wrong]
        if not any(one.part is None or one.name in _IN_RECORDS for one in wrong):
            self._records[partition] = read_records(self._crawl, partition)
        if not any(one.part is None and one.name in {"log", "state"} for one in wrong):
            faults += self._log_faults(partition)
        self._found.faults += _of(partition, faults)

    def _log_faults(self, partition: int) -> Iterator[Problem | str]:
        """Find faults in the rows of a partition."""
        losses, batch = Losses(), self._database.batch()
        forget_partitions(batch)
        self._database.write(batch, sync=False)
        try:
            counts = Copying(self._crawl, self._database, losses).take(partition)
        except CorruptFile as error:
            yield str(error)
            return
        self._copied += 1
        if losses.entries or losses.rows:
            yield f"log: {losses.entries:,} entries and {losses.rows:,} rows cannot be read"
        own = self._records.get(partition) if self._is_quiet else None
        if own is not None and not own.agrees_with(counts):
            yield f"state 'tally': it counts {own.tally.states} URLs by state, and the log has {tuple(counts.states)}"
        yield from check_frontier(self._database)

    def _page_faults(self, directories: Sequence[Path]) -> Iterator[Problem]:
        """Compare the pages that the frontier counts as stored with those that are."""
        database, batch = self._database, self._database.batch()
        forget_partitions(batch)
        database.write(batch, sync=False)
        Copying(self._crawl, database, Losses()).take_all()
        place, void = database.path.parent, untold_captures(self._crawl, directories)
        with WorkersReader(place, directories, void, once=False) as workers:
            merge(workers, place)
        counts = load_counts(database)
        assert counts is not None  # it was just written
        with Index(place) as index:
            yield from check_pages(
                database, index, self._crawl.fingerprints, last_id=index.newest, forgotten=counts.forgotten
            )


def _of(partition: int, faults: Iterable[object]) -> list[str]:
    return [f"partition {partition}: {fault}" for fault in faults]


def _missing_facts(crawl: CrawlOnRedis, partition: int) -> Iterator[str]:
    there = fields_of(crawl.client, crawl.keys.base(partition) + "crawl")
    for name in FIELDS:
        if name not in there:
            yield f"crawl {name.decode()!r}: it is missing"


def _disagreements(records: Mapping[int, Records]) -> Iterator[str]:
    """Find disagreements between keys, also of different partitions. No worker may be at work."""
    for partition, own in records.items():
        yield from _of(partition, _of_entries(own))
        for sender, number in own.senders.items():
            other = records.get(int(sender)) if len(sender) < 16 else None
            if other is not None and number > other.entry:
                yield f"partition {partition}: senders {sender!r}: {number:,} bundles came of {other.entry:,} entries"


def _of_entries(own: Records) -> Iterator[str]:
    newest = max(own.tokens.values(), default=0)
    if newest != own.entry:
        yield f"state 'entry': it is {own.entry:,}, and the newest that came with a token is {newest:,}"
    if (last := max(own.outbox.values(), default=0)) > own.entry:
        yield f"outbox: a bundle came with entry {last:,}, and there are {own.entry:,}"
    for name, there, wanted in (("outbox", len(own.outbox), own.outgoing), ("inbox", own.inbox, own.incoming)):
        if there != wanted:
            yield f"{name}: it has {there:,} bundles of links, and there should be {wanted:,}"
    if (token := max(own.tokens, default=0)) > own.token:
        yield f"token: it is {own.token}, and entries came with {token}"
    if own.holder is not None and own.holder[0] not in {0, own.token}:  # 0: its hosts rest
        yield f"lease: it is of token {own.holder[0]}, and the newest is {own.token}"
