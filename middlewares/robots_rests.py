"""Pages that go back into the frontier once their robots.txt was fetched."""

from __future__ import annotations

from typing import Final

MAX_RESTING: Final = 100_000
"""Most pages remembered; older ones may go back once more."""


class RobotsRests:
    """Pages put back into the frontier after their robots.txt was fetched, because their hosts rest first. They are
    known by the keys of their visits.

    In flight they would take seats that other hosts could use: with 64 seats and a delay of a minute, a crawl could
    start no more than 64 hosts a minute.

    A page goes back once. If its rules are forgotten by the time it comes again, because many hosts take turns,
    robots.txt is fetched again and the page waits in its seat; else it might never be fetched.
    """

    def __init__(self) -> None:
        self._resting: dict[bytes, None] = {}

    def begin(self, page: bytes) -> bool:
        """Whether `page` goes back, now that robots.txt was fetched."""
        if page in self._resting:
            return False
        if len(self._resting) >= MAX_RESTING:
            del self._resting[next(iter(self._resting))]
        self._resting[page] = None
        return True

    def end(self, page: bytes) -> None:
        """Forget `page`, which is being fetched."""
        self._resting.pop(page, None)
