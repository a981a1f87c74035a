"""Which pages repeat others: an index of digests and SimHashes in the crawl's database.

A page is *equal* to another if their bodies have the same SHA-1, on any host. It is *near* another of the same
host if both have the same title and their texts' SimHashes differ in at most `MAX_DISTANCE` bits. The title is part
of it because templates are large: two products of a shop share all but a few words, and only their titles say that
they are two. What a session id or a printable version makes of a page keeps the title.

A page that repeats another names its *original*: the page that had the content first. What repeats a repeat has the
same original, so that it stands for the content (`frontier.forms.forms` learns from it which URLs are one).

Layout of the `content` family. The SimHashes of a title's first pages are compared one by one, and their row says at
once that a title is new, as most are. Only among what comes after them has to be searched. The original is a URL's
fingerprint:

    digest  | D | SHA-1, the first 16 bytes |                                       original 16
    first   | T | host 8 | title 8 |                                                SimHash 8, original 16, or more
    others  | N | host 8 | title 8 | number of the block 1 | block 2 | SimHash 8 |  original 16

Of four blocks of 16 bits, two SimHashes that differ in 3 bits have one in common (Manku et al. 2007, §3), so each
is stored under all four and looked for under its own four. A title that stands on thousands of pages makes long
lists: `MAX_CANDIDATES` of each are compared.

A crash loses what came after the last checkpoint, with the pages that it was about.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from cityhash import CityHash64

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.figures import Figures
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.page.simhash import MAX_DISTANCE, distance

MAX_CANDIDATES: Final = 64
FIRST: Final = 4
"""Pages of a title whose SimHashes are in its own row."""

_FAMILY = "content"
_BLOCKS = 4
_BLOCK_BITS = 16
_OTHER_BYTES = 28
_HASH_BYTES = 8
_TEXT = struct.Struct(">Q16s")


class Verdict(Enum):
    """What the index knows of a page's content."""

    NEW = "new"
    EQUAL = "equal"
    """Another page had the same body."""
    NEAR = "near"
    """Another page of the host had the same title and nearly the same text."""


@dataclass(frozen=True, slots=True)
class ContentFigures(Figures):
    """What the content-seen test of a crawl found, in pages."""

    prefix = "content"

    pages: int = 0
    """Those that were compared."""
    equal: int = 0
    near: int = 0
    links_skipped: int = 0
    """Those whose links were not followed: another page had the same body."""

    def rows(self) -> Iterator[tuple[str, int, str]]:
        """For people: what, how often, and what there is to say of it."""
        yield "compared", self.pages, "pages"
        for name, number, about in (
            ("equal", self.equal, "the body of another page, on any host"),
            ("near", self.near, "the title and nearly the text of another page of the host"),
            ("links skipped", self.links_skipped, "links that were not followed: another page has the body"),
        ):
            if number or name != "links skipped":
                yield name, number, f"{number / self.pages if self.pages else 0:.1%}: {about}"


class Comparison(NamedTuple):
    """A page beside those that came before it."""

    verdict: Verdict
    original: bytes
    """Fingerprint of the page that had the content first: of the page itself if it is new."""
    title: bytes
    """The hash of its title, 8 bytes."""


class ContentIndex:
    """Remembers every page's content, and says whether it was there before."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._added: dict[bytes, bytes] = {}
        """Rows of the open checkpoint."""
        self._open: defaultdict[bytes, list[tuple[int, bytes]]] = defaultdict(list)
        """The SimHashes of those that are others, and their originals, by all that stands before them."""

    def is_repeated(self, sha1: bytes, key: bytes) -> bool:
        """Whether a page other than the one with the fingerprint `key` has the body with the digest `sha1`."""
        digest = _digest_key(sha1)
        original = self._added.get(digest) or self._database.get(_FAMILY, digest)
        return original not in (None, key)

    def add(
        self, host: bytes, sha1: bytes, key: bytes, *, title: str = "", text_hash: int | None = None
    ) -> Comparison:
        """Remember the page of `host` (its 8-byte key) with the fingerprint `key`. `sha1` is its body's, `text_hash`
        the SimHash of its text, None without text. Raises `CorruptFile`.
        """
        digest = _digest_key(sha1)
        titled = CityHash64(title.encode("utf-8", "surrogatepass")).to_bytes(_HASH_BYTES, "big")
        if (original := self._added.get(digest)) is not None:
            return Comparison(Verdict.EQUAL, original, titled)
        of_title = host + titled
        known, row = self._database.get_many(_FAMILY, [digest, b"T" + of_title])
        if known is not None:
            return Comparison(Verdict.EQUAL, known, titled)
        near = None if text_hash is None else self._add_text(of_title, row or b"", text_hash, key)
        self._added[digest] = near or key
        return Comparison(Verdict.NEW, key, titled) if near is None else Comparison(Verdict.NEAR, near, titled)

    def _add_text(self, of_title: bytes, stored: bytes, text_hash: int, page: bytes) -> bytes | None:
        """The original of a page with the title and nearly the same text, if there is one."""
        key = b"T" + of_title
        row = self._added.get(key, stored)
        try:
            first = list(_TEXT.iter_unpack(row))
        except struct.error as error:
            raise CorruptFile(f"A title's row in {self._database.path} cannot be read: {error}") from error
        near = _nearest(text_hash, first)
        if len(first) < FIRST:
            self._added[key] = row + _TEXT.pack(text_hash, near or page)
            return near
        keys = list(text_keys(b"N" + of_title, text_hash))
        if near is None:
            near = _nearest(text_hash, self._candidates(key[:-_HASH_BYTES] for key in keys))
        for key in keys:
            self._added[key] = near or page
            self._open[key[:-_HASH_BYTES]].append((text_hash, near or page))
        return near

    def _candidates(self, prefixes: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """SimHashes that have a block in common, and their originals."""
        for prefix in prefixes:
            yield from self._open.get(prefix, ())[-MAX_CANDIDATES:]
            end = prefix + b"\xff" * (_OTHER_BYTES - len(prefix) + 1)
            for key, original in islice(self._database.scan(_FAMILY, prefix, end), MAX_CANDIDATES):
                yield int.from_bytes(key[-_HASH_BYTES:], "big"), original

    def flush(self, batch: Batch) -> None:
        """Hand what is new to `batch`."""
        for key, value in self._added.items():
            batch.put(_FAMILY, key, value)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._added.clear()
        self._open.clear()


def _digest_key(sha1: bytes) -> bytes:
    return b"D" + sha1[:16]


def _nearest(text_hash: int, others: Iterable[tuple[int, bytes]]) -> bytes | None:
    """The original of the first that is near."""
    return next((original for other, original in others if distance(text_hash, other) <= MAX_DISTANCE), None)


def text_keys(stem: bytes, text_hash: int) -> Iterator[bytes]:
    """The keys of all rows of a text that is none of the first with its title: `stem` is what they begin with."""
    whole = text_hash.to_bytes(_HASH_BYTES, "big")
    for number in range(_BLOCKS):
        block = (text_hash >> (_BLOCK_BITS * number)) & ((1 << _BLOCK_BITS) - 1)
        yield stem + bytes([number]) + block.to_bytes(2, "big") + whole
