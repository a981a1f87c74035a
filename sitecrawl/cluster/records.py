"""The records of a crawl on Redis by the names of their fields, and whether one can be believed.

Each is a MessagePack array, written by the steps: `shard.lua` has the same names in the same order. There are no
checksums, so of a number that was changed into another that could be nobody can tell.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final, NamedTuple

import msgpack

from sitecrawl.base.display import one_line
from sitecrawl.cluster.shards import Keys, unpack
from sitecrawl.frontier.record import Flag
from sitecrawl.pagestore.lookup import host_of, url_key
from sitecrawl.urls.fingerprint import SIZE, Fingerprinter

A_TIME: Final = 500
"""Rows that are read in one go."""
DONE_BYTES: Final = 7
FAR: Final = 30 * 24 * 3600 * 1000
"""Milliseconds: nothing that a worker notes down is so far ahead."""
NEW_TRAP: Final = (1, 0, 0, 0, 0, 0, 0)
"""Novelty, whether it is held back, since when, for what reason, fetches and costs up to then, limit."""
_TRAP_DEMOTED = 1
_COUNTED: Final = 3


class Url(NamedTuple):
    """A URL that waits or is lent."""

    url: bytes
    section: bytes
    depth: int
    referrer: bytes
    credit: int
    mark: int
    """Its host's dividend up to which it has been paid."""
    history: float
    serial: int
    priority: int
    flags: int
    attempts: int
    request: bytes
    token: int
    """Of the lease under which it is lent; 0 where it waits."""
    score: float

    @property
    def host(self) -> bytes:
        return host_of(self.url.decode()).encode()

    @property
    def section_key(self) -> bytes:
        return self.host + b"\0" + self.section


class HostRecord(NamedTuple):
    """A host; times in Unix milliseconds."""

    known: int = 0
    queued: int = 0
    fetched: int = 0
    good: int = 0
    sections: int = 0
    payees: int = 0
    dividend: int = 0
    mark: int = 0
    rest: int = 0
    token: int = 0
    free_at: int = 0
    failures: int = 0
    crawl_delay: float = 0
    pace: float = 0
    dead: int = 0
    trap: tuple[float, ...] = NEW_TRAP

    @property
    def is_held(self) -> bool:
        return self.trap[_TRAP_DEMOTED] == 1


class SectionRecord(NamedTuple):
    """A section of a host."""

    known: int = 0
    own: int = 0
    fetched: int = 0
    good: int = 0
    queued: int = 0
    trap_like: int = 0
    recent: float = 1
    worth: float = 1
    trap: tuple[float, ...] = NEW_TRAP
    shape: bytes = b""

    @property
    def is_held(self) -> bool:
        return self.trap[_TRAP_DEMOTED] == 1


class Lease(NamedTuple):
    """What is lent under one token."""

    host: bytes
    session: bytes
    is_returned: bool
    """The host has been given back; its pages are not yet acknowledged."""
    urls: dict[bytes, int]
    """The credit of each URL by its fingerprint."""


class Blob(NamedTuple):
    """What is on its way from one shard to another."""

    links: Any
    credit: int
    budget: int
    """How many URLs the other one may lend for it, under the limit of `account`."""
    account: int


