"""Hosts that do not say what they allow, and of which parts of rendered pages are wanted.

A page of such a host waits in the frontier, longer each time. Nothing of the kind holds back what pages ask for on
other hosts: each page would ask for the robots.txt once more. So a host that was silent is not asked for a while,
twice as long each time.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sitecrawl.base.pauses import Pause

FIRST: Final = 120.0
"""Seconds for which a host is not asked again."""
LONGEST: Final = 3600.0
MAX_HOSTS: Final = 10_000
"""That are remembered; the longest silent is forgotten first."""


class Silences:
    """See the module. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, Pause] = OrderedDict()

    def __contains__(self, root: str) -> bool:
        """Whether the host, scheme included, is not to be asked now."""
        found = self._known.get(root)
        return found is not None and self._clock() < found.until

    def met(self, root: str) -> None:
        """It was asked, and has not said what it allows."""
        if root in self:
            return
        before = self._known.pop(root, None)
        self._known[root] = Pause.after(before, self._clock(), first=FIRST, longest=LONGEST)
        if len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)

    def ended(self, root: str) -> None:
        """It has said what it allows."""
        self._known.pop(root, None)
