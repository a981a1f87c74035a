"""Tells whoever waits for a page of a host that was given up."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from sitecrawl.crawl.runtime import Runtime


class HostGivenUp(IgnoreRequest):
    """A host that has failed too often in a row to be asked again (SITECRAWL_MAX_HOST_FAILURES)."""


class GivenUpMiddleware:
    """Downloader middleware, before all others: a request to a dead host goes to its errback, and nowhere else."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GivenUpMiddleware:
        return cls(Runtime.of(crawler))

    def process_request(self, request: Request) -> None:
        fetch = self._runtime.fetch_of(request)
        if fetch is not None and fetch.visit.dead:
            fetch.failed(HostGivenUp.__name__)
            raise HostGivenUp(f"{request.url} was not asked for: its host has failed too often")
