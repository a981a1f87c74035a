"""What comes out of a frontier."""

from __future__ import annotations

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.order import priority_of
from sitecrawl.frontier.record import Flag, UrlRecord


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
