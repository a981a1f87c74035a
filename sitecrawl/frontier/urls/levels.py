"""Breadth first, host by host: its URLs by their distance from a seed, then in the order in which they were found.

An index beside the queue, whose ranks say nothing of distance. It is read from the front alone, so nothing is taken
out of it when a URL is fetched: whatever is done by then is *passed* over, and counted. So `Host.passed` says how far
breadth first would be that had fetched the same pages, however few of them it has picked itself.

Layout of the `levels` family, some thirty bytes a URL less than a row for each would take:

    host 8 | level 2 | serial number of the first URL 4  →  fingerprints of up to `ROW` URLs, 16 each

A URL keeps the level at which it was found first. Rows are written with the checkpoint that writes their URLs; of the
one that is being read what is left is written again, so that a crash counts nothing twice.
"""

from __future__ import annotations

import struct
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.queue.disk_queue import DiskQueue
from sitecrawl.urls.fingerprint import SIZE

FAMILY: Final = "levels"
ROW: Final = 64
"""Fingerprints in a row: as many as a page has new links, about."""
FRONTS: Final = 4096
"""Hosts of which the front is in memory, about 1 kB each; of others it is read again, which takes 100 us."""
_PLACE = struct.Struct(">HI")
PLACE_BYTES: Final = _PLACE.size


class Front:
    """Where breadth first stands on one host, in memory."""

    __slots__ = ("left", "open", "queue", "row")

    def __init__(self, queue: DiskQueue) -> None:
        self.queue = queue
        """The rows' places."""
        self.row = b""
        """The place of the row that is being read, if one is."""
        self.left: list[bytes] = []
        """What is left of it, the next one last."""
        self.open: dict[int, bytes] = {}
        """By level the place of the row to which URLs may be added: none that is on disk, or being read."""


class Levels:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Overlay(database, FAMILY)
        self._fronts: dict[bytes, Front] = {}
        self._changed: dict[bytes, Front] = {}
        """By the host's key, both."""

    def add(self, host: Host, level: int, serial: int, url: bytes) -> None:
        """A URL of `host` has been found, the `serial`-th of the crawl (modulo 2^32): `url` is its fingerprint."""
        front = self._front(host, is_first=host.known == 1)
        place = front.open.get(level)
        row = b"" if place is None else self._rows.get(host.key + place) or b""
        if place is None or len(row) >= ROW * SIZE:
            place, row = _PLACE.pack(level, serial), b""
            front.open[level] = place
            front.queue.push(place)
        self._rows.put(host.key + place, row + url)
        self._changed[host.key] = front

    def next(self, host: Host) -> bytes | None:
        """The fingerprint of the URL that is next, done or not; None where there is none."""
        front = self._front(host)
        while (place := front.queue.peek()) is not None:
            if place != front.row:
                self._put_back(front)
                row = self._rows.get(host.key + place) or b""
                front.row = place
                front.left = [row[at : at + SIZE] for at in range(0, len(row), SIZE)][::-1]
                front.open = {level: one for level, one in front.open.items() if one != place}
            if front.left:
                return front.left[-1]
            front.queue.pop()
            self._rows.delete(host.key + place)
            front.row = b""
            self._changed[host.key] = front
        return None

    def pass_over(self, host: Host) -> None:
        """What `next` gave is done."""
        front = self._front(host)
        front.left.pop()
        host.passed += 1
        self._changed[host.key] = front

    def _front(self, host: Host, *, is_first: bool = False) -> Front:
        """`is_first`: no URL of the host was ever added."""
        front = self._fronts.get(host.key)
        if front is None:
            queue = DiskQueue(self._database, host.key, empty=is_first, family=FAMILY)
            front = self._fronts[host.key] = Front(queue)
        return front

    def _put_back(self, front: Front) -> None:
        if front.row:
            self._rows.put(front.queue.prefix + front.row, b"".join(reversed(front.left)))

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for front in self._changed.values():
            self._put_back(front)
            front.open.clear()
        self._rows.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk: forget what memory need not hold."""
        for front in self._changed.values():
            front.queue.trim()
        if len(self._fronts) > FRONTS:
            self._fronts = dict(self._changed)
        self._changed = {}
        self._rows.flushed()
