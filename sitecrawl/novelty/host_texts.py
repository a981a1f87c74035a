"""What each host has shown: the hosts that were asked for last in memory, all of them on disk.

Layout: family `content`, keys `S`, host's key, number of the part; part 0 is the head with the votes, the others are
the layers (`shown_text`). A checkpoint writes a host when an eighth of what it holds has been added, or when it
leaves memory; `save`, after the last one, writes all others. So what is written is a few times what is held, however
often checkpoints are made. A crash costs what was added since, at most an eighth: that text counts as new once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.novelty.shown_text import Novelty, ShownText

MEMORY: Final = 64 << 20
"""Bytes of the tables that stay in memory after a checkpoint."""
DUE: Final = 8
"""A host is due when more than one part in so many of what it holds has been added."""
_FAMILY: Final = "content"
_PREFIX: Final = b"S"
_BEHIND: Final = b"T"


def stored_texts(database: Database) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The keys and parts of each host that is on disk."""
    rows = database.scan(_FAMILY, _PREFIX, _BEHIND)
    for _, parts in groupby(rows, lambda row: row[0][:-1]):
        found = list(parts)
        yield [key for key, _ in found], [part for _, part in found]


class HostTexts:
    """See the module. Raises `CorruptFile` for rows that cannot be read."""

    def __init__(self, database: Database, *, memory: int = MEMORY) -> None:
        self._database = database
        self._memory = memory
        self._texts: dict[bytes, ShownText] = {}
        """By the hosts' keys, the last one asked for at the end."""
        self._written: dict[bytes, int] = {}
        """Of those, how many layers are on disk as they will stay."""
        self._asked: set[bytes] = set()
        """Of those, which were asked for since the last checkpoint."""
        self.size = 0
        """Bytes that all of them take."""
        self._leaving: list[bytes] = []

    def look(self, host: bytes, sample: bytes) -> Novelty:
        """How much of a page of `host` (its 8-byte key) with this sample is new. From then on it is not."""
        text = self._texts.pop(host, None) or self._load(host)
        self._texts[host] = text
        self._asked.add(host)
        self.size -= text.size
        novelty = text.look(sample)
        self.size += text.size
        return novelty

    def _load(self, host: bytes) -> ShownText:
        prefix = _PREFIX + host
        parts = [part for _, part in self._database.scan(_FAMILY, prefix, prefix + b"\xff")]
        self._written[host] = max(len(parts) - 2, 0)
        text = ShownText.unpack(parts) if parts else ShownText()
        self.size += text.size
        return text

    def flush(self, batch: Batch) -> None:
        """Hand what is due to `batch`."""
        self._leaving = list(self._too_many())
        self._write(batch, {*filter(self._is_due, self._asked), *self._leaving})
        self._asked.clear()

    def _is_due(self, host: bytes) -> bool:
        return self._texts[host].added * DUE > self._texts[host].held

    def flushed(self) -> None:
        """The batch is on disk."""
        for host in self._leaving:
            self.size -= self._texts.pop(host).size
            del self._written[host]
        self._leaving = []

    def save(self) -> None:
        """Write all that is not on disk. Raises `StorageError`."""
        batch = self._database.batch()
        self._write(batch, self._texts)
        self._database.write(batch)

    def take_over(self, before: HostTexts, is_here: Callable[[bytes], bool]) -> None:
        """Go on with what another has of the hosts that `is_here` knows."""
        for host in filter(is_here, before._texts):
            self._texts[host], self._written[host] = before._texts[host], before._written[host]
            self.size += self._texts[host].size

    def _too_many(self) -> Iterable[bytes]:
        """Those that were not asked for longest, as far as memory is short."""
        too_much = self.size - self._memory
        for host, text in self._texts.items():
            if too_much <= 0:
                return
            too_much -= text.size
            yield host

    def _write(self, batch: Batch, hosts: Iterable[bytes]) -> None:
        for host in hosts:
            text = self._texts[host]
            if not text.added:
                continue
            parts = text.pack()
            for number, part in enumerate(parts):
                if not 0 < number <= self._written[host]:
                    batch.put(_FAMILY, _PREFIX + host + bytes([number]), part)
            text.added, self._written[host] = 0, len(parts) - 2
