"""The fetches of the last moments, one by one."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from sitecrawl.crawl.fetch import Fetch

if TYPE_CHECKING:
    from sitecrawl.plugins.dashboard.tables import Fields, Row

SHOWN: Final = 50
"""Fetches that are remembered."""


class LastFetches:
    """Give `finished` every fetch whose visit is over (`Runtime.on_finish`)."""

    def __init__(self) -> None:
        self._last: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        """`at` in Unix seconds; `status` 0 and `why` where no answer came; `size` in bytes, as transferred."""

    def finished(self, fetch: Fetch) -> None:
        exchange, page = fetch.exchange, fetch.page
        self._last.append(
            {
                "url": fetch.visit.url,
                "at": time.time(),
                "status": fetch.status,
                "why": fetch.error or fetch.excluded,
                "seconds": exchange.seconds if exchange is not None else 0.0,
                "size": len(exchange.body) if exchange is not None else 0,
                "type": page.content_type if page is not None else "",
                "good": fetch.is_good,
            }
        )

    async def table(self, _: Fields) -> Row:
        """The newest first."""
        return {"rows": [*reversed(self._last)], "total": len(self._last)}
