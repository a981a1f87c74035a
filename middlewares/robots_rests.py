"""Pages and hosts that rest after a robots.txt was fetched, or was not."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sitecrawl.base.pauses import Pause

MAX_RESTING: Final = 100_000
"""Most pages remembered; older ones may go back once more."""
FIRST: Final = 120.0
"""First pause in seconds."""
LONGEST: Final = 3600.0
MAX_HOSTS: Final = 10_000
"""Most hosts remembered; the longest silent is forgotten first."""


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


class Silences:
    """Hosts without a robots.txt answer that rendered pages want parts of. `clock` gives monotonic seconds.

    A page of such a host waits in the frontier, longer each time. But each rendered page would request the robots.txt
    again. So a silent host is not asked for a while, twice as long each time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, Pause] = OrderedDict()

    def __contains__(self, root: str) -> bool:
        """Whether scheme and host `root` must not be asked now."""
        found = self._known.get(root)
        return found is not None and self._clock() < found.until

    def met(self, root: str) -> None:
        """Note that its robots.txt could not be fetched."""
        if root in self:
            return
        before = self._known.pop(root, None)
        self._known[root] = Pause.after(before, self._clock(), first=FIRST, longest=LONGEST)
        if len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)

    def ended(self, root: str) -> None:
        """Note that its robots.txt was fetched."""
        self._known.pop(root, None)
