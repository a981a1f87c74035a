"""The frontier's records: what the open checkpoint has changed over what the database holds.

A table answers from its changes first and from disk otherwise; `flush` hands the changes to the checkpoint's batch.
`UrlTable` is also the exact tier of the crawl's seen set: a URL is seen when it has a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.record import Flag, UrlRecord
from sitecrawl.storage import Batch, Database


class Overlay:
    """One family's changes: key → value, or None for a key that goes."""

    def __init__(self, database: Database, family: str) -> None:
        self._database = database
        self._family = family
        self._changed: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._changed[key] if key in self._changed else self._database.get(self._family, key)

    def put(self, key: bytes, value: bytes = b"") -> None:
        self._changed[key] = value

    def delete(self, key: bytes) -> None:
        self._changed[key] = None

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for key, value in self._changed.items():
            if value is None:
                batch.delete(self._family, key)
            else:
                batch.put(self._family, key, value)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._changed.clear()


class UrlTable:
    """Fingerprint → `UrlRecord`, in the `urls` family. Keeps the `ExactSet` contract."""

    def __init__(self, database: Database, count: int) -> None:
        self._database = database
        self._changed: dict[bytes, UrlRecord | None] = {}
        self._volatile: dict[bytes, UrlRecord] = {}
        """Records of requests that are in memory only: on disk nothing would ever come of them."""
        self._count = count

    def get(self, key: bytes) -> UrlRecord | None:
        """The record, to be changed only if `put` follows."""
        if key in self._volatile:
            return self._volatile[key]
        if key in self._changed:
            return self._changed[key]
        data = self._database.get("urls", key)
        return None if data is None else UrlRecord.unpack(data)

    def put(self, key: bytes, record: UrlRecord) -> None:
        if record.flags & Flag.VOLATILE:
            self._volatile[key] = record
            self._changed[key] = None
        else:
            self._volatile.pop(key, None)
            self._changed[key] = record

    def delete(self, key: bytes) -> None:
        self._volatile.pop(key, None)
        self._changed[key] = None

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        ask = [key for key in keys if key not in self._changed]
        there = dict(zip(ask, self._database.get_many("urls", ask), strict=True))
        return [key in self._volatile or (there.get(key) or self._changed.get(key)) is not None for key in keys]

    def add_many(self, keys: Sequence[bytes]) -> None:
        """The frontier puts a record for every key that the seen set called new: nothing else is to be kept."""
        self._count += len(keys)

    def __len__(self) -> int:
        return self._count

    def keys(self) -> Iterator[bytes]:
        """All keys on disk: what a lost Bloom filter is made of again."""
        return (key for key, _ in self._database.scan("urls"))

    def flush(self, batch: Batch | None = None) -> None:
        """Hand the changes to `batch`; without one there is nothing to do: the next checkpoint has them."""
        if batch is None:
            return
        for key, record in self._changed.items():
            if record is None:
                batch.delete("urls", key)
            else:
                batch.put("urls", key, record.pack())

    def flushed(self) -> None:
        """The batch is on disk."""
        self._changed.clear()

    def close(self) -> None:
        """The database is the frontier's to close."""


class HostTable:
    """Host name → `Host`. Only hosts with something to do stay in memory."""

    def __init__(self, database: Database, key_of: Callable[[str], bytes]) -> None:
        self._database = database
        self._key_of = key_of
        self._live: dict[bytes, Host] = {}
        self._changed: set[bytes] = set()
        self._idle: set[bytes] = set()
        """Hosts that had nothing to do at the last checkpoint, and rest still."""

    def named(self, name: str) -> Host:
        """The host called `name`, made if it is not known."""
        key = self._key_of(name)
        host = self.get(key)
        if host is None:
            host = Host(key, name, DiskQueue(self._database, key, empty=True))
            self._live[key] = host
        return host

    def get(self, key: bytes) -> Host | None:
        host = self._live.get(key)
        if host is None and (data := self._database.get("hosts", key)) is not None:
            host = self._live[key] = self._unpack(key, data)
        return host

    def changed(self, host: Host) -> None:
        self._changed.add(host.key)

    def load(self) -> Iterator[Host]:
        """The hosts on disk that have URLs waiting."""
        for key, data in self._database.scan("hosts"):
            host = self._unpack(key, data)
            if host.queued:
                self._live[key] = host
                yield host

    def live(self) -> Iterator[Host]:
        return iter(self._live.values())

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for key in self._changed:
            batch.put("hosts", key, self._live[key].pack())

    def flushed(self, now: float) -> None:
        """The batch is on disk: forget what memory need not hold."""
        for key in self._changed:
            self._live[key].queue.trim()
        idle = {key for key in self._changed | self._idle if self._live[key].is_idle}
        self._changed.clear()
        self._idle = {key for key in idle if self._live[key].free_at > now}
        for key in idle - self._idle:
            host = self._live.pop(key)
            host.ticket = 0  # entries of the workbench outlive the host: none of them counts any more

    def _unpack(self, key: bytes, data: bytes) -> Host:
        return Host.unpack(key, data, DiskQueue(self._database, key, empty=False))
