"""Breadth first, host by host: in which order a crawl would fetch a host that does nothing else.

It is that of the tree in which each URL hangs from the page of its host that was the first to link to it. The URLs
that a page has brought are filed when breadth first has come to that page, and not when another order has fetched it:
otherwise what is fetched early would put its own links before those of all pages that it has overtaken, and breadth
first would go where the others went. What no page of the host has brought (seeds, what other hosts link to, links
that a later visit of a page finds) is filed at once.

It is an index beside the queue, whose ranks say nothing of this order. It is read from the front alone, so nothing is
taken out of it when a URL is fetched: whatever is done by then is *passed* over, and counted. So `Host.passed` says
how far breadth first would be that had fetched the same pages, however few of them it has picked itself.

Layout, of fingerprints 16 bytes each. An empty row of a page says that its turn has been, and it has yet to be read:

    levels    host 8 | place  →  fingerprints that are next, up to `ROW`
    children  host 8 | fingerprint of a page 16  →  those that it has brought, until its turn has come

Rows are written with the checkpoint that writes their URLs; of the one that is being read what is left is written
again, so that a crash counts nothing twice. What pages have brought is looked up in batches: at a checkpoint for all
that were read since, and for a row when it is begun.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.urls.fingerprint import SIZE

FAMILY: Final = "levels"
ROW: Final = 64
"""Fingerprints in a row: as many as a page has new links, about."""
FRONTS: Final = 4096
"""Hosts of which the front is in memory, about 1 kB each; of others it is read again, which takes 100 us."""
_PLACE = struct.Struct(">IH")
"""How many URLs had been passed when the row was begun, and its number among those that were begun then."""
_FIRST: Final = 1 << 31
"""Places of before this layout, of a level and a serial number, are less."""
_MOST: Final = 1 << 16
"""Rows that can be begun while none is passed; what comes then stands as if one had been."""


class Front:
    """Where breadth first stands on one host, in memory."""

    __slots__ = ("at", "brought", "left", "number", "open", "queue", "row", "since")

    def __init__(self, queue: DiskQueue, since: int) -> None:
        self.queue = queue
        """The rows' places."""
        self.since = since
        """How many URLs had been passed when it came into memory: rows that were begun then may be on disk. -1 for a
        new host.
        """
        self.row = b""
        """The place of the row that is being read, if one is."""
        self.left: list[bytes] = []
        """What is left of it, the next one last."""
        self.brought: dict[bytes, bytes | None] = {}
        """What the database has in `children` for the pages of that row, by key."""
        self.open: bytes | None = None
        """The place of the last row, if URLs may be added to it: no page's, neither on disk, nor being read."""
        self.at = -1
        """How many URLs had been passed when the last row was begun."""
        self.number = 0
        """Its number among those."""


