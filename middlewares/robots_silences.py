"""Hosts whose robots.txt could not be fetched, and when they may be asked again for rendered pages."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sitecrawl.base.pauses import Pause

FIRST: Final = 120.0
"""First pause in seconds."""
LONGEST: Final = 3600.0
MAX_HOSTS: Final = 10_000
"""Most hosts remembered; the longest silent is forgotten first."""


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
