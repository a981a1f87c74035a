"""The fetches of the last moments, one by one, and how many each host has a second."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import host_of

if TYPE_CHECKING:
    from sitecrawl.plugins.dashboard.tables import Fields, Row

SHOWN: Final = 50
"""Fetches that are remembered one by one."""
HOSTS: Final = 20
"""Hosts whose rates are shown."""
WINDOW: Final = 60.0
"""Seconds over which rates are taken."""
_COUNTED: Final = 20_000
"""Fetches of these seconds that are counted at the most: more than one process can make."""


class Done(NamedTuple):
    """A fetch that is over."""

    url: str
    at: float
    """Unix time, in seconds."""
    status: int
    """0 where no answer came."""
    why: str
    """What went wrong, or which rule forbids it; empty where an answer came."""
    seconds: float
    size: int
    """Bytes of the body, as transferred."""
    type: str
    good: bool


class LastFetches:
    """Give `finished` every fetch whose visit is over (`Runtime.fetches.on_finish`)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._last: deque[Done] = deque(maxlen=SHOWN)
        self._hosts: deque[tuple[float, str]] = deque(maxlen=_COUNTED)

    def finished(self, fetch: Fetch) -> None:
        exchange, page = fetch.exchange, fetch.page
        self._last.append(
            Done(
                url=fetch.visit.url,
                at=time.time(),
                status=fetch.status,
                why=fetch.error or fetch.excluded,
                seconds=exchange.seconds if exchange is not None else 0.0,
                size=len(exchange.body) if exchange is not None else 0,
                type=page.content_type if page is not None else "",
                good=fetch.is_good,
            )
        )
        self._hosts.append((self._clock(), host_of(fetch.visit.url)))

    async def table(self, _: Fields) -> Row:
        """The last ones, the newest first, and the hosts with the most in the last minute."""
        rows = [one._asdict() for one in reversed(self._last)]
        return {"rows": rows, "total": len(rows), "hosts": self._rates()}

    def _rates(self) -> list[Row]:
        now = self._clock()
        while self._hosts and self._hosts[0][0] < now - WINDOW:
            self._hosts.popleft()
        seconds = max(1.0, min(WINDOW, now - self._begun))
        counts = Counter(host for _, host in self._hosts)
        return [{"host": host, "rate": round(number / seconds, 3)} for host, number in counts.most_common(HOSTS)]
