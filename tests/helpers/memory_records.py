"""What the reference frontier knows: the records of all URLs, and what can be counted of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.urls.record import UrlRecord, UrlState


class MemoryRecords:
    """It is `counts`, `urls` and `hosts` of its frontier."""

    def __init__(self) -> None:
        self.records: dict[bytes, UrlRecord] = {}
        self.requests: dict[bytes, bytes | None] = {}
        """What a URL's request is beside a GET."""
        self.by_key: dict[bytes, Host] = {}
        self.serial = 0
        """How often a URL was queued."""

    def get(self, key: bytes) -> UrlRecord | None:
        return self.records.get(key)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, UrlRecord | None]:
        return {key: self.records.get(key) for key in keys}

    def named(self, host: str) -> Host:
        return self.by_key.setdefault(host.encode(), Host(host.encode(), host))

    def host_of(self, key: bytes) -> Host:
        return self.by_key[self.records[key].host]

    def in_order(self) -> list[bytes]:
        """The keys of what is queued, the least rank first."""
        queued = [(record.rank, key) for key, record in self.records.items() if record.state == UrlState.QUEUED]
        return [key for _, key in sorted(queued)]

    def live(self) -> Iterator[Host]:
        queued = {record.host for record in self.records.values() if record.state == UrlState.QUEUED}
        return (host for key, host in self.by_key.items() if host.active or key in queued)

    def _number(self, state: UrlState) -> int:
        return sum(record.state == state for record in self.records.values())

    queued = property(lambda self: self._number(UrlState.QUEUED))
    fetched = property(lambda self: self._number(UrlState.FETCHED))
    failed = property(lambda self: self._number(UrlState.FAILED))
    excluded = property(lambda self: self._number(UrlState.EXCLUDED))
    requisites = property(lambda self: self._number(UrlState.REQUISITE))
    known = property(lambda self: len(self.records))
