"""Which URL stands for a class of URLs: the `classes` family.

A class is what learnt rules leave of a URL (`learner`), and its key is the fingerprint of that. A row:

    | page 16 | content 16 | other 16 | failures 1 |

*page*: the fingerprint of the URL that is fetched, or was, for all of the class; zeros when it came to nothing.
*content*: the beginning of the fingerprint of the page that had its content first, 8 bytes, and a hash of its title,
8; zeros as long as nobody knows. Older rows have no title. *other*: the shortest other URL of the class, which takes
its place if it fails; zeros for none. *failures*: how many have failed.

The record of a URL stands for its own class without a row. A class has one where rules hold, and on every host if its
only page repeats another: whatever has been fetched and has no row was the first with its content.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay

NOBODY: Final = bytes(16)
_HALF: Final = 8
UNKNOWN: Final = bytes(2 * _HALF)
MAX_FAILURES: Final = 3
"""URLs of one class that are tried before it counts as dead: an id may have expired, and the next one works."""

_ROW = struct.Struct(">16s16s16sB")
_WITHOUT_TITLE = struct.Struct(">16s8s16sB")
ROW_BYTES: Final = _ROW.size


def content_id(original: bytes, title: bytes) -> bytes:
    """What a content is known by: the fingerprint of the page that had it first, and the hash of its title."""
    return original[:_HALF] + title


def without_title(original: bytes) -> bytes:
    """The same where nobody knows the title."""
    return original[:_HALF] + bytes(_HALF)


def is_one_content(one: bytes, other: bytes) -> bool:
    return one[:_HALF] == other[:_HALF]


def is_one_title(one: bytes, other: bytes) -> bool | None:
    """Whether pages with these contents have one title; None where that of one is not known."""
    titles = one[_HALF:], other[_HALF:]
    return titles[0] == titles[1] if all(map(any, titles)) else None


class ClassRow(NamedTuple):
    """See the module."""

    page: bytes = NOBODY
    content: bytes = UNKNOWN
    other: bytes = NOBODY
    failures: int = 0

    @property
    def original(self) -> bytes:
        """The beginning of the fingerprint of the page that had the content first; empty while nobody knows."""
        return b"" if self.content == UNKNOWN else self.content[:_HALF]


class Classes:
    """Class → `ClassRow`, with the changes of the open checkpoint."""

    def __init__(self, database: Database) -> None:
        self._path = database.path
        self._rows = Overlay(database, "classes")

    def get(self, key: bytes) -> ClassRow | None:
        """Raises `CorruptFile` for a row that no `put` wrote."""
        data = self._rows.get(key)
        if data is None:
            return None
        try:
            if len(data) == _WITHOUT_TITLE.size:
                page, content, other, failures = _WITHOUT_TITLE.unpack(data)
                return ClassRow(page, without_title(content), other, failures)
            return ClassRow(*_ROW.unpack(data))
        except struct.error as error:
            raise CorruptFile(f"A class of URLs in {self._path} cannot be read: {error}") from error

    def put(self, key: bytes, row: ClassRow) -> None:
        self._rows.put(key, _ROW.pack(*row))

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        self._rows.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._rows.flushed()
