"""A section: the URLs of one shape on one host, their queue, and what has been learnt of them.

Every demotion must be explainable, so a section keeps four numbers that an operator can judge by (`known`,
`fetched`, `good`, `own`), the last few URLs that were fetched of it, and, since when it has been demoted, why. What a
section is worth is reckoned in `worth`.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.options import ENOUGH, MATTERS
from sitecrawl.frontier.urls.trap_state import TRAP_BYTES, TrapState

KEY_BYTES: Final = 4
_HEAD = struct.Struct(">QQQQ8xQdddddddd4s")
"""In the 8 bytes that are skipped older crawls have how many URLs look like a trap's."""
_BROUGHT = struct.Struct(f">{KEY_BYTES}sQ")
MAX_BROUGHT: Final = 32
REQUISITES: Final = "requisites"
"""What stands in the place of a shape where a host's requisites are: the parts of pages, of its own and of others."""
_SAMPLE = struct.Struct(">16s?")
SAMPLES: Final = 3
"""URLs that were fetched last of a section and that it knows by name: 17 bytes each, in memory and on disk."""
PRIOR: Final = 1.0
"""Fetches that count for what is believed of a section beforehand."""
DOUBT: Final = 2.0
"""Fetches that a section is doubted for where others are to be paid for leading to it."""
_KEPT = 1 - 1 / ENOUGH
"""Of what was learnt so much counts after a further fetch."""


