"""A crawl on Redis as one sees it who is no worker: what it was begun with, and the logs of its partitions.

Logs are read in pieces, so Redis never waits for it, and workers go on meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from redis import RedisError, ResponseError

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.base.hashing import HASH_NAME, KEY_SIZE
from sitecrawl.cluster.address import shown
from sitecrawl.cluster.connection import connect
from sitecrawl.cluster.join import FORMAT
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.standing import Standing, Whole
from sitecrawl.cluster.steps import Keys
from sitecrawl.crawldir.directory import manifest_of
from sitecrawl.frontier.contract import Figures
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer

FIELDS: Final = (b"format", b"spider", b"hash", b"shards", b"order", b"max_depth", b"key")
"""Fields that are needed to read a crawl."""
FAR: Final = 86_400_000
"""Milliseconds in which every worker that is alive says so again: a time that is later has been spoilt."""
_PIECE: Final = 16
"""Entries that are asked for at once."""


class Piece(Enum):
    """Kinds of pieces of a partition's log."""

    PART = auto()
    """A part of its snapshot (`cluster.snapshots`)."""
    ENTRY = auto()
    """An entry after it (`cluster.entries`)."""


class Replaced(Exception):
    """A snapshot took the place of a log while it was read: what was read of it does not count."""


class CrawlOnRedis:
    """The crawl of `keys`, which was begun with `fields`. Calls raise `redis.RedisError`."""

    def __init__(self, client: Any, keys: Keys, fields: Mapping[bytes, bytes], where: str) -> None:
        self.client = client
        self.keys = keys
        self.fields = fields
        self.fingerprints = Fingerprinter(self.key)
        self._canonicalizer = Canonicalizer()
        self.where = where
        """Which Redis it is, for messages."""

    def __str__(self) -> str:
        return f"the crawl {self.keys.crawl!r} on Redis at {self.where}"

    @property
    def spider(self) -> str:
        return self.fields[b"spider"].decode()

    @property
    def key(self) -> bytes:
        """Key of the fingerprints."""
        return bytes.fromhex(self.fields[b"key"].decode())

    @property
    def partitions(self) -> range:
        return range(self.keys.shards)

    def territory(self) -> Territory:
        """All of the crawl."""
        return Territory(self.keys.shards, {number: PartCounts() for number in self.partitions})

    def has(self, directory: Path) -> bool:
        """Whether a worker's directory is of this crawl. Raises `StorageError`."""
        return manifest_of(directory).key.encode() == self.fields[b"key"]

    def workers(self) -> int:
        """Number of workers believed alive; 0 if that cannot be told, because then none could work."""
        try:
            now = int(1000 * time.time())
            return int(self.client.zcount(self.keys.base(PLACE) + "workers", now, now + FAR))
        except ResponseError:
            return 0

    def let_go_of_workers(self) -> None:
        """None is alive, whatever is said of those that were killed: others may have at once what they were lent."""
        for number in self.partitions:
            self.client.delete(self.keys.base(number) + "lease")
        self.client.delete(self.keys.base(PLACE) + "workers")

    def figures(self) -> Figures:
        """The crawl's counts, as its partitions' workers have told them last. Raises `CorruptFile`."""
        tallies = [self.client.hget(self.keys.base(number) + "state", "tally") for number in self.partitions]
        return Whole([Standing(0, tally or b"", 0, 0) for tally in tallies]).figures()

    def fingerprint(self, href: str) -> bytes:
        """The key of a URL that is fetched by GET."""
        return self.fingerprints.url(self._canonicalizer.canonical_href(href))

    def pieces(self, partition: int) -> Iterator[tuple[Piece, bytes]]:
        """The parts of the snapshot and the entries that the log had when this began. Raises `Replaced`."""
        base = self.keys.base(partition)
        before = self._snapshot(base)
        for part in self._elements(base + "snapshot", 1):
            yield Piece.PART, part
        for entry in self._elements(base + "log", _PIECE):
            yield Piece.ENTRY, entry
        if self._snapshot(base) != before:
            raise Replaced

    def _elements(self, name: str, piece: int) -> Iterator[bytes]:
        at, end = 0, self.client.llen(name)
        while at < end and (found := self.client.lrange(name, at, min(at + piece, end) - 1)):
            yield from found
            at += len(found)

    def _snapshot(self, base: str) -> bytes | None:
        """The number of its last entry: another one is another snapshot."""
        found: bytes | None = self.client.hget(base + "state", "snapshot")
        return found


