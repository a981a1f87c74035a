"""Errors for requests to hosts that were given up."""

from __future__ import annotations

from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.crawl.requests import host_of


class HostGivenUp(IgnoreRequest):
    """A host that failed too often in a row (SITECRAWL_MAX_HOST_FAILURES).

    An errback gets a subclass that is also of the kind of the host's last failure, such as `CannotResolveHostError`.
    """


_KINDS: Final[dict[type[Exception], type[HostGivenUp]]] = {}


def _given_up(kind: type[Exception]) -> type[HostGivenUp]:
    """`HostGivenUp` that is also a `kind`."""
    if kind not in _KINDS:
        _KINDS[kind] = type(HostGivenUp.__name__, (HostGivenUp, kind), {"__doc__": HostGivenUp.__doc__})
    return _KINDS[kind]


class GivenUpMiddleware:
    """Downloader middleware, before all others: sends a request to a dead host to its errback."""

    def __init__(self, fetches: Fetches) -> None:
        self._fetches = fetches

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GivenUpMiddleware:
        return cls(Crawl.of(crawler).fetches)

    def process_request(self, request: Request) -> None:
        fetch = self._fetches.of(request)
        if fetch is not None and fetch.visit.dead:
            fetch.failed(HostGivenUp.__name__)
            request.meta["dont_retry"] = True
            said = f"{request.url} was not asked for: its host has failed too often"
            known = self._fetches.failures.get(host_of(request.url))
            if known is None:
                raise HostGivenUp(said)
            kind, why = known
            raise _given_up(kind)(f"{said}: {why}") from kind(why)
