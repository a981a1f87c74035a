"""Pages that go back into the frontier when the robots.txt on their way has come: their hosts rest from that first.

Where they stand they would take seats among the requests under way, which other hosts could use meanwhile: with 64
seats and a delay of a minute, a crawl could begin with no more than 64 hosts a minute.

A page goes back once. Where so many hosts take turns that its rules are forgotten when it comes again, robots.txt is
asked for again, and the page waits for that in its seat: else it might never come.
"""

from __future__ import annotations

from typing import Final

MAX_RESTING: Final = 100_000
"""Pages that are known to have gone back. Of more, those of the longest ago may go back once more."""


class RobotsRests:
    """See the module. Pages by the keys of their visits."""

    def __init__(self) -> None:
        self._resting: dict[bytes, None] = {}

    def begin(self, page: bytes) -> bool:
        """Whether `page` is to go back, now that robots.txt has come."""
        if page in self._resting:
            return False
        if len(self._resting) >= MAX_RESTING:
            del self._resting[next(iter(self._resting))]
        self._resting[page] = None
        return True

    def end(self, page: bytes) -> None:
        """It is on its way."""
        self._resting.pop(page, None)