@contextmanager
def opened(params: Mapping[str, Any], crawl: str) -> Iterator[CrawlOnRedis]:
    """The crawl called `crawl`.

    Raises `StorageError` if there is none, nobody can say what it was begun with, or Redis cannot be asked;
    `FormatMismatch` for one of another version.
    """
    client: Any = connect(params)
    try:
        yield CrawlOnRedis(client, *_begun(client, crawl, shown(params)), shown(params))
    except RedisError as error:
        raise StorageError(f"Redis at {shown(params)} cannot be asked about the crawl: {error}") from error
    finally:
        client.close()


def _begun(client: Any, crawl: str, where: str) -> tuple[Keys, Mapping[bytes, bytes]]:
    """Initial facts of the crawl by the majority of partitions; each has all of them."""
    found = _facts_of(client, crawl)
    if not found:
        raise StorageError(f"There is no crawl {crawl!r} on Redis at {where}: SITECRAWL_CLUSTER_CRAWL names it")
    fields = {name: _most(found.values(), name) for name in FIELDS}
    lost = sorted(name.decode() for name, value in fields.items() if not _is_fact(name, value))
    if lost:
        raise StorageError(
            f"No partition of the crawl {crawl!r} on Redis at {where} says what it was begun with "
            f"({', '.join(lost)}). If it begins just now, look again; else restore "
            f"{Keys(crawl, 1).base(PLACE)}crawl from a copy"
        )
    if (fields[b"format"], fields[b"hash"]) != (FORMAT.encode(), HASH_NAME.encode()):
        raise FormatMismatch(f"The crawl {crawl!r} on Redis at {where} is another version's: use that")
    return Keys(crawl, int(fields[b"shards"])), fields


def _facts_of(client: Any, crawl: str) -> dict[int, dict[bytes, bytes]]:
    """What each partition says, by its number. Where the first does not say how many there are, all keys are
    looked through.
    """
    first = fields_of(client, Keys(crawl, 1).base(PLACE) + "crawl")
    if _is_fact(b"shards", first.get(b"shards", b"")):
        keys = Keys(crawl, int(first[b"shards"]))
        numbers: Iterable[int] = range(keys.shards)
    else:
        begins, ends = f"sitecrawl:{{{crawl}.", "}:crawl"
        names = client.scan_iter(f"{_literal(begins)}*{_literal(ends)}", count=10_000)
        parts = [name[len(begins) : -len(ends)].decode(errors="replace") for name in names]
        numbers = [int(part) for part in parts if part.isdigit()]
        keys = Keys(crawl, 1)
    found = {number: fields_of(client, keys.base(number) + "crawl") for number in numbers}
    return {number: fields for number, fields in found.items() if fields}


def fields_of(client: Any, key: str) -> dict[bytes, bytes]:
    """The fields of a hash; none if it is something else."""
    found: dict[bytes, bytes] = client.hgetall(key) if client.type(key) == b"hash" else {}
    return found


def _most(found: Iterable[Mapping[bytes, bytes]], field: bytes) -> bytes:
    """Most frequent value of `field`; empty if there is none."""
    values = Counter(fields[field] for fields in found if _is_fact(field, fields.get(field, b"")))
    return values.most_common(1)[0][0] if values else b""


def _is_fact(field: bytes, value: bytes) -> bool:
    if field in {b"shards", b"max_depth"}:
        return value.isdigit() and int(value) >= (field == b"shards")
    if field == b"key":
        return len(value) == 2 * KEY_SIZE and all(letter in b"0123456789abcdef" for letter in value)
    return bool(value) and value.isascii() and value.decode().isprintable()


def _literal(text: str) -> str:
    """`text` as a pattern that matches it alone."""
    return "".join(f"\\{letter}" if letter in "*?[]\\^{}" else letter for letter in text)
