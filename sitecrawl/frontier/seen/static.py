"""STATIC: a cache that forgets nothing. The first keys stay, and keys of `popular` whenever they come.

Broder, Najork and Wiener ("Efficient URL caching for World Wide Web crawling", WWW 2003) fill it with the most
frequent URLs of the crawl, which an earlier crawl can tell. These have places from the start, and come in when they
are met: a hit means that this crawl has seen the URL. Nothing is on disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from sitecrawl.frontier.seen.cache import Cache


class StaticCache(Cache):
    """See the module. Raises `OptionError` for a capacity below 1."""

    __slots__ = ("_popular", "_room")

    name = "STATIC"
    _held: set[bytes]

    def __init__(self, capacity: int, popular: Iterable[bytes] = ()) -> None:
        super().__init__(capacity)
        self._held = set()
        self._popular = frozenset(islice(popular, capacity))
        self._room = capacity - len(self._popular)
        """Places for other keys."""

    def touch(self, key: bytes) -> bool:
        known = key in self._held
        if not known and key in self._popular:
            self._held.add(key)
        elif not known and self._room:
            self._held.add(key)
            self._room -= 1
        return self._count(known=known)

    def clear(self) -> None:
        super().clear()
        self._room = self.capacity - len(self._popular)
