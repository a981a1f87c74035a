"""In which order URLs are fetched.

Every queued URL has a rank of 12 bytes; inside a section the least comes first. Bytes compare as bytes:

    priority 4 | level 2 | place 6

- *priority*: what a spider asked for with `Request(priority=...)` or `Link.priority`, the greatest first. So a spider
  that knows what it wants, as the focused one does, decides first, and the order between URLs that it wants alike.
- *level*: the depth, where the crawl goes level by level; 0 otherwise.
- *place*: first come first served, the last first, the most credit first, or the best score first.

Between sections and hosts the rank decides as well, but for `aopic`, where they take turns (`turns`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from sitecrawl.base.errors import OptionError, meant

_RANK = struct.Struct(">IHHI")
_FLOAT = struct.Struct(">d")
_QUAD = struct.Struct(">Q")
_LAST_PLACE = (1 << 48) - 1
_CREDITS = 1 << 64
"""What `AopicPublished` can tell apart, in steps of 2^16 units: credit without dividends, from -2^63 to 2^63."""
_LAST_FLOAT = (1 << 64) - 1
_MIDDLE = 1 << 31
_LINK = _MIDDLE.to_bytes(4, "big")
"""The first bytes of the rank of a URL with priority 0."""
LEVEL_ENDS: Final = 6
"""Bytes of a rank up to its place: priority and level."""
LINK_LEVEL: Final = _LINK + bytes(2)
"""The first bytes of the rank of a URL that nobody wants sooner or later than others."""
CLASS_ENDS: Final = 8
"""Bytes of a rank of `Aopic` up to the serial number: what has as much credit, has these alike."""
FIRST: Final = _MIDDLE
"""The priority of what goes before all that spiders want: the requisites of pages that have been fetched."""
_TOP_CLASS = 0xFFFF
_GREATEST_CLASS = 2 * 63
"""Of credit, which fits into 63 bits; ranks of other orders name greater ones."""


class Facts(NamedTuple):
    """What an order may look at."""

    depth: int
    serial: int
    """It is the so-many-th URL that the crawl came to know."""
    priority: int = 0
    credit: int = 0
    score: float = 0.0
    """The spider's own: greater is better."""
    before: bytes = b""
    """The rank that it had, if it has been in the queue: the spider's score is in it."""
    paid: int = 0
    """What the lambda page has paid to every page that waits since the crawl began, in units of credit."""


class Order(Protocol):
    """Gives URLs their rank."""

    name: str
    by_level: bool
    """Ranks grow with depth, so a depth limit can be kept exactly."""
    by_credit: bool
    """Ranks change with credit, and sections that look like traps are held back."""
    takes_turns: bool
    """Hosts and sections take turns (`turns`), and ranks rule inside a section; else they rule over all."""
    is_exact: bool
    """By credit as it is, and not by classes; the lambda page pays all pages alike."""

    def rank(self, facts: Facts) -> bytes: ...


class _ByRank:
    """The ranks rule, as if there was one queue."""

    by_credit = False
    takes_turns = False
    is_exact = False


class BreadthFirst(_ByRank):
    """What was found first is fetched first, level by level."""

    name = "bfs"
    by_level = True

    def rank(self, facts: Facts) -> bytes:
        return _pack(facts.priority, facts.depth, facts.serial)


class DepthFirst(_ByRank):
    """What was found last is fetched first, as in Scrapy's own queues."""

    name = "dfs"
    by_level = False

    def rank(self, facts: Facts) -> bytes:
        return _pack(facts.priority, 0, _LAST_PLACE - facts.serial)


class BestFirst(_ByRank):
    """What the spider scored best is fetched first."""

    name = "best"

    def __init__(self, *, by_level: bool = False) -> None:
        self.by_level = by_level

    def rank(self, facts: Facts) -> bytes:
        level = facts.depth if self.by_level else 0
        if facts.before:
            return _pack(facts.priority, level, int.from_bytes(facts.before[6:], "big"))
        # Doubles sort like integers once the sign is out of the way; 16 bits of the 64 are left to the serial.
        (bits,) = _QUAD.unpack(_FLOAT.pack(facts.score))
        ordered = (bits ^ _LAST_FLOAT) if bits >> 63 else (bits | 1 << 63)
        return _pack(facts.priority, level, (_LAST_FLOAT - ordered) >> 16)