@dataclass(slots=True, eq=False)
class Section:
    """See the module. `key` is 12 bytes: the host's key and the shape's hash."""

    key: bytes
    shape: str
    queue: DiskQueue
    known: int = 0
    """URLs of it that were ever queued; of requisites none, for they are no pages."""
    own: int = 0
    """Of these, those that were first seen on a page of its own circle."""
    fetched: int = 0
    """Visits that came to an end with or without a response."""
    good: int = 0
    """Of these, those that gave a page worth having, or led to a new one."""
    queued: int = 0
    """URLs that are not done: waiting or in flight."""
    volatile: int = 0
    """Of the queued, how many are in memory only."""
    trials: float = 0.0
    """Fetches of it, old ones for less: one that is `ENOUGH` fetches old counts 1/e."""
    successes: float = 0.0
    """Of these, the good ones."""
    read: float = 0.0
    """Good pages whose text was looked at, old ones for less (`drought`). Not stored, as what was shown is not."""
    told: float = 0.0
    """Of these, those that said something new. Not stored."""
    leads: float = 0.0
    """What the sections have shown that a fetch of it leads to, averaged over `ENOUGH`: see `News.leads`."""
    led: float = 0.0
    """The share of fetches that led to any new URL outside of its circle, averaged over `ENOUGH`."""
    received: float = 0.0
    """Credit that has come to its URLs along links."""
    asked: int = 0
    """Fetches of it since its host's last row that was not dry (`drought`)."""
    looked_at: int = 0
    """Of these, those of which it is known whether they said something new."""
    news: int = 0
    """Of the first, those that did, as far as is known."""
    says_new: bool = True
    """Whether the last page of it did whose text was looked at."""
    turn: float = -1.0
    """When its next turn ends, on its host's virtual clock; a time that has passed if nothing of it waited."""
    hope: float = 1.0
    """The share of good pages that is expected of the next fetches."""
    worth: float = 1.0
    """From 0 to 1, not including 0: its share of its host's turns, beside those of the other sections."""
    cost: float = 1.0
    """Time of a fetch of it, in times of what is usual for its host, 1 at the least, averaged over `ENOUGH`. Not
    stored.
    """
    brought: dict[bytes, int] = field(default_factory=dict)
    """How many URLs its pages brought first, by the second part of their section's key: the `MAX_BROUGHT` largest."""
    last: bytes = b""
    """The URLs that were fetched last, packed: see `fetched_last`."""
    circle: bytes = field(init=False)
    """The sections that it grows with, by the name of their circle: see `circles`."""
    feeder: bytes = field(init=False)
    """The key of the section of its host whose pages brought most of it first; its own until that is known."""
    trap: TrapState = field(default_factory=TrapState)
    is_requisites: bool = field(init=False)
    """Whether it is that of its host's requisites, which nobody judges."""

    def __post_init__(self) -> None:
        self.is_requisites = self.shape == REQUISITES
        self.circle = self.key[-KEY_BYTES:]
        self.feeder = self.key

    def bring(self, section: bytes) -> None:
        """A page of it has brought a URL of its host's `section` first."""
        self.brought[section] = self.brought.get(section, 0) + 1
        if len(self.brought) > 2 * MAX_BROUGHT:
            self.brought = dict(nlargest(MAX_BROUGHT, self.brought.items(), key=itemgetter(1)))

    def be_fed(self, feeder: bytes) -> None:
        """The section with the key `feeder` has brought most of it: links from there show whether it has an end."""
        if self.feeder != feeder:
            self.feeder = feeder
            self.trap.begin_anew(self.known)

    def learn(self, *, good: bool, is_new: bool | None = None, leads: float = 0.0, led: bool = False) -> None:
        """A visit of it has come to an end. `is_new`: whether the page said something new, None if nobody looked."""
        self.show(good=good)
        if good and is_new is not None:
            self.read = self.read * _KEPT + 1
            self.told = self.told * _KEPT + is_new
        fetches = min(ENOUGH, self.fetched + 1)
        self.leads += (leads - self.leads) / fetches
        self.led += (led - self.led) / fetches
        self.fetched += 1
        self.good += good

    def look(self, *, good: bool, is_new: bool | None) -> bool:
        """Whether a fetch said something new: a page that nobody has looked at counts as the last one did."""
        if good and is_new is not None:
            self.says_new = is_new
        said = is_new if is_new is not None else good and self.says_new
        self.asked += 1
        self.looked_at += not good or is_new is not None
        self.news += said
        return said

    def spend(self, times: float) -> None:
        """A fetch of it has taken so many times as long as is usual for its host, whatever it brought."""
        self.cost += (max(times, 1.0) - self.cost) / min(ENOUGH, self.fetched + 1)

    def show(self, *, good: bool) -> None:
        """An attempt at it has shown so much of what it is worth."""
        self.trials = self.trials * _KEPT + 1
        self.successes = self.successes * _KEPT + good

    def remember(self, url: bytes, *, good: bool) -> None:
        """The URL with the fingerprint `url` was fetched last, and was worth it or not."""
        self.last = (_SAMPLE.pack(url, good) + self.last)[: SAMPLES * _SAMPLE.size]

    @property
    def fetched_last(self) -> Iterator[tuple[bytes, bool]]:
        """The fingerprints of the last `SAMPLES` URLs that were fetched, the last first, and which were worth it."""
        return _SAMPLE.iter_unpack(self.last)

    @property
    def hits(self) -> float:
        """Of `trials`, those that gave a good page which says something new, as far as texts were looked at."""
        return self.successes * (self.told + PRIOR) / (self.read + PRIOR)

    @property
    def shown(self) -> float:
        """The share of hits that it has shown of late, from 0 to 1; nothing where it is untried."""
        return self.hits / (self.trials + DOUBT)

    @property
    def recent(self) -> float:
        """Of late, the share of fetches that brought something: a good page, or the way to one."""
        return max(self.successes / self.trials if self.trials else 1.0, self.leads)

    @property
    def gives(self) -> bool:
        """Whether more than `MATTERS` of its fetches, of late, gave a good page."""
        return self.successes > MATTERS * self.trials

    def pack(self) -> bytes:
        head = _HEAD.pack(
            self.known,
            self.fetched,
            self.good,
            self.queued - self.volatile,
            self.own,
            self.trials,
            self.successes,
            self.leads,
            self.led,
            self.received,
            self.turn,
            self.hope,
            self.worth,
            self.circle,
        )
        largest = nlargest(MAX_BROUGHT, self.brought.items(), key=itemgetter(1))
        brought = b"".join(itertools.starmap(_BROUGHT.pack, largest))
        lists = bytes([len(largest)]) + brought + bytes([len(self.last) // _SAMPLE.size]) + self.last
        return head + self.trap.pack() + lists + self.shape.encode()

    @classmethod
    def unpack(cls, key: bytes, data: bytes, queue: DiskQueue) -> Section:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            numbers = _HEAD.unpack_from(data)
            trap = TrapState.unpack(data[_HEAD.size : _HEAD.size + TRAP_BYTES])
            start = _HEAD.size + TRAP_BYTES + 1
            end = start + data[start - 1] * _BROUGHT.size
            shape = end + 1 + data[end] * _SAMPLE.size
            section = cls(key, data[shape:].decode(), queue)
            section.brought = dict(_BROUGHT.iter_unpack(data[start:end]))
            section.last = b"".join(itertools.starmap(_SAMPLE.pack, _SAMPLE.iter_unpack(data[end + 1 : shape])))
        except (struct.error, ValueError, IndexError) as error:
            raise CorruptFile(f"A section record of {len(data)} bytes cannot be read: {error}") from error
        section.known, section.fetched, section.good, section.queued = numbers[:4]
        section.own, section.trials, section.successes, section.leads, section.led = numbers[4:9]
        section.received, section.turn, section.hope, section.worth, section.circle = numbers[9:]
        section.trap = trap
        return section
