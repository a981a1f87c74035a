"""Errors for requests to hosts that were given up."""

from __future__ import annotations

from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.crawl.last_failures import LastFailures


class HostGivenUp(IgnoreRequest):
    """A host that failed too often in a row (SITECRAWL_MAX_HOST_FAILURES).

    An errback gets a subclass that is also of the kind of the host's last failure, such as `CannotResolveHostError`.
    """


_KINDS: Final[dict[type[Exception], type[HostGivenUp]]] = {}


def _given_up(kind: type[Exception]) -> type[HostGivenUp]:
    """`HostGivenUp` that is also a `kind`."""
    if kind not in _KINDS:
        _KINDS[kind] = _made(kind)
    return _KINDS[kind]


def _made(kind: type[Exception]) -> type[HostGivenUp]:
    return type(HostGivenUp.__name__, (HostGivenUp, kind), {"__doc__": HostGivenUp.__doc__})


class GivenUpMiddleware:
    """Downloader middleware, before all others: sends a request to a dead host to its errback."""

    def __init__(self, fetches: Fetches, last_failures: LastFailures) -> None:
        self._fetches = fetches
        self._last_failures = last_failures

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GivenUpMiddleware:
        crawl = Crawl.of(crawler)
        return cls(crawl.fetches, crawl.last_failures)

    def process_request(self, request: Request) -> None:
        fetch = self._fetches.of(request)
        if fetch is not None and fetch.visit.dead:
            fetch.failed(HostGivenUp.__name__)
            request.meta["dont_retry"] = True
            said = f"{request.url} was not asked for: its host has failed too often"
            known = self._last_failures.of(request.url)
            if known is None:
                raise HostGivenUp(said)
            kind, why = known
            raise _given_up(kind)(f"{said}: {why}") from kind(why)
