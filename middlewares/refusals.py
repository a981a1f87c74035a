"""Detect refusals: a challenge is no page, whatever its status, and its host rests."""

from __future__ import annotations

import logging
import time

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from middlewares.capture import is_decided, retry_after
from middlewares.outages import put_back
from sitecrawl.base import limits
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import host_of
from sitecrawl.page.items import pairs
from sitecrawl.page.refusals import Refusal, RefusalKind, has_password, refusal, returns_to

logger = logging.getLogger(__name__)


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
