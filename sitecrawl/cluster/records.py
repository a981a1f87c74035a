"""Records of a partition on Redis beside its log, read with care: any of it may be spoilt.

What no worker can have written is `spoilt`: a key of another type, a field, a member or an element. It is named for
who checks a crawl, and taken out by who repairs it; what is left can be believed, as far as it tells of itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.cluster.entries import Bundle
from sitecrawl.cluster.outside import FAR, CrawlOnRedis
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.standing import Tally
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.urls.fingerprint import SIZE

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
class Records:
    """Records of a partition in which nothing is spoilt."""

    entry: int
    """The number of the newest, as `state` says."""
    tally: Tally
    tokens: Mapping[int, int]
    token: int
    holder: tuple[int, str] | None
    """Token and session of the lease."""
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


def read_records(crawl: CrawlOnRedis, partition: int) -> Records:
    """Raises `redis.RedisError`."""
    client, base = crawl.client, crawl.keys.base(partition)
    state = client.hgetall(base + "state")
    counts = {name: int(state.get(name, 0)) for name in _COUNTS}
    lease = client.get(base + "lease")
    holder = _LEASE.fullmatch(lease) if lease else None
    return Records(
        entry=counts[b"entry"],
        tally=Tally.unpack(state.get(b"tally", b"")),
        tokens={int(token): int(number) for token, number in client.hgetall(base + "tokens").items()},
        token=int(client.get(base + "token") or 0),
        holder=None if holder is None else (int(holder[1]), holder[2].decode(errors="replace")),
        senders={name.decode(): int(number) for name, number in client.hgetall(base + "senders").items()},
        outbox={name.decode(): int(name.partition(b":")[0]) for name in client.hkeys(base + "outbox")},
        outgoing=counts[b"sent"] - counts[b"gone"],
        incoming=counts[b"arrived"] - counts[b"heard"],
        inbox=client.llen(base + "inbox"),
    )


def spoilt(crawl: CrawlOnRedis, partition: int) -> Iterator[_Spoilt]:
    """All that is, but for the entries of the log. Raises `redis.RedisError`."""
    return _Looking(crawl, partition).all()


class _Looking:
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
        for field, value in self._client.hscan_iter(self._base + name, count=_PIECE):
            if not is_field(field, value):
                yield _Spoilt(name, field, "it is not what a worker writes")

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
