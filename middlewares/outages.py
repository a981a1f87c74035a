"""Hosts that give no pages for now: those that are down keep theirs for a while, those that refuse rest.

A challenge is no page, whatever its status. The pages of a host that is given up fail.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from middlewares.capture import BUSY, is_decided, retry_after
from sitecrawl.base import limits
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.fetches import Fetches
from sitecrawl.crawl.requests import host_of
from sitecrawl.page.items import pairs
from sitecrawl.page.refusals import Refusal, RefusalKind, has_password, refusal, returns_to

logger = logging.getLogger(__name__)


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


class Challenge(IgnoreRequest):
    """An answer that asks for a proof of a browser or a person in place of the page."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds of the answer's Retry-After."""


class RefusalsMiddleware:
    """Downloader middleware after decoding, before all retries.

    A challenge is a failure of its host, as a 503 is: the host rests, its page is retried like a failed one, and
    nothing of it is stored, followed or compared.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._crawl.refusals.are_looked_for = True
        self._crawl.fetches.on_finish.append(self._crawl.refusals.finished)
        self._retries = settings.getbool("RETRY_ENABLED")
        self._priority_adjust = settings.getint("RETRY_PRIORITY_ADJUST")
        self._max_wait = limits.RETRY_AFTER.read(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RefusalsMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        fetch = self._crawl.fetches.of(request)
        exchange = fetch.exchange if fetch is not None else None
        headers = exchange.headers if exchange is not None else pairs(response.headers)
        found = refusal(response.status, headers, response.body)
        if found is not None and not self._may_log_in(request, found):
            self._crawl.refusals.met(request.url, found)
        elif found is None and (led_by := request.meta.get("redirect_urls")):
            self._look_for_login(led_by[-1], response)
        is_challenge = found is not None and found.kind is RefusalKind.CHALLENGE
        wait = min(retry_after(headers, time.time()), self._max_wait) if is_challenge else 0.0
        if fetch is not None and not is_decided(response.status):
            self._crawl.frontier.manners.answered(fetch.visit, failed=is_challenge, retry_after=wait)
        if not is_challenge:
            return response
        logger.debug("No page, but a challenge (%s): %s", found.by if found is not None else "", response)
        if fetch is not None and (again := self._again(request, fetch)) is not None:
            return again
        raise Challenge(f"{request.url} answers with a challenge", wait)

    def _may_log_in(self, request: Request, found: Refusal) -> bool:
        """Whether the crawl has a login for it, so that the login part reports the outcome."""
        return found.kind is RefusalKind.LOGIN_WALL and self._crawl.access.login_of(host_of(request.url)) is not None

    def _again(self, request: Request, fetch: Fetch) -> Request | None:
        """A retry request; None when retries are used up."""
        fetch.failed(Challenge.__name__)  # and nothing of what came is kept
        if not self._retries or request.meta.get("dont_retry"):
            return None
        if (again := put_back(self._crawl, request, self._priority_adjust)) is not None:
            return again
        assert self._crawler.spider is not None
        adjust = self._priority_adjust
        return get_retry_request(
            request, spider=self._crawler.spider, reason=RefusalKind.CHALLENGE.value, priority_adjust=adjust
        )

    def _look_for_login(self, asked: str, response: Response) -> None:
        """Report a login wall if `asked` redirects to a login page that leads back. A login that is linked to is a
        page.
        """
        if response.status == 200 and returns_to(response.url, asked) and has_password(response.body):
            self._crawl.refusals.login_at(response.url)
            self._crawl.refusals.met(asked, Refusal(RefusalKind.LOGIN_WALL))
