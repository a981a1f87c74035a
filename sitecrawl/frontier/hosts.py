"""A host: its queue, its politeness state, its counts.

Politeness is Mercator's (Heydon and Najork 1999, "Mercator: A scalable, extensible Web crawler", §3.2): one
connection a host, and after a download that took t seconds nothing more for `factor * t` seconds, so that a slow
server is asked less often. A fixed delay, a robots.txt `Crawl-delay` and `Retry-After` are lower bounds on top.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sitecrawl.errors import CorruptFile
from sitecrawl.frontier.queue import DiskQueue

_HEAD = struct.Struct(">QQQd")


@dataclass(frozen=True, slots=True)
class PolitenessOptions:
    """How hard the crawl may press on one host."""

    delay: float = 0.0
    """Least pause between the end of a download and the start of the next on one host, in seconds."""
    delay_factor: float = 10.0
    """The pause is also at least so many times the last download's time; 0 for none."""
    max_delay: float = 60.0
    """What `delay_factor` and failures can make of the pause at the most, in seconds."""
    per_host: int = 1
    """Requests under way on one host."""
    per_ip: int = 8
    """Requests under way on one IP address, over all of its hosts; 0 for no limit."""
    failure_delay: float = 1.0
    """Pause after a failed download, in seconds; doubled by every further failure in a row."""
    max_failures: int = 10
    """Failed downloads in a row after which a host counts as dead and what waits for it fails; 0 for never."""
    max_first_failures: int = 3
    """The same for a host that has never answered."""


class Host:
    """One host (host:port) that the crawl knows. Times are on the frontier's clock, in seconds."""

    __slots__ = (
        "active",
        "crawl_delay",
        "failures",
        "fetched",
        "free_at",
        "ip",
        "key",
        "known",
        "name",
        "queue",
        "queued",
        "ticket",
        "volatile",
    )

    def __init__(self, key: bytes, name: str, queue: DiskQueue) -> None:
        self.key = key
        self.name = name
        self.queue = queue
        self.known = 0
        """URLs of this host that were ever queued."""
        self.queued = 0
        """Of these, how many are not done: waiting or in flight."""
        self.volatile = 0
        """Of the queued, how many are in memory only."""
        self.fetched = 0
        self.active = 0
        """Requests under way."""
        self.failures = 0
        """Failed downloads since the last that worked."""
        self.crawl_delay = 0.0
        self.free_at = 0.0
        """No request may start before."""
        self.ip: str | None = None
        self.ticket = 0
        """Which entry of the workbench stands for this host; older ones are void."""

    def start(self, now: float, options: PolitenessOptions) -> None:
        self.active += 1
        self.free_at = max(self.free_at, now + max(options.delay, self.crawl_delay))

    def finish(self, now: float, seconds: float, options: PolitenessOptions) -> None:
        """A download that took `seconds` has ended."""
        self.active -= 1
        slow = min(options.delay_factor * seconds, options.max_delay)
        self.free_at = max(self.free_at, now + max(options.delay, self.crawl_delay, slow))

    def fail(self, now: float, options: PolitenessOptions) -> None:
        """The download failed, or the host said that it is too busy: leave it alone, twice as long each time."""
        self.failures += 1
        pause = min(options.failure_delay * 2 ** min(self.failures - 1, 30), options.max_delay)
        self.free_at = max(self.free_at, now + pause)

    @property
    def is_idle(self) -> bool:
        return self.queued == 0 and self.active == 0

    def is_dead(self, options: PolitenessOptions) -> bool:
        patience = options.max_failures if self.fetched else min(options.max_first_failures, options.max_failures)
        return 0 < patience <= self.failures

    def pack(self) -> bytes:
        queued = self.queued - self.volatile
        return _HEAD.pack(self.known, queued, self.fetched, self.crawl_delay) + self.name.encode()

    @classmethod
    def unpack(cls, key: bytes, data: bytes, queue: DiskQueue) -> Host:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            known, queued, fetched, crawl_delay = _HEAD.unpack_from(data)
            host = cls(key, data[_HEAD.size :].decode(), queue)
        except (struct.error, ValueError) as error:
            raise CorruptFile(f"A host record of {len(data)} bytes cannot be read: {error}") from error
        host.known, host.queued, host.fetched = known, queued, fetched
        host.crawl_delay = crawl_delay
        return host