class Aopic:
    """What has the most credit is fetched first, by classes of half an octave; of one class, what was found first.

    Classes keep a URL's place on disk while its credit grows a little, so that a link to a queued URL costs a
    write to the queue only when a class is crossed.
    """

    name = "aopic"
    by_credit = True
    takes_turns = True
    is_exact = False

    def __init__(self, *, by_level: bool = False) -> None:
        self.by_level = by_level

    def rank(self, facts: Facts) -> bytes:
        level = facts.depth if self.by_level else 0
        place = (_TOP_CLASS - credit_class(facts.credit)) << 32 | facts.serial & 0xFFFFFFFF
        return _pack(facts.priority, level, place)


class AopicPublished(_ByRank):
    """AOPIC as it was published: the richest page of all that may be asked for, and any of those that are as rich.

    What the lambda page pays, all that wait get alike: it changes no place, so places are told by credit without it.
    Equal ranks are told apart by the fingerprint behind them, which is keyed with a random number of the crawl's.
    """

    name = "aopic-published"
    by_level = False
    by_credit = True
    is_exact = True

    def rank(self, facts: Facts) -> bytes:
        ordered = min(max(facts.credit - facts.paid + (_CREDITS >> 1), 0), _CREDITS - 1)
        return _pack(facts.priority, 0, _LAST_PLACE - (ordered >> 16))


def exact_credit(entry: bytes, paid: int) -> int:
    """What a page holds by its entry in the order `AopicPublished`, but for 2^16 units; `paid` as in `Facts`."""
    return ((_LAST_PLACE - int.from_bytes(entry[6:12], "big")) << 16) - (_CREDITS >> 1) + paid


def credit_class(credit: int) -> int:
    """Half octaves: twice the binary logarithm, rounded down, and one; 0 for no credit."""
    return (credit * credit).bit_length() if credit > 0 else 0


def class_credit(entry: bytes) -> float:
    """The least credit of the class that an entry's rank names."""
    number = min(class_of(entry), _GREATEST_CLASS)
    return 2.0 ** ((number - 1) / 2) if number else 0.5


def class_of(rank: bytes) -> int:
    """The class of credit that a rank of `Aopic` names."""
    return _TOP_CLASS - int.from_bytes(rank[6:8], "big")


def serial_of(rank: bytes) -> int:
    """The serial number that a rank of `Aopic` ends with."""
    return int.from_bytes(rank[8:12], "big")


def level_of(rank: bytes) -> int:
    return int.from_bytes(rank[4:6], "big")


def goes_first(rank: bytes) -> bool:
    """Whether a spider wants this URL before any link, on whatever level."""
    return rank[:4] < _LINK


def goes_last(rank: bytes) -> bool:
    """Whether a spider wants this URL after all links, on whatever level."""
    return rank[:4] > _LINK


def priority_of(rank: bytes) -> int:
    return _MIDDLE - int.from_bytes(rank[:4], "big")


def with_priority(rank: bytes, priority: int) -> bytes:
    """The rank of the same URL if it had been asked for with `priority`."""
    return _upside_down(priority).to_bytes(4, "big") + rank[4:]


def raised_rank(rank: bytes, credit: int) -> bytes | None:
    """The rank of `Aopic` of the same URL with so much credit, if that is less; else None."""
    its_class = credit_class(credit)
    if its_class <= class_of(rank):
        return None
    return rank[:LEVEL_ENDS] + (_TOP_CLASS - its_class).to_bytes(2, "big") + rank[CLASS_ENDS:]


def _upside_down(priority: int) -> int:
    return min(max(_MIDDLE - priority, 0), 0xFFFFFFFF)


def _pack(priority: int, level: int, place: int) -> bytes:
    return _RANK.pack(_upside_down(priority), min(level, 0xFFFF), place >> 32, place & 0xFFFFFFFF)


ORDERS: Final[dict[str, Callable[[bool], Order]]] = {
    "aopic": lambda by_level: Aopic(by_level=by_level),
    "aopic-published": lambda _: AopicPublished(),
    "best": lambda by_level: BestFirst(by_level=by_level),
    "bfs": lambda _: BreadthFirst(),
    "dfs": lambda _: DepthFirst(),
}


def order_named(name: str, *, by_level: bool = False) -> Order:
    """The order called `name`; `by_level` if a depth limit is to be exact. Raises `OptionError`."""
    try:
        return ORDERS[name](by_level)
    except KeyError:
        known = ", ".join(sorted(ORDERS))
        raise OptionError(f"There is no order {name!r}: choose one of {known}{meant(str(name), ORDERS)}") from None
