"""What the frontier remembers of a URL, and its bytes on disk (docs/formats/database.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import IntEnum
from operator import attrgetter
from typing import Final

from sitecrawl.base.errors import CorruptFile

NO_REFERRER: Final = bytes(16)
RANK_BYTES: Final = 12
MAX_DEPTH: Final = 0xFFFF
MAX_STATUS: Final = 0xFFFF
MAX_ATTEMPTS: Final = 0xFFFF
GONE: Final = frozenset({404, 410})
"""Statuses by which a host says that there is nothing at a URL."""

_NOT_MODIFIED = 304
_HEAD = struct.Struct(">BBHHHd8s4s12s16sQQBd")


class UrlState(IntEnum):
    """Where a URL is on its way. Only `QUEUED` is work; a URL in flight is `QUEUED` until its page is safe."""

    QUEUED = 0
    FETCHED = 1
    """A response came and has been dealt with, whatever its status."""
    FAILED = 2
    """No response after all retries."""
    EXCLUDED = 3
    """Not asked for: robots.txt or a rule of the crawl forbids it."""
    REQUISITE = 4
    """A response came, and what it is a part of is made of it: no page, whatever it is."""


_STATES = tuple(UrlState)
_QUEUED: Final = UrlState.QUEUED
"""Looked up once: a checkpoint asks thousands of records whether they wait."""


class Flag:
    """Bits of `UrlRecord.flags`: plain numbers, for arithmetic on an `IntFlag` takes ten times as long."""

    NONE: Final = 0
    UNFILTERED: Final = 1
    """A request with `dont_filter`: not part of the seen set, forgotten when done."""
    REQUEST: Final = 2
    """More than a plain GET: the rest of the request stands in the `requests` family."""
    VOLATILE: Final = 4
    """The request could not be stored: it lives in memory only and dies with the process."""
    SEED: Final = 8
    STORED: Final = 16
    """Its last response is in the page store."""
    AWAITED: Final = 32
    """Someone wants to be told if it fails: the request has an errback."""
    AGAIN: Final = 64
    """It was asked for again after its end: several of its responses may be in the page store."""
    REQUISITE: Final = 128
    """Pages are made of it, and none links to it."""


@dataclass(slots=True)
class UrlRecord:
    """One URL known to the frontier. Behind the URL its fields stand in the order in which they are stored."""

    url: str
    state: UrlState = UrlState.QUEUED
    flags: int = Flag.NONE
    depth: int = 0
    """Links from a seed; 0 to `MAX_DEPTH`."""
    status: int = 0
    """The last response's status, 0 to `MAX_STATUS`; 0 before any."""
    attempts: int = 0
    """Put back since it was queued, or queued again after its end: 0 to `MAX_ATTEMPTS`."""
    fetched: float = 0.0
    """Unix time of the last attempt's end, in whole seconds: what is less is noise, and takes room; 0 before any."""
    host: bytes = b""
    """8-byte key of the host in the `hosts` family."""
    section: bytes = b""
    """4 bytes: with the host's key, the key of the section in the `sections` family."""
    rank: bytes = b""
    """`RANK_BYTES` bytes: the URL's place among the host's URLs, the least first."""
    referrer: bytes = NO_REFERRER
    """Fingerprint of the page where the URL was first found."""
    credit: int = 0
    """Credit that came and was not spent; dividends since `mark` come on top (`sitecrawl.frontier.credit`)."""
    mark: int = 0
    cause: int = 0
    """Why the last attempt brought nothing, one of `causes.Cause`; 0 where it brought something, and before any."""
    history: float = 0.0

    def waits(self) -> bool:
        """Whether it is queued, and will be after a crash."""
        return self.state == _QUEUED and not self.flags & Flag.VOLATILE

    @property
    def has_page(self) -> bool:
        """Whether the last response was a success, or said that its page is as it was."""
        return 200 <= self.status < 300 or self.status == _NOT_MODIFIED

    def try_again(self) -> None:
        """One more attempt has been put back."""
        self.attempts = min(self.attempts + 1, MAX_ATTEMPTS)

    def pack(self) -> bytes:
        return _HEAD.pack(*_FIELDS(self)) + self.url.encode()

    @classmethod
    def unpack(cls, data: bytes) -> UrlRecord:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            record = cls(data[_HEAD.size :].decode(), *_HEAD.unpack_from(data))
            record.state = _STATES[record.state]
        except (struct.error, ValueError, IndexError) as error:
            raise CorruptFile(f"A URL record of {len(data)} bytes cannot be read: {error}") from error
        return record


_FIELDS: Final = attrgetter(*(field.name for field in fields(UrlRecord) if field.name != "url"))
