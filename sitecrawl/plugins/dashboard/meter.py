"""What the fetches of a run tell, in bounded space: how long they took, and what went wrong."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from typing import Final, NamedTuple

from sitecrawl.crawl.fetch import Fetch

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram's classes, in seconds; one more class is for what took longer."""

_RECENT: Final = 1000
"""Downloads of which the percentiles are."""
EXAMPLES: Final = 8
"""That are kept of a kind of error."""
_KINDS: Final = 60
"""Kinds of error that are told apart; further ones share `other`."""


class Example(NamedTuple):
    """A URL that went wrong."""

    url: str
    referrer: bytes
    """Fingerprint of the page where it was first found."""
    at: float
    """Unix time, in seconds."""


class _ErrorKind:
    """One kind of error."""

    __slots__ = ("count", "examples")

    def __init__(self) -> None:
        self.count = 0
        self.examples: deque[Example] = deque(maxlen=EXAMPLES)
        """The last ones."""


class Meter:
    """Give `finished` every fetch whose visit is over (`Crawl.fetches.on_finish`)."""

    def __init__(self) -> None:
        self.histogram = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        """Of all downloads together."""
        self.errors: dict[str, _ErrorKind] = {}
        """By kind: a status such as `404`, the name of an exception, `robots.txt`."""
        self.fetched = 0
        """URLs that answered."""
        self.good = 0
        """Fetches that were worth it."""
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def finished(self, fetch: Fetch) -> None:
        self.good += fetch.is_good
        self.fetched += fetch.status > 0
        if fetch.exchange is not None:
            self._took(fetch.exchange.seconds)
        kind = _kind(fetch)
        if kind:
            self._note(kind, Example(fetch.visit.url, fetch.visit.referrer, time.time()))

    def _took(self, seconds: float) -> None:
        self.histogram[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        self._recent.append(seconds)

    def _note(self, kind: str, example: Example) -> None:
        if kind not in self.errors and len(self.errors) >= _KINDS:
            kind = "other"
        found = self.errors.setdefault(kind, _ErrorKind())
        found.count += 1
        found.examples.append(example)

    def percentiles(self) -> tuple[float, float]:
        """Median and 95th percentile of the last downloads, in seconds; 0 before any."""
        if not self._recent:
            return 0.0, 0.0
        ordered = sorted(self._recent)
        return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]


def _kind(fetch: Fetch) -> str:
    if fetch.status >= 400:
        return "" if fetch.is_miss else str(fetch.status)
    if fetch.status:
        return ""
    return fetch.error or ("excluded" if fetch.excluded else "")
