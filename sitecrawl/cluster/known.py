"""What a worker can say of the crawl without asking Redis: the counts it last heard, its own pages, its own hosts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from sitecrawl.cluster.leased_hosts import LeasedHosts
from sitecrawl.cluster.pump import Pump
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.record import UrlRecord, UrlState

_REFERRERS: Final = 50_000
"""Pages whose URLs are remembered, for the `referrer` of the pages that they lead to."""


class Totals:
    """The crawl's counts, as the shards last said."""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump

    @property
    def fetched(self) -> int:
        return self._pump.shard_calls.total("fetched")

    @property
    def failed(self) -> int:
        return self._pump.shard_calls.total("failed")

    @property
    def excluded(self) -> int:
        return self._pump.shard_calls.total("excluded")

    @property
    def demoted(self) -> int:
        return self._pump.shard_calls.total("demoted")

    @property
    def queued(self) -> int:
        return self._pump.shard_calls.total("waiting") + self._pump.shard_calls.total("leased")

    @property
    def known(self) -> int:
        return self._pump.shard_calls.total("known")


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


class LeasedHostsView:
    """The hosts that this worker works on, for who shows them."""

    def __init__(self, leased_hosts: LeasedHosts) -> None:
        self._leased_hosts = leased_hosts

    def live(self) -> Iterator[Host]:
        return self._leased_hosts.hosts()
