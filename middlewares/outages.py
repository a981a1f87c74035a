"""Hosts that are down: their pages are kept for a while, and fail once the host is given up."""

from __future__ import annotations

import logging
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from middlewares.capture import BUSY
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


logger = logging.getLogger(__name__)


class OutagesMiddleware:
    """Downloader middleware, nearer to the wire than Scrapy's `RetryMiddleware`, which counts the failures of a page.

    While a host that has answered before fails for one URL after the other, it is the host's failure: the request is
    put back as it was, until the host answers or is given up.
    """

    def __init__(self, crawl: Crawl, settings: BaseSettings) -> None:
        if not settings.getbool("RETRY_ENABLED"):
            raise NotConfigured  # with a reason, it would be a warning
        self._crawl = crawl
        self._errors = tuple(load_object(name) for name in settings.getlist("RETRY_EXCEPTIONS"))
        self._priority_adjust = settings.getint("RETRY_PRIORITY_ADJUST")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutagesMiddleware:
        return cls(Crawl.of(crawler), crawler.settings)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        return self._again(request) or response if response.status in BUSY else response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        return self._again(request) if isinstance(exception, self._errors) else None

    def _again(self, request: Request) -> Request | None:
        return put_back(self._crawl, request, self._priority_adjust)


def put_back(crawl: Crawl, request: Request, priority_adjust: int) -> Request | None:
    """Request that puts a page back unchanged, if its host fails for all pages; else None."""
    fetch = crawl.fetches.of(request)
    if fetch is None or request.meta.get("dont_retry") or not crawl.frontier.manners.is_out(fetch.visit):
        return None
    crawl.stats.inc_value("outages/put_back")
    logger.debug("Put back, for its host is down: %s", request)
    return request.replace(dont_filter=True, priority=request.priority + priority_adjust)
