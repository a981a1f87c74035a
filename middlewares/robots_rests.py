"""Pages that go back into the frontier when the robots.txt on their way has come: their hosts rest from that first.

Where they stand they would take seats among the requests under way, which other hosts could use meanwhile: with 64
seats and a delay of a minute, a crawl could begin with no more than 64 hosts a minute.

A page goes back once. Where so many hosts take turns that its rules are forgotten when it comes again, robots.txt is
asked for again, and the page waits for that in its seat: else it might never come.
"""

from __future__ import annotations

from typing import Final

MAX_RESTING: Final = 100_000
"""Hosts that are known to rest so. The pages of others wait in their seats."""


class RobotsRests:
    """See the module. A host is a scheme with it."""

    def __init__(self) -> None:
        self._resting: set[str] = set()

    def begin(self, root: str) -> bool:
        """Whether the page of the host `root` is to go back."""
        if root in self._resting or len(self._resting) >= MAX_RESTING:
            return False
        self._resting.add(root)
        return True

    def end(self, root: str) -> None:
        """A page of the host is on its way."""
        self._resting.discard(root)
