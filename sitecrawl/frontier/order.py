"""In which order URLs are fetched: a rank for every URL, the least first.

A rank is 12 bytes, compared as bytes:

    priority 4 | level 2 | place 6

- *priority*: what a spider asked for with `Request(priority=...)`, the greatest first.
- *level*: the depth, where the order goes level by level; 0 otherwise.
- *place*: first come first served, or the last first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Protocol

from sitecrawl.errors import OptionError

_RANK = struct.Struct(">IHHI")
_LAST_PLACE = (1 << 48) - 1
_MIDDLE = 1 << 31
_LINK = _MIDDLE.to_bytes(4, "big")
"""The first bytes of the rank of a URL with priority 0."""


class Order(Protocol):
    """Gives URLs their rank. `by_level`: ranks grow with depth, so a depth limit can be kept exactly."""

    name: str
    by_level: bool

    def rank(self, *, depth: int, priority: int, serial: int) -> bytes:
        """The rank of the `serial`-th URL that the crawl came to know."""
        ...


class BreadthFirst:
    """What was found first is fetched first, level by level."""

    name = "bfs"
    by_level = True

    def rank(self, *, depth: int, priority: int, serial: int) -> bytes:
        return _pack(priority, depth, serial)


class DepthFirst:
    """What was found last is fetched first, as in Scrapy's own queues."""

    name = "dfs"
    by_level = False

    def rank(self, *, depth: int, priority: int, serial: int) -> bytes:
        return _pack(priority, 0, _LAST_PLACE - serial)


def level_of(rank: bytes) -> int:
    return int.from_bytes(rank[4:6], "big")


def goes_first(rank: bytes) -> bool:
    """Whether a spider wants this URL before any link, on whatever level."""
    return rank[:4] < _LINK


def goes_last(rank: bytes) -> bool:
    """Whether a spider wants this URL after all links, on whatever level."""
    return rank[:4] > _LINK


def _pack(priority: int, level: int, place: int) -> bytes:
    upside_down = min(max(_MIDDLE - priority, 0), 0xFFFFFFFF)
    return _RANK.pack(upside_down, min(level, 0xFFFF), place >> 32, place & 0xFFFFFFFF)


ORDERS: Final[dict[str, Callable[[], Order]]] = {"bfs": BreadthFirst, "dfs": DepthFirst}


def order_named(name: str) -> Order:
    """The order called `name`. Raises `OptionError`."""
    try:
        return ORDERS[name]()
    except KeyError:
        raise OptionError(f"There is no order {name!r}: choose one of {', '.join(sorted(ORDERS))}") from None
