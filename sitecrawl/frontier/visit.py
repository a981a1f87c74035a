"""What goes into a frontier, and what comes out."""

from __future__ import annotations

from typing import NamedTuple

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.order import priority_of
from sitecrawl.frontier.record import Flag, UrlRecord

FOLLOW, NOFOLLOW = 10, 1
"""What a link counts, in tenths."""


class NewUrl(NamedTuple):
    """A URL that someone found: `key` is its fingerprint, `host` its host:port."""

    key: bytes
    url: str
    host: str
    nofollow: bool = False
    score: float = 0.0
    """The spider's own, for the order `best`."""
    priority: int = 0
    """The spider's own, for every order: the greatest first."""

    @property
    def weight(self) -> int:
        return NOFOLLOW if self.nofollow else FOLLOW


class Visit:
    """A URL in flight."""

    def __init__(self, key: bytes, record: UrlRecord, host: Host, request: bytes | None) -> None:
        self.key = key
        self.url = record.url
        self.depth = record.depth
        self.referrer = record.referrer
        self.attempts = record.attempts
        self.priority = priority_of(record.rank)
        self.dead = False
        """Its host was given up: nothing is to be asked, and whoever waits is to be told."""
        self.volatile = bool(record.flags & Flag.VOLATILE)
        self.again = bool(record.flags & Flag.AGAIN)
        """It had come to its end before, and was queued once more."""
        self.host: Host | None = host
        """None once the download has ended: the host is free, the page is not yet safe."""
        self.ip = host.ip
        """The address that the host's seat was taken on."""
        self.request = request
        """The rest of a request that is more than a GET."""
        self.news = (0, 0)
        """New URLs that the page brought: of its section, and of its host."""
