"""How long a crawl is likely to take, with what is not known about it."""

from __future__ import annotations

from collections import deque
from typing import Final

from sitecrawl.base.display import duration

_SECONDS: Final = 300.0
"""What has come of late tells what will come: so much of it."""
_LEAST: Final = 10.0
"""Seconds without which nothing is said."""
_SAMPLES: Final = 64


class TimeLeft:
    """Two times that bound the rest: what waits now takes the first, if no link leads to anything else. It takes the
    second if as many new URLs are found as of late; where more are found than fetched, nobody knows an end.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque()

    def update(self, now: float, pages: int, waiting: int) -> None:
        """Note the URLs fetched and those that wait, at the time `now` in seconds."""
        if self._samples and now - self._samples[-1][0] < _SECONDS / _SAMPLES:
            return
        self._samples.append((now, pages, waiting))
        while now - self._samples[0][0] > _SECONDS:
            self._samples.popleft()

    def words(self, now: float, pages: int, waiting: int, most: int = 0) -> str:
        """Such as `0:10:00 to 0:25:00 left`; empty where nobody can tell. `most`: the limit of pages, or 0."""
        if not self._samples or waiting <= 0:
            return ""
        since, before, waited = self._samples[0]
        seconds, fetched, fewer = now - since, pages - before, waited - waiting
        if seconds < _LEAST or fetched <= 0:
            return ""
        of_limit = [max(0, most - pages) * seconds / fetched] if most else []
        least = min([waiting * seconds / fetched, *of_limit])
        ends = [*of_limit, *([waiting * seconds / fewer] if fewer > 0 else [])]
        if not ends:
            return f"{duration(least)} or more left" if least >= 1 else ""
        low, high = duration(least), duration(max(least, min(ends)))
        return f"{low} left" if low == high else f"{low} to {high} left"
