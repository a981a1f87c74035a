"""When a crawl stalls, and when too much of it goes wrong. Each is told once, and its end once."""

from __future__ import annotations

from collections import deque
from typing import Final

from sitecrawl.plugins.webhooks.hook import Event

LEAST: Final = 20
"""Fetches in the window, without which its share of errors says nothing."""
_SAMPLES: Final = 60
"""That a window is made of."""
_CALM: Final = 0.5
"""Of the threshold: below that share the errors are over. So a share about the threshold is one alarm, not many."""


class StallAlarm:
    """`seconds` without a fetch are a stall. Times are monotonic seconds."""

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds = seconds
        self._fetched = -1
        self._since = now
        self._stalls = False

    def look(self, now: float, fetched: int, *, may_fetch: bool) -> Event | None:
        """What is to be told: `fetched` so far, and whether there is something that the crawl could fetch."""
        if fetched != self._fetched or not may_fetch:
            goes_on = self._stalls and fetched != self._fetched
            self._fetched, self._since = fetched, now
            self._stalls = self._stalls and not goes_on
            return Event.RESUMED if goes_on else None
        if self._stalls or self.lasts(now) < self._seconds:
            return None
        self._stalls = True
        return Event.STALL

    def lasts(self, now: float) -> float:
        """Seconds since the last fetch."""
        return now - self._since


class ErrorAlarm:
    """`threshold`: the share of errors above which something is wrong, from 0 to 1. `window`: seconds."""

    def __init__(self, threshold: float, window: float, now: float) -> None:
        self._threshold = threshold
        self._window = window
        self._samples: deque[tuple[float, int, int]] = deque([(now, 0, 0)])
        """Time, attempts and errors so far: the first is where the window begins."""
        self._is_on = False
        self.attempts = self.errors = 0
        """Of the fetches in the window."""

    @property
    def share(self) -> float:
        """From 0 to 1. A spider's own error comes on top of the answer that it met."""
        return min(1.0, self.errors / self.attempts) if self.attempts else 0.0

    def look(self, now: float, attempts: int, errors: int) -> Event | None:
        """What is to be told, of so many `attempts` and `errors` since the beginning."""
        samples = self._samples
        while len(samples) > 1 and now - samples[1][0] >= self._window:
            samples.popleft()
        _, attempts_before, errors_before = samples[0]
        self.attempts, self.errors = attempts - attempts_before, errors - errors_before
        if now - samples[-1][0] >= self._window / _SAMPLES:
            samples.append((now, attempts, errors))
        if self.attempts < LEAST:
            return None
        if not self._is_on and self.share > self._threshold:
            self._is_on = True
            return Event.ERRORS
        if self._is_on and self.share < self._threshold * _CALM:
            self._is_on = False
            return Event.RECOVERED
        return None
