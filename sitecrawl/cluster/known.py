"""What a worker can say of the crawl without asking Redis: the counts it last heard, and its own pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from sitecrawl.frontier.record import UrlRecord, UrlState

_REFERRERS: Final = 50_000
"""Pages whose URLs are remembered, for the `referrer` of the pages that they lead to."""


class Totals(NamedTuple):
    """The crawl's counts, as the shards last said."""

    known: int
    queued: int
    fetched: int
    failed: int
    excluded: int
    demoted: int


class RecentPages:
    """URLs of the pages that this worker has fetched of late."""

    def __init__(self) -> None:
        self._urls: OrderedDict[bytes, str] = OrderedDict()

    def add(self, key: bytes, url: str) -> None:
        self._urls[key] = url
        if len(self._urls) > _REFERRERS:
            self._urls.popitem(last=False)

    def get(self, key: bytes) -> UrlRecord | None:
        url = self._urls.get(key)
        return UrlRecord(url, UrlState.FETCHED) if url is not None else None

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, UrlRecord | None]:
        return {key: self.get(key) for key in keys}
