"""What a crawl has on Redis, checked: each partition by itself, then the stored pages of its workers against all.

A partition's log is replayed, and then checked as the database of one process is (`checking.frontier`). While workers
are at work each key is read at another moment, so there is nothing to be said of what one says of another.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.copy import Copying, Losses, untold_captures
from sitecrawl.cluster.entries import Bundle
from sitecrawl.cluster.outside import FAR, FIELDS, CrawlOnRedis, fields_of
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.standing import Tally
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.meta import COUNTS, JUDGE, LEDGER, LEVELS, LINKS_READ, SEEN_SERIAL
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore.collecting import merge
from sitecrawl.pagestore.workers import WorkersReader
from sitecrawl.plugins.checking.frontier import check_frontier, check_pages, load_counts
from sitecrawl.plugins.checking.store import Index, Problem
from sitecrawl.urls.fingerprint import SIZE

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
        self._records: dict[int, _Records] = {}
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
        wrong = list(_Looking(self._crawl, partition).all())
        faults: list[object] = [*_missing_facts(self._crawl, partition), *wrong]
        if not any(one.part is None or one.name in _IN_RECORDS for one in wrong):
            self._records[partition] = _read_records(self._crawl, partition)
        if not any(one.part is None and one.name in {"log", "state"} for one in wrong):
            faults += self._log_faults(partition)
        self._found.faults += _of(partition, faults)

    def _log_faults(self, partition: int) -> Iterator[Problem | str]:
        """Find faults in the rows of a partition."""
        losses = Losses()
        self._forget_copies()
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
        database = self._database
        self._forget_copies()
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

    def _forget_copies(self) -> None:
        """Empty the database of all that it knows of any partition."""
        batch = self._database.batch()
        for family in FAMILIES:
            if family != "meta":
                batch.delete_between(family)
        for name in (COUNTS, LEVELS, JUDGE, LEDGER, SEEN_SERIAL, LINKS_READ):
            batch.delete("meta", name)
        self._database.write(batch, sync=False)


def _of(partition: int, faults: Iterable[object]) -> list[str]:
    return [f"partition {partition}: {fault}" for fault in faults]


def _missing_facts(crawl: CrawlOnRedis, partition: int) -> Iterator[str]:
    there = fields_of(crawl.client, crawl.keys.base(partition) + "crawl")
    for name in FIELDS:
        if name not in there:
            yield f"crawl {name.decode()!r}: it is missing"


def _disagreements(records: Mapping[int, _Records]) -> Iterator[str]:
    """Find disagreements between keys, also of different partitions. No worker may be at work."""
    for partition, own in records.items():
        yield from _of(partition, _of_entries(own))
        for sender, number in own.senders.items():
            other = records.get(int(sender)) if len(sender) < 16 else None
            if other is not None and number > other.entry:
                yield f"partition {partition}: senders {sender!r}: {number:,} bundles came of {other.entry:,} entries"


def _of_entries(own: _Records) -> Iterator[str]:
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
    if own.holder is not None and own.holder not in {0, own.token}:  # 0: its hosts rest
        yield f"lease: it is of token {own.holder}, and the newest is {own.token}"


# What is beside the log

_PIECE: Final = 100
"""Elements of a list, or fields, that are asked for at once."""
_IS_SESSION: Final = re.compile(rb"[0-9a-f]{16}").fullmatch
_COUNTS: Final = {b"entry", b"lent", b"held", b"sent", b"gone", b"arrived", b"heard", b"snapshot", b"parts", b"log"}
_LEASE: Final = re.compile(rb"(\d{1,15}):(.+)")
_OUTBOX: Final = re.compile(rb"(\d{1,15}):(\d{1,15})")
_NUMBERS_OF_RUN: Final = re.compile(rb"account|max_pages")


class _Spoilt(NamedTuple):
    """What cannot be believed of a key, which is named by what comes behind the partition's beginning."""

    name: str
    part: bytes | None
    """A field, a member or an element; None for all of it."""
    what: str

    def __str__(self) -> str:
        part = "" if self.part is None else f" {self.part[:40].decode(errors='backslashreplace')!r}"
        return f"{self.name}{part}: {self.what}"


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of a partition in which nothing is spoilt."""

    entry: int
    """The number of the newest, as `state` says."""
    tally: Tally
    tokens: Mapping[int, int]
    token: int
    holder: int | None
    """Token of the lease."""
    senders: Mapping[str, int]
    outbox: Mapping[str, int]
    """The number of the entry that each of its bundles came with."""
    outgoing: int
    incoming: int
    """Bundles that ought to be in outbox and inbox, as `state` says."""
    inbox: int
    """Bundles in the inbox."""

    def agrees_with(self, counts: PartCounts) -> bool:
        """Whether the tally, where a worker has written one, says what the log does."""
        return not self.tally.worker.session or list(self.tally.states) == counts.states


def _read_records(crawl: CrawlOnRedis, partition: int) -> _Records:
    """Raises `redis.RedisError`."""
    client, base = crawl.client, crawl.keys.base(partition)
    state = client.hgetall(base + "state")
    counts = {name: int(state.get(name, 0)) for name in _COUNTS}
    lease = client.get(base + "lease")
    holder = _LEASE.fullmatch(lease) if lease else None
    return _Records(
        entry=counts[b"entry"],
        tally=Tally.unpack(state.get(b"tally", b"")),
        tokens={int(token): int(number) for token, number in client.hgetall(base + "tokens").items()},
        token=int(client.get(base + "token") or 0),
        holder=None if holder is None else int(holder[1]),
        senders={name.decode(): int(number) for name, number in client.hgetall(base + "senders").items()},
        outbox={name.decode(): int(name.partition(b":")[0]) for name in client.hkeys(base + "outbox")},
        outgoing=counts[b"sent"] - counts[b"gone"],
        incoming=counts[b"arrived"] - counts[b"heard"],
        inbox=client.llen(base + "inbox"),
    )


class _Looking:
    """Finds what is spoilt of a partition beside its log: a key of another type, a field, a member or an element that
    no worker can have written. What is left can be believed, as far as it tells of itself.
    """

    def __init__(self, crawl: CrawlOnRedis, partition: int) -> None:
        self._crawl = crawl
        self._client: Any = crawl.client
        self._base = crawl.keys.base(partition)
        self._territory = crawl.territory()
        self._hashes: dict[str, Callable[[bytes, bytes], bool]] = {
            "crawl": self._is_fact,
            "state": _is_state,
            "tokens": lambda token, number: _is_count(token) and _is_count(number),
            "senders": lambda name, number: (_is_count(name) or _IS_SESSION(name) is not None) and _is_count(number),
            "outbox": self._is_outbox,
            "trust": lambda _, data: _is_flow(data),
        }
        self._lists = {
            "log": None,
            "snapshot": None,
            "parts": None,
            "inbox": lambda data: self._is_bundle(data, partition),
        }
        self._strings: dict[str, Callable[[bytes], object]] = {"token": _is_count, "lease": _LEASE.fullmatch}
        self._sorted: tuple[str, ...] = ()
        if partition == PLACE:
            self._hashes |= {
                "trusted": lambda _, data: _are_two_amounts(_read(msgpack.unpackb, data)),
                "run": lambda name, value: not _NUMBERS_OF_RUN.fullmatch(name) or _is_number(value),
                "short": lambda _, numbers: all(map(_is_count, numbers.split())),
                "told": lambda *_: True,
                "wish": lambda *_: True,
            }
            self._lists["scope"] = None
            self._sorted = ("workers", "heard")

    def all(self) -> Iterator[_Spoilt]:
        for name, is_field in self._hashes.items():
            yield from self._of_type(name, b"hash") or self._in_hash(name, is_field)
        for name, is_element in self._lists.items():
            yield from self._of_type(name, b"list") or self._in_list(name, is_element)
        for name, is_value in self._strings.items():
            yield from self._of_type(name, b"string") or self._in_string(name, is_value)
        for name in self._sorted:
            yield from self._of_type(name, b"zset") or self._in_sorted(name)

    def _of_type(self, name: str, wanted: bytes) -> list[_Spoilt]:
        found: bytes = self._client.type(self._base + name)
        if found in {wanted, b"none"}:
            return []
        return [_Spoilt(name, None, f"it is a {found.decode()}, and should be a {wanted.decode()}")]

    def _in_hash(self, name: str, is_field: Callable[[bytes, bytes], bool]) -> Iterator[_Spoilt]:
        for part, value in self._client.hscan_iter(self._base + name, count=_PIECE):
            if not is_field(part, value):
                yield _Spoilt(name, part, "it is not what a worker writes")

    def _in_list(self, name: str, is_element: Callable[[bytes], bool] | None) -> Iterator[_Spoilt]:
        start = 0
        while is_element and (found := self._client.lrange(self._base + name, start, start + _PIECE - 1)):
            yield from (_Spoilt(name, one, "it is not what a worker writes") for one in found if not is_element(one))
            start += len(found)

    def _in_string(self, name: str, is_value: Callable[[bytes], object]) -> Iterator[_Spoilt]:
        value = self._client.get(self._base + name)
        if value is not None and not is_value(value):
            yield _Spoilt(name, None, "it is not what a worker writes")

    def _in_sorted(self, name: str) -> Iterator[_Spoilt]:
        for member, score in self._client.zscan_iter(self._base + name, count=_PIECE):
            if not (isfinite(score) and score < 1000 * time.time() + FAR):
                yield _Spoilt(name, member, "its time never comes")

    def _is_fact(self, field: bytes, value: bytes) -> bool:
        return self._crawl.fields.get(field) == value

    def _is_outbox(self, name: bytes, data: bytes) -> bool:
        found = _OUTBOX.fullmatch(name)
        return found is not None and int(found[2]) in self._crawl.partitions and self._is_bundle(data, int(found[2]))

    def _is_bundle(self, data: bytes, partition: int) -> bool:
        """Whether it is one for that partition."""
        try:
            found = Bundle.unpack(data)
            return all(
                len(message.link.key) == SIZE
                and self._territory.partition(message.link.key) == partition
                and isinstance(message.link.url, str)
                and isinstance(message.amount + message.depth + message.credit + found.pages + found.account, int)
                for message in found.messages
            )
        except (CorruptFile, TypeError, ValueError, AttributeError):
            return False


def _is_count(text: bytes) -> bool:
    """Whether it is a number that Lua has exactly, from 0 on."""
    return text.isdigit() and len(text) < 16


def _is_state(field: bytes, value: bytes) -> bool:
    if field != b"tally":
        return field in _COUNTS and _is_count(value)
    try:
        tally = Tally.unpack(value)
        return len(tally.states) == len(UrlState) and all(
            isinstance(number, int)
            for number in (*tally.states, tally.account, tally.pages, tally.granted, tally.owed)
        )
    except CorruptFile:
        return False


def _read(load: Callable[[bytes], object], data: bytes) -> object:
    """What is packed there; None if it is not."""
    try:
        return load(data)
    except (ValueError, msgpack.UnpackException):
        return None


def _is_flow(data: bytes) -> bool:
    flow = _read(msgpack.unpackb, data)
    return isinstance(flow, dict) and all(isinstance(host, bytes) and _is_amount(flow[host]) for host in flow)


def _are_two_amounts(found: object) -> bool:
    return isinstance(found, list) and len(found) == 2 and all(map(_is_amount, found))


def _is_number(value: bytes) -> bool:
    try:
        return isfinite(float(value))
    except ValueError:
        return False


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and value >= 0
