"""What has become of lent URLs, packed for the shards.

A parcel goes to the shard of its pages. It carries the links that stay on this shard, and for every other shard a
blob that waits in the outbox. So one step, on one shard, makes pages done and puts all they link to out of danger.

Credit: a page spends what it had when it was lent. What its links get is reckoned here, and added up over all pages
of the parcel, for most links lead to the same few URLs; what is left over stays with the shard's lambda page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import gmtime
from typing import Any, Final, NamedTuple, TypeVar

from sitecrawl.cluster.shards import pack
from sitecrawl.credit.ledger import TAX_DIVISOR
from sitecrawl.frontier.record import Flag
from sitecrawl.frontier.tables import section_key
from sitecrawl.page.items import FOLLOW
from sitecrawl.seen.clock import Clock
from sitecrawl.urls.shape import shape_of
from sitecrawl.urls.trap_signs import trap_signs

PAGES_A_PARCEL: Final = 32
LINKS_A_PARCEL: Final = 2_000
_T = TypeVar("_T")


class ParcelLink(NamedTuple):
    """A URL that something leads to, with all that its shard has to know of it."""

    key: bytes
    url: str
    host: str
    depth: int
    weight: int = FOLLOW
    """Of its share of credit, in tenths; 0 for what is no link of a page, such as a seed."""
    referrer: bytes = b""
    flags: int = 0
    priority: int = 0
    request: bytes = b""
    score: float = 0.0


@dataclass(slots=True)
class Outcome:
    """What has become of one lent URL; or, without `key`, links that come from no page."""

    key: bytes = b""
    token: int = 0
    host: str = ""
    state: int = 0
    """As `frontier.record.UrlState`; `QUEUED` puts it back."""
    status: int = 0
    good: bool = False
    credit: int = 0
    """What it had when it was lent."""
    request: bytes = b""
    priority: int = 0
    flags: int = 0
    row: int = 0
    """Where its page is in the page store; 0 for nowhere."""
    links: list[ParcelLink] = field(default_factory=list)

    def fields(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]

    @classmethod
    def of(cls, fields: Sequence[Any]) -> Outcome:
        *numbers, links = fields
        outcome = cls(*numbers)
        outcome.links = [ParcelLink(*link) for link in links]
        return outcome


@dataclass(slots=True)
class Parcel:
    """Outcomes of one shard, under one number of a stream: the shard takes them once, however often they are sent."""

    shard: int
    stream: str
    seq: int
    outcomes: list[Outcome]
    packed: dict[str, Any] | None = None
    """What goes to the shard; made when it is first sent, and kept until it has been taken."""
    keys: list[bytes] = field(default_factory=list)
    """All fingerprints in it."""

    def drop(self, stale: Iterable[int]) -> list[Outcome]:
        """Take out the pages with these numbers (from 1): their leases are over. Returns them."""
        pages = [outcome for outcome in self.outcomes if outcome.key]
        dropped = [pages[number - 1] for number in stale]
        gone = {id(outcome) for outcome in dropped}
        self.outcomes = [outcome for outcome in self.outcomes if id(outcome) not in gone]
        self.packed = None
        return dropped


class _Target(NamedTuple):
    link: ParcelLink
    page: int


class Packer:
    """Packs parcels. `known` holds fingerprints that Redis certainly knows: of these no URL need be sent."""

    def __init__(self, shard_of: Callable[[str], int], known: Clock) -> None:
        self._shard_of = shard_of
        self._known = known
        self._year = gmtime().tm_year

    def pack(self, parcel: Parcel) -> dict[str, Any]:
        """What `apply` takes; the same parcel gives the same until it is changed."""
        if parcel.packed is None:
            parcel.packed = self._pack(parcel)
        return parcel.packed

    def _pack(self, parcel: Parcel) -> dict[str, Any]:
        pages = [outcome for outcome in parcel.outcomes if outcome.key]
        numbers = {id(page): number for number, page in enumerate(pages, 1)}
        credit: dict[bytes, int] = {}
        targets: dict[bytes, _Target] = {}
        edges: dict[int, dict[str, int]] = {}
        for outcome in parcel.outcomes:
            number = numbers.get(id(outcome), 0)
            tenth = _tenth(outcome)
            for link in outcome.links:
                credit[link.key] = credit.get(link.key, 0) + tenth * link.weight
                targets.setdefault(link.key, _Target(link, number))
                if number and link.weight and link.host != outcome.host:
                    hosts = edges.setdefault(number, {})
                    hosts[link.host] = max(link.weight, hosts.get(link.host, 0))
        parcel.keys = list(targets)
        here, abroad = self._group(parcel.shard, targets, credit)
        out = {
            str(shard): pack({"links": links, "arrived": sum(entry[1] for _, entries in links for entry in entries)})
            for shard, links in abroad.items()
        }
        sent = sum(entry[1] for links in abroad.values() for _, entries in links for entry in entries)
        return {
            "stream": parcel.stream,
            "seq": parcel.seq,
            "pages": [
                [
                    page.token,
                    page.key,
                    page.host,
                    page.state,
                    page.status,
                    int(page.good),
                    page.request,
                    page.priority,
                    page.flags,
                    list(edges.get(numbers[id(page)], {}).items()),
                ]
                for page in pages
            ],
            "links": here,
            "out": out,
            "sent": sent,
            "arrived": 0,
        }

    def _group(
        self, home: int, targets: dict[bytes, _Target], credit: dict[bytes, int]
    ) -> tuple[Any, dict[int, Any]]:
        by_host: dict[str, list[Any]] = {}
        for key, target in targets.items():
            by_host.setdefault(target.link.host, []).append(self._entry(key, target, credit[key]))
        here: list[Any] = []
        abroad: dict[int, Any] = {}
        for host, entries in by_host.items():
            shard = self._shard_of(host)
            if shard == home:
                here.append([host, entries])
                continue
            # A page's number means nothing on another shard, and its hosts are others anyway.
            abroad.setdefault(shard, []).append([host, [_without_page(entry) for entry in entries]])
        return here, abroad

    def _entry(self, key: bytes, target: _Target, credit: int) -> list[Any]:
        link = target.link
        if key in self._known and not link.flags & Flag.UNFILTERED:
            self._known.touch(key)
            return [key, credit]
        shape = shape_of(link.url)
        entry = [
            key,
            credit,
            link.url,
            link.depth,
            section_key(shape),
            str(shape),
            int(bool(trap_signs(link.url, self._year))),
            target.page,
        ]
        rest = [link.flags, link.priority, link.referrer, link.request, link.score]
        while rest and not rest[-1]:
            rest.pop()
        return entry + rest

    def forget_known(self) -> None:
        """What Redis knows is no longer certain."""
        self._known.clear()

    def taken(self, parcel: Parcel) -> None:
        """The parcel's own shard has it, and the others' parts are in its outbox: its URLs are known now."""
        for key in parcel.keys:
            if key not in self._known:
                self._known.touch(key)


def _tenth(outcome: Outcome) -> int:
    """What a tenth of a link is worth, in credit: nine tenths of the page's are shared out by weight."""
    weights = sum(link.weight for link in outcome.links)
    return (outcome.credit - outcome.credit // TAX_DIVISOR) // weights if weights and outcome.key else 0


def _without_page(entry: list[Any]) -> list[Any]:
    return [*entry[:7], 0, *entry[8:]] if len(entry) > 2 else entry


class Parceler:
    """Puts what is done into parcels, each for one shard, numbered in the order in which they must go.

    `stream` names this start of the worker.
    """

    def __init__(self, stream: str, shard_of: Callable[[str], int]) -> None:
        self._stream = stream
        self._shard_of = shard_of
        self._numbers: Counter[int] = Counter()

    def parcels(self, done: Iterable[Outcome], loose: Iterable[ParcelLink]) -> list[Parcel]:
        """`loose`: links that come from no page."""
        pages: defaultdict[int, list[Outcome]] = defaultdict(list)
        for outcome in done:
            pages[self._shard_of(outcome.host)].append(outcome)
        links: defaultdict[int, list[ParcelLink]] = defaultdict(list)
        for link in loose:
            links[self._shard_of(link.host)].append(link)
        found = [self._parcel(n, some) for n, all_ in pages.items() for some in _slices(all_, PAGES_A_PARCEL)]
        found += [
            self._parcel(n, [Outcome(links=some)])
            for n, all_ in links.items()
            for some in _slices(all_, LINKS_A_PARCEL)
        ]
        return found

    def _parcel(self, shard: int, outcomes: list[Outcome]) -> Parcel:
        self._numbers[shard] += 1
        return Parcel(shard, self._stream, self._numbers[shard], outcomes)


def _slices(items: list[_T], size: int) -> Iterator[list[_T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