class Reading:
    """Reads the records of one shard; None stands for what nobody has written like that."""

    def __init__(self, keys: Keys, shard: int, fingerprints: Fingerprinter) -> None:
        self._keys = keys
        self._shard = shard
        self._fingerprints = fingerprints

    def url(self, key: bytes, packed: bytes | None) -> Url | None:
        values = _values(packed, len(Url._fields))
        if values is None or len(key) != SIZE:
            return None
        url = Url._make(values)
        texts = isinstance(url.url, bytes) and isinstance(url.section, bytes) and isinstance(url.referrer, bytes)
        numbers = _are_counts(url.depth, url.credit, url.mark, url.history, url.serial, url.flags, url.attempts)
        if not (texts and numbers and _are_counts(url.token) and _are_numbers(url.priority, url.score)):
            return None
        return url if self._is_one(key, url) else None

    def _is_one(self, key: bytes, url: Url) -> bool:
        text = url.url.decode("latin-1")
        if not (text.isascii() and text.isprintable() and text.startswith(("http://", "https://"))):
            return False
        if not self.is_ours(url.host) or not _is_request(url.request):
            return False
        # A crawl may leave parameters out before it takes the fingerprint.
        is_free = "?" in text or ";" in text or url.flags & (Flag.REQUEST | Flag.UNFILTERED)
        return bool(is_free) or self._fingerprints.url(url_key(text)) == key

    def host(self, name: bytes, packed: bytes | None) -> HostRecord | None:
        values = _values(packed, len(HostRecord._fields))
        if values is None or not self.is_ours(name):
            return None
        *numbers, trap = values
        is_one = _are_counts(*numbers) and _is_trap(trap)
        return HostRecord._make([*numbers, tuple(trap)]) if is_one else None

    def section(self, key: bytes, packed: bytes | None) -> SectionRecord | None:
        values = _values(packed, len(SectionRecord._fields))
        if values is None or not self.is_ours(key.partition(b"\0")[0]) or b"\0" not in key:
            return None
        *numbers, trap, shape = values
        is_one = _are_counts(*numbers) and _is_trap(trap) and isinstance(shape, bytes)
        return SectionRecord._make([*numbers, tuple(trap), shape]) if is_one else None

    def is_ours(self, host: bytes) -> bool:
        """Whether a host of this name is on this shard."""
        return bool(host) and host.isascii() and self._keys.shard_of(host.decode()) == self._shard


def lease_of(fields: dict[bytes, bytes]) -> Lease | None:
    """A lease from its hash; None where nobody can say whose it is."""
    if not fields.keys() >= {b"h", b"s"}:
        return None
    urls = {key: int(credit) for key, credit in fields.items() if len(key) == SIZE and credit.isdigit()}
    return Lease(fields[b"h"], fields[b"s"], b"r" in fields, urls)


def number_of(text: bytes | None) -> float | None:
    """A number as Redis has it; None where it is none."""
    try:
        number = float(text or b"x")
    except ValueError:
        return None
    return number if isfinite(number) else None


def blob_of(packed: bytes) -> Blob | None:
    """What an outbox holds; None where that cannot be read."""
    try:
        blob = unpack(packed)
        numbers = (blob[b"arrived"], blob.get(b"budget", 0), blob.get(b"account", 0))
        return Blob(blob[b"links"], *map(int, numbers))
    except (ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException):
        return None


def is_tally(packed: bytes) -> bool:
    """Whether that is what a worker counts for the limits of a run: items, pages, errors."""
    values = _values(packed, _COUNTED)
    return values is not None and _are_counts(*values)


def _values(packed: bytes | None, size: int) -> list[Any] | None:
    try:
        values = unpack(packed or b"")
    except (ValueError, TypeError, msgpack.UnpackException):
        return None
    return values if isinstance(values, list) and len(values) == size else None


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and isfinite(value) for value in values)


def _are_counts(*values: Any) -> bool:
    return _are_numbers(*values) and min(values) >= 0


def _is_trap(values: Any) -> bool:
    return isinstance(values, list) and len(values) == len(NEW_TRAP) and _are_counts(*values)


def _is_request(packed: Any) -> bool:
    if packed == b"":
        return True
    try:
        return isinstance(packed, bytes) and isinstance(msgpack.unpackb(packed, strict_map_key=False), dict)
    except (ValueError, TypeError, msgpack.UnpackException):
        return False


def readable(name: bytes) -> str:
    """A name for a line of a terminal."""
    return name.hex() if len(name) == SIZE else one_line(name.decode(errors="backslashreplace"))
