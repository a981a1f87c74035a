"""Requests that cannot be stored: in a worker's memory only, and this worker's, wherever their sites belong."""

from __future__ import annotations

from collections import deque

from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link


class Loose:
    """They go first, one after the other, and die with the process."""

    def __init__(self) -> None:
        self._waiting: deque[Visit] = deque()
        self.in_flight: dict[bytes, Visit] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting or self.in_flight)

    def add(self, found: Link, *, depth: int, flags: int, referrer: bytes) -> None:
        self._wait(Visit.of(found, depth, referrer, flags))

    def _wait(self, visit: Visit) -> None:
        visit.volatile, visit.host = True, None
        self._waiting.append(visit)

    def next(self) -> Visit | None:
        if not self._waiting:
            return None
        visit = self._waiting.popleft()
        self.in_flight[visit.key] = visit
        return visit

    def done(self, visit: Visit) -> bool:
        """Whether it was one of them."""
        return self.in_flight.pop(visit.key, None) is not None

    def retry(self, visit: Visit) -> None:
        """Once more, also what was stored before and cannot be stored any more."""
        self.in_flight.pop(visit.key, None)
        visit.attempts += 1
        self._wait(visit)

    def put_back(self, visit: Visit) -> bool:
        """Queue the request again if it was one of them; return whether."""
        if not self.done(visit):
            return False
        self._wait(visit)
        return True
