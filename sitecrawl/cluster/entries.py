"""An entry of a partition's log: a worker's changes to the partition between two checkpoints; and the bundles that
partitions send one another with it.

An entry holds rows as the database has them, so whoever replays a partition's entries in their order has the rows
that its last holder had. Redis keeps entries, and knows nothing of what is in them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.frames import compress, decompress
from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.by_hand import Act
from sitecrawl.frontier.moving import Facts, region_of_row
from sitecrawl.frontier.urls.territory import Message, Territory


class Bundle(NamedTuple):
    """What one partition sends another at a checkpoint: messages about URLs, a part of the page limit, acts."""

    messages: Sequence[Message] = ()
    account: int = 0
    """Account of the limit to which `pages` belong."""
    pages: int = 0
    """Allowance that moves from the sending to the receiving partition."""
    acts: Sequence[Act] = ()
    """Acts for the receiver."""

    def pack(self) -> bytes:
        """A frame of MessagePack [account, pages, [fields of a message, ...], [act, ...]]."""
        fields = [message.fields() for message in self.messages]
        return compress(msgpack.packb([self.account, self.pages, fields, self.acts]))

    @classmethod
    def unpack(cls, data: bytes) -> Bundle:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            account, pages, messages, acts = msgpack.unpackb(decompress(data))
            return cls([Message.of(fields) for fields in messages], account, pages, [Act(*act) for act in acts])
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"A bundle of {len(data)} bytes cannot be read: {error}") from error


Changes = dict[tuple[str, bytes], bytes | None]
"""Family and key → the value, None where the row went."""


class RecordingBatch(Batch):
    """Writes `into` another batch, and remembers what that changes in each partition. Rows about the crawl as a whole
    are the worker's own; those of sites that another worker has are left out.
    """

    __slots__ = ("_territory", "changes", "into")

    def __init__(self, into: Batch, territory: Territory) -> None:
        self.into = into
        self._territory = territory
        self.changes: defaultdict[int, Changes] = defaultdict(dict)

    def put(self, family: str, key: bytes, value: bytes) -> None:
        if self._is_ours(family, key, value):
            self.into.put(family, key, value)

    def delete(self, family: str, key: bytes) -> None:
        if self._is_ours(family, key, None):
            self.into.delete(family, key)

    def _is_ours(self, family: str, key: bytes, value: bytes | None) -> bool:
        """Whether the row is to be written here, and remembered if it is a partition's."""
        region = region_of_row(family, key, value or b"")
        if region is None:
            return True
        partition = self._territory.partition(region)
        if is_ours := partition in self._territory.held:
            self.changes[partition][family, key] = value
        return is_ours


class FromInbox(NamedTuple):
    """Bundles that an entry contains: the first ones of the partition's inbox."""

    bundles: int = 0
    sha1: str = ""
    """Of all, one behind the other, in hexadecimal."""

    @classmethod
    def of(cls, bundles: Sequence[bytes]) -> FromInbox:
        return cls(len(bundles), hashlib.sha1(b"".join(bundles), usedforsecurity=False).hexdigest())


NOT_HEARD: Final = FromInbox()


@dataclass
class Entry:
    """One of a partition's log, with all that happens at once with it."""

    partition: int
    number: int
    """Entries of a partition are numbered from 1 on, without a gap, whoever makes them."""
    data: bytes
    """See `pack_entry`."""
    tally: bytes = b""
    """Tally of the partition for other workers: MessagePack, opaque to Redis."""
    heard: FromInbox = NOT_HEARD
    sends: dict[int, bytes] = field(default_factory=dict)
    """A bundle of messages for each other partition."""
    rows: list[int] = field(default_factory=list)
    """Rows of the page index that count if the entry does."""

    def pack(self) -> bytes:
        """For the worker's journal."""
        packed: bytes = msgpack.packb(
            [self.partition, self.number, self.data, self.tally, self.heard, list(self.sends.items()), self.rows]
        )
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> Entry:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            partition, number, changes, tally, heard, sends, rows = msgpack.unpackb(data)
            return cls(partition, number, changes, tally, FromInbox(*heard), dict(sends), rows)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"An entry of {len(data)} bytes in the journal cannot be read: {error}") from error


def pack_entry(facts: Facts, changes: Mapping[tuple[str, bytes], bytes | None]) -> bytes:
    """MessagePack [facts, [[family, key, value or nil], ...]], compressed by Zstandard, with a checksum."""
    rows = [(family, key, value) for (family, key), value in changes.items()]
    return compress(msgpack.packb([list(facts), rows]))


def unpack_entry(data: bytes) -> tuple[Facts, list[Any]]:
    """The facts, and [family, key, value or None] of each row that has changed. Raises `CorruptFile`."""
    try:
        facts, rows = msgpack.unpackb(decompress(data))
        return Facts.of(facts), rows
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptFile(f"An entry of {len(data)} bytes cannot be read: {error}") from error
