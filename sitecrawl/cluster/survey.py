"""One scan over a shard: the numbers that its records add up to. What cannot be read is left out.

Memory holds what is known of every host and every section, what is lent, and nothing for a URL that waits.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sitecrawl.base.batches import batches
from sitecrawl.cluster.options import WRAP
from sitecrawl.cluster.records import (
    A_TIME,
    DONE_BYTES,
    Blob,
    HostRecord,
    Lease,
    Reading,
    SectionRecord,
    Url,
    blob_of,
    lease_of,
    number_of,
)
from sitecrawl.cluster.shards import Keys
from sitecrawl.frontier.record import UrlState
from sitecrawl.urls.fingerprint import SIZE, Fingerprinter

MOST_KEYS: Final = 10_000
"""Keys that are asked for in one go."""
_DONE = struct.Struct(">BHf")
_ENDS: Final = {UrlState.FETCHED: "fetched", UrlState.FAILED: "failed", UrlState.EXCLUDED: "excluded"}


@dataclass(slots=True)
class Tally:
    """What the URLs of a host, or of a section, add up to."""

    queued: int = 0
    """Those that wait, and those that are lent."""
    waiting: int = 0
    mark: int = 0
    """The greatest of those that wait."""
    trap_like: int = 0
    example: bytes = b""


class Survey:
    """The shard `number` of the crawl `keys`. Its keys have to be of their types. Raises `redis.RedisError`."""

    def __init__(self, client: Any, keys: Keys, number: int, fingerprints: Fingerprinter) -> None:
        self._client = client
        self.base = keys.base(number)
        self.reading = Reading(keys, number, fingerprints)
        state = {name.decode(errors="replace"): number_of(text) for name, text in self.all_of("state").items()}
        self.state = {name: value for name, value in state.items() if value is not None}
        self.hosts: dict[bytes, HostRecord] = {}
        self.sections: dict[bytes, SectionRecord] = {}
        self.leases: dict[int, Lease] = {}
        self.by_host: defaultdict[bytes, Tally] = defaultdict(Tally)
        self.by_section: defaultdict[bytes, Tally] = defaultdict(Tally)
        self.credit = 0
        """Of URLs, with what their hosts owe them."""
        self.waiting = self.leased = self.serial = 0
        self.history = 0.0
        self._read_hosts()
        self._read_leases()

    def read_urls(self) -> Survey:
        """Add up all URLs."""
        for chunk in self.urls():
            for key, url in chunk:
                if url is not None:
                    self.add(key, url)
        return self

    # What there is

    def all_of(self, name: str) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self._client.hgetall(self.base + name)
        return found

    def keys_of(self, family: str) -> Iterator[bytes]:
        """The names of all keys that begin with `family`, a colon and what tells them apart."""
        yield from self._client.scan_iter(f"{literal(self.base)}{family}:*", count=MOST_KEYS)

    def suffix(self, name: bytes, family: str) -> bytes:
        """What tells a key apart from others of its family."""
        return name[len(self.base) + len(family) + 1 :]

    def rows(self, name: str | bytes) -> Iterator[tuple[bytes, bytes]]:
        """The fields of a hash."""
        key = self.base + name if isinstance(name, str) else name
        yield from self._client.hscan_iter(key, count=A_TIME)

    def urls(self) -> Iterator[list[tuple[bytes, Url | None]]]:
        """All URLs that are not done, some at a time; None where the record cannot be read."""
        for chunk in batches(self.rows("urls"), A_TIME):
            yield [(key, self.reading.url(key, packed)) for key, packed in chunk]

    def done(self) -> Iterator[tuple[bytes, bytes, UrlState | None]]:
        """Key, fingerprint and state of what is done; None where that cannot be read."""
        for name in self.keys_of("done"):
            for field, value in self.rows(name):
                yield name, field, state_of(field, value)

    def outbox(self) -> Iterator[tuple[bytes, bytes, Blob | None]]:
        """Key and field of what is for other shards, and what it is; None where that cannot be read."""
        for name in self.keys_of("out"):
            for field, packed in self.rows(name):
                yield name, field, blob_of(packed) if field_of(field) else None

    # What it adds up to

    def _read_hosts(self) -> None:
        for name, packed in self.rows("hosts"):
            if (host := self.reading.host(name, packed)) is not None:
                self.hosts[name] = host
        for key, packed in self.rows("sections"):
            if (section := self.reading.section(key, packed)) is not None:
                self.sections[key] = section

    def _read_leases(self) -> None:
        for name in self.keys_of("l"):
            token, lease = self.suffix(name, "l"), lease_of(self._client.hgetall(name))
            if token.isdigit() and lease is not None:
                self.leases[int(token)] = lease

    def add(self, key: bytes, url: Url) -> None:
        name, section = url.host, url.section_key
        is_lent = self.is_lent(key, url)
        for tally in (self.by_host[name], self.by_section[section]):
            tally.queued += 1
            tally.example = url.url
            if not is_lent:
                tally.waiting += 1
                tally.mark = max(tally.mark, url.mark)
        self.serial, self.history = max(self.serial, url.serial), self.history + url.history
        self.leased += is_lent
        self.waiting += not is_lent
        self.credit += int(url.credit)
        host = self.hosts.get(name)
        if not is_lent and host is not None:
            self.credit += self.owed(host, url)

    def is_lent(self, key: bytes, url: Url) -> bool:
        """Whether it is lent by its record, and by a lease."""
        lease = self.leases.get(url.token)
        return lease is not None and key in lease.urls

    def count(self, name: str) -> int:
        return int(self.state.get(name, 0))

    @property
    def lent(self) -> int:
        """The credit of what is lent."""
        return sum(sum(lease.urls.values()) for lease in self.leases.values())

    @property
    def held(self) -> int:
        """All credit of the shard."""
        own = self.count("reserve") + self.count("sent") - self.count("arrived")
        return own + self.credit + self.lent + sum(self.share(host)[1] for host in self.hosts.values())

    def share(self, host: HostRecord) -> tuple[int, int]:
        """What each waiting URL of a host has got from the lambda page up to now, and what is left over."""
        if not host.payees:
            return host.dividend, host.rest
        share, rest = divmod(self.unpaid(host), host.payees)
        return host.dividend + share, rest

    def unpaid(self, host: HostRecord) -> int:
        """What the lambda page has paid to a host that has not been shared out."""
        return int((self.count("dividend") - host.mark) % WRAP + host.rest)

    def owed(self, host: HostRecord, url: Url) -> int:
        """What a waiting URL has got since it was looked at last."""
        return int((self.share(host)[0] - url.mark) % WRAP)

    def sections_of(self) -> Counter[bytes]:
        """How many sections each host has."""
        return Counter(key.partition(b"\0")[0] for key in self.sections)

    def ended(self) -> dict[str, int]:
        """How many URLs are done, by the names of their ends."""
        states = Counter(state for _, _, state in self.done())
        return {name: states[state] for state, name in _ENDS.items()}


def state_of(key: bytes, row: bytes) -> UrlState | None:
    """What has become of a URL that is done; None where its row is none."""
    if len(key) != SIZE or len(row) != DONE_BYTES:
        return None
    state, _, history = _DONE.unpack(row)
    return UrlState(state) if state in {int(one) for one in _ENDS} and history >= 0 else None


def field_of(field: bytes) -> tuple[str, int, int] | None:
    """Stream, number and shard of what an outbox has for that shard; None where it says none."""
    parts = field.decode(errors="replace").rsplit(":", 2)
    if len(parts) < 3 or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def literal(text: str) -> str:
    """`text` as a pattern that matches it alone."""
    return "".join(f"\\{letter}" if letter in "*?[]\\^{}" else letter for letter in text)
