"""Last failure of each host, for errbacks of given-up hosts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from sitecrawl.crawl.requests import host_of

MOST: Final = 1_000
"""Most hosts remembered, the latest to fail."""


class LastFailures:
    """Kind and text of each host's last failure."""

    def __init__(self) -> None:
        self._by_host: OrderedDict[str, tuple[type[Exception], str]] = OrderedDict()

    def note(self, url: str, error: Exception) -> None:
        """Note that a download of `url` failed with `error`."""
        host = host_of(url)
        self._by_host[host] = type(error), str(error)
        self._by_host.move_to_end(host)
        if len(self._by_host) > MOST:
            self._by_host.popitem(last=False)

    def of(self, url: str) -> tuple[type[Exception], str] | None:
        """Return the last failure of the host of `url`, if known."""
        return self._by_host.get(host_of(url))