class Breadth:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Overlay(database, FAMILY)
        self._children = Overlay(database, "children")
        self._fronts: dict[bytes, Front] = {}
        self._changed: dict[bytes, Front] = {}
        """By the host's key, both."""
        self._brought: dict[bytes, tuple[Host, list[bytes]]] = {}
        """What pages have brought since the checkpoint, by their keys in `children`."""
        self._read: set[bytes] = set()
        """Such keys of pages that have been read since."""

    def add(self, host: Host, urls: Sequence[bytes]) -> None:
        """URLs of `host` have been found, by no page of it: these are their fingerprints."""
        front = self._front(host, is_first=host.known == 1)
        for url in urls:
            row = b"" if front.open is None else self._rows.get(host.key + front.open) or b""
            if front.open is None or len(row) >= ROW * SIZE:
                row = b""
                front.open = self._begin(host, front)
            self._rows.put(host.key + front.open, row + url)
        self._changed[host.key] = front

    def bring(self, host: Host, page: bytes, urls: Sequence[bytes]) -> None:
        """A page of `host` is the first to link to these URLs of it; all are fingerprints."""
        self._brought.setdefault(host.key + page, (host, []))[1].extend(urls)

    def read(self, host: Host, page: bytes) -> None:
        """A page of `host` has been read: it brings nothing more."""
        self._read.add(host.key + page)

    def next(self, host: Host) -> bytes | None:
        """The fingerprint of the URL that is next, done or not; None where there is none."""
        front = self._front(host)
        if (url := self._first(host, front)) is None and self._brought:
            self._settle()
            url = self._first(host, front)
        return url

    def _first(self, host: Host, front: Front) -> bytes | None:
        while (place := front.queue.peek()) is not None:
            if place != front.row:
                self._put_back(front)
                row = self._rows.get(host.key + place) or b""
                front.row = place
                front.left = [row[at : at + SIZE] for at in range(0, len(row), SIZE)][::-1]
                front.brought = self._stored([host.key + url for url in front.left])
                if place == front.open:
                    front.open = None
            if front.left:
                return front.left[-1]
            front.queue.pop()
            self._rows.delete(host.key + place)
            front.row = b""
            self._changed[host.key] = front
        return None

    def pass_over(self, host: Host, *, is_read: bool) -> None:
        """What `next` gave is done, or under way; `is_read` if it brings nothing more. What it has brought is next
        behind all that is filed.
        """
        front = self._front(host)
        page = host.key + front.left.pop()
        host.passed += 1
        stored = self._children.get(page) if self._children.has_changed(page) else front.brought.get(page)
        brought = (stored or b"") + b"".join(self._brought.pop(page, (host, []))[1])
        for at in range(0, len(brought), ROW * SIZE):
            self._rows.put(host.key + self._begin(host, front), brought[at : at + ROW * SIZE])
        if not is_read:
            self._children.put(page)
        elif stored is not None:
            self._children.delete(page)
        self._changed[host.key] = front

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        """What `children` has for `keys`."""
        ask = [key for key in keys if not self._children.has_changed(key)]
        found = dict(zip(ask, self._database.get_many("children", ask), strict=True)) if ask else {}
        return found | {key: self._children.get(key) for key in keys if key not in found}

    def _settle(self) -> None:
        """File what pages have brought, or keep it until their turn."""
        if not self._brought and not self._read:
            return
        stored = self._stored([*(self._brought.keys() | self._read)])
        for key, (host, urls) in self._brought.items():
            row = stored[key]
            if row == b"":
                self.add(host, urls)
                continue
            row = (row or b"") + b"".join(urls)
            self._children.put(key, row)
            front = self._fronts.get(host.key)
            if front is not None and key in front.brought:
                front.brought[key] = row
        for key in self._read:
            if stored[key] == b"":
                self._children.delete(key)
        self._brought.clear()
        self._read.clear()

    def _begin(self, host: Host, front: Front) -> bytes:
        """The place of a new row, behind all others."""
        if front.at < host.passed:
            is_known = front.since < host.passed  # all rows of its are of this front
            front.at, front.number = (host.passed, -1) if is_known else self._last(host)
        front.number += 1
        if front.number == _MOST:
            front.at, front.number = front.at + 1, 0
        place = _PLACE.pack(_FIRST | front.at, front.number)
        front.queue.push(place)
        front.open = None
        return place

    def _last(self, host: Host) -> tuple[int, int]:
        """When the last row of `host` on disk was begun, and its number; or that none has been begun by now."""
        key = self._database.last_key(FAMILY, host.key)
        at, number = _PLACE.unpack(key[len(host.key) :]) if key is not None else (0, 0)
        return (at ^ _FIRST, number) if at >= _FIRST | host.passed else (host.passed, -1)

    def _front(self, host: Host, *, is_first: bool = False) -> Front:
        """`is_first`: no URL of the host was ever added."""
        front = self._fronts.get(host.key)
        if front is None:
            queue = DiskQueue(self._database, host.key, empty=is_first, family=FAMILY)
            front = self._fronts[host.key] = Front(queue, -1 if is_first else host.passed)
        return front

    def _put_back(self, front: Front) -> None:
        if front.row:
            self._rows.put(front.queue.prefix + front.row, b"".join(reversed(front.left)))

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        self._settle()
        for front in self._changed.values():
            self._put_back(front)
            front.open = None
        self._rows.flush(batch)
        self._children.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk: forget what memory need not hold."""
        for front in self._changed.values():
            front.queue.trim()
        if len(self._fronts) > FRONTS:
            self._fronts = dict(self._changed)
        self._changed = {}
        self._rows.flushed()
        self._children.flushed()
