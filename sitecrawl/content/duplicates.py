"""Which pages repeat others: an index of digests and SimHashes in the crawl's database.

A page is *equal* to another if their bodies have the same SHA-1, on any host. It is *near* another of the same
host if both have the same title and their texts' SimHashes differ in at most `MAX_DISTANCE` bits. The title is part
of it because templates are large: two products of a shop share all but a few words, and only their titles say that
they are two. What a session id or a printable version makes of a page keeps the title.

Layout of the `content` family; both kinds of key have no value:

    digest  | D | SHA-1, the first 16 bytes |
    near    | N | host 8 | title 8 | number of the block 1 | block 2 | SimHash 8 |

Of four blocks of 16 bits, two SimHashes that differ in 3 bits have one in common (Manku et al. 2007, §3), so each
is stored under all four and looked for under its own four. The first block's rows are all that there is of a title:
most titles stand on one page, and one look says so. A title that stands on thousands of pages makes long lists:
`MAX_CANDIDATES` of each are compared.

A crash loses what came after the last checkpoint, with the pages that it was about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from itertools import islice
from typing import Final

from cityhash import CityHash64

from sitecrawl.content.simhash import distance
from sitecrawl.storage import Batch, Database

MAX_DISTANCE: Final = 3
MAX_CANDIDATES: Final = 64
_FEW: Final = 4
"""A title that stands on no more pages has all of them compared: that costs less than to look under four blocks."""

_FAMILY = "content"
_BLOCKS = 4
_BLOCK_BITS = 16
_NEAR_BYTES = 28


class Verdict(Enum):
    """What the index knows of a page's content."""

    NEW = "new"
    EQUAL = "equal"
    """Another page had the same body."""
    NEAR = "near"
    """Another page of the host had the same title and nearly the same text."""


class ContentIndex:
    """Remembers every page's content, and says whether it was there before."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._added: dict[bytes, None] = {}
        """Keys of the open checkpoint."""
        self._open: defaultdict[bytes, list[int]] = defaultdict(list)
        """Their SimHashes, by all that stands before them."""

    def add(self, host: bytes, sha1: bytes, *, title: str = "", text_hash: int | None = None) -> Verdict:
        """Remember a page of `host` (its 8-byte key). `sha1` is its body's, `text_hash` the SimHash of its text, None
        without text.
        """
        digest = b"D" + sha1[:16]
        if digest in self._added or self._database.get(_FAMILY, digest) is not None:
            return Verdict.EQUAL
        self._added[digest] = None
        if text_hash is None:
            return Verdict.NEW
        stem = b"N" + host + CityHash64(title).to_bytes(8, "big")
        near = any(distance(text_hash, other) <= MAX_DISTANCE for other in self._candidates(stem, text_hash))
        for prefix in _prefixes(stem, text_hash):
            self._added[prefix + text_hash.to_bytes(8, "big")] = None
            self._open[prefix].append(text_hash)
        return Verdict.NEAR if near else Verdict.NEW

    def _candidates(self, stem: bytes, text_hash: int) -> Iterator[int]:
        """SimHashes that share a block with `text_hash`, and others of a title that has few."""
        prefixes = list(_prefixes(stem, text_hash))
        for prefix in prefixes:
            yield from self._open.get(prefix, ())[-MAX_CANDIDATES:]
        of_title = list(islice(self._stored(stem + b"\0"), _FEW + 1))
        if len(of_title) <= _FEW:
            yield from of_title
        else:
            for prefix in prefixes:
                yield from islice(self._stored(prefix), MAX_CANDIDATES)

    def _stored(self, prefix: bytes) -> Iterator[int]:
        """The SimHashes under `prefix` in the database."""
        for key, _ in self._database.scan(_FAMILY, prefix, prefix + b"\xff" * (_NEAR_BYTES - len(prefix) + 1)):
            yield int.from_bytes(key[-8:], "big")

    def flush(self, batch: Batch) -> None:
        """Hand what is new to `batch`."""
        for key in self._added:
            batch.put(_FAMILY, key, b"")

    def flushed(self) -> None:
        """The batch is on disk."""
        self._added.clear()
        self._open.clear()


def _prefixes(stem: bytes, text_hash: int) -> Iterator[bytes]:
    for number in range(_BLOCKS):
        block = (text_hash >> (_BLOCK_BITS * number)) & ((1 << _BLOCK_BITS) - 1)
        yield stem + bytes([number]) + block.to_bytes(2, "big")
