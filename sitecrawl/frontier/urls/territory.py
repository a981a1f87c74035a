"""Which part of the web a frontier has, where many frontiers share one crawl, and what it tells the others.

Sites are cut into *partitions* by the regions that their keys begin with (`urls.fingerprint`), as Mercator's host
splitter did (Heydon and Najork 1999, section 3.7): all that is known of a site is in one partition, so one frontier
judges it, is polite to it and knows which of its URLs were seen. What a page here says of a URL elsewhere is a
`Message`. It takes along the credit that was spent on the link: no credit is made or lost on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import REGION_SIZE

_REGIONS: Final = 1 << 8 * REGION_SIZE


@dataclass(frozen=True, slots=True)
class Territory:
    """The partitions `held` of so many, each with its counts. Those of a region are next to those of the next one."""

    partitions: int
    held: Mapping[int, PartCounts]

    def partition(self, key: bytes) -> int:
        """Where a key of a URL or a host belongs, by its first bytes."""
        return int.from_bytes(key[:REGION_SIZE], "big") * self.partitions // _REGIONS

    def has(self, key: bytes) -> bool:
        return self.partition(key) in self.held

    def counts(self, key: bytes) -> PartCounts:
        """Those of the partition of a key, which is held."""
        return self.held[self.partition(key)]

    def source(self, message: Message) -> int | None:
        """The partition of the page that a message comes from, if that is held."""
        partition = self.partition(message.referrer)
        return partition if partition in self.held and message.referrer != NO_REFERRER else None

    def regions(self, partition: int) -> range:
        """The regions of a partition."""
        first, end = (-(-number * _REGIONS // self.partitions) for number in (partition, partition + 1))
        return range(first, end)


class Message(NamedTuple):
    """A URL that was found or asked for in one frontier, for the one that has its site."""

    link: Link
    depth: int
    referrer: bytes = NO_REFERRER
    tenth: int | None = None
    """What a tenth of a page's link to it is worth; None where no page's link leads to it."""
    credit: int = 0
    """What it brings as a seed, if it is new where it comes to: no ledger has it before."""
    flags: int = Flag.NONE
    request: bytes | None = None
    """What its request is beside a GET."""

    @property
    def amount(self) -> int:
        """The credit that was spent on it, and is on its way with it."""
        return (self.tenth or 0) * self.link.weight

    def fields(self) -> Sequence[Any]:
        """For MessagePack."""
        link = self.link
        target = [link.url, link.host, link.nofollow, link.priority, link.score, link.key]
        return [*target, *self[1:]]

    @classmethod
    def of(cls, fields: Sequence[Any]) -> Message:
        """The message whose `fields` these are. Raises `ValueError` or `TypeError` for others."""
        url, host, nofollow, priority, score, key, depth, referrer, tenth, credit, flags, request = fields
        link = Link(url, host, "", "a", nofollow, priority, score, key)  # names cost twice as much, for each message
        return cls(link, depth, referrer, tenth, credit, flags, request)


class Outbox:
    """Messages for other frontiers, by the partition that they are for, until the next checkpoint takes them."""

    def __init__(self, territory: Territory) -> None:
        self._territory = territory
        self._waiting: defaultdict[int, list[Message]] = defaultdict(list)
        self._copies: defaultdict[tuple[int, int], list[Message]] = defaultdict(list)

    def split(self, links: Iterable[Link]) -> tuple[list[Link], list[Link]]:
        """Those that are here, and those elsewhere."""
        here: list[Link] = []
        sent: list[Link] = []
        partition, held = self._territory.partition, self._territory.held
        for link in links:
            (here if partition(link.key) in held else sent).append(link)
        return here, sent

    def add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._waiting[self._territory.partition(message.link.key)].append(message)

    def copy(self, message: Message) -> None:
        """A page here has led to a URL here, which is known by now. If they are in two partitions, one of them may be
        lost to another frontier before anybody else has heard of the URL.
        """
        source, target = self._territory.source(message), self._territory.partition(message.link.key)
        if source is not None and source != target:
            tenth = None if message.tenth is None else 0  # its credit has come already
            self._copies[source, target].append(message._replace(tenth=tenth, credit=0))

    def take_copies(self) -> dict[tuple[int, int], list[Message]]:
        """All that were copied, by the partitions of the page and of the URL."""
        taken, self._copies = self._copies, defaultdict(list)
        return taken

    def take(self) -> dict[int, list[Message]]:
        """All that waits; the caller keeps it from now on."""
        taken, self._waiting = self._waiting, defaultdict(list)
        return taken
