"""Redirects: their targets, and whether they are followed.

A chain may return to a URL that has only redirected so far if the cookies to send have changed: servers test with
this whether a client keeps cookies. If the crawl does not keep those of the host, it does from then on. A server
that sets another cookie each time leads back to a URL `_MOST_RETURNS` times at most.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any, Final

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import BaseSettings

from sitecrawl.base import limits
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.requests import (
    COMES_BACK,
    CONDITIONS,
    COOKIES_CHANGED,
    NEW_COOKIES,
    REDIRECTS_SIZE,
    host_of,
    verbatim,
)
from sitecrawl.page.directives import redirect_target
from sitecrawl.page.items import Headers, pairs
from sitecrawl.page.refusals import Refusal, RefusalKind
from sitecrawl.urls.url import Url

logger = logging.getLogger(__name__)

_MOST_RETURNS: Final = 3
_AMBIGUOUS: Final = "redirects/ambiguous"
"""Statistic: redirects to two places at once, which no browser follows either."""
_COOKIES_NEEDED: Final = "cookies/needed"
"""Statistic: hosts whose cookies are kept because their redirects go in circles without them."""


class LoginWall(IgnoreRequest):
    """A page that redirects to a login."""


class RedirectsMiddleware(RedirectMiddleware):
    """Downloader middleware that replaces Scrapy's: follows redirects as a browser does, and counts those that it
    does not follow because they are too many, too large together, or leave the web.
    """

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__(settings)
        self._max_size = limits.REDIRECT_SIZE.read(settings)

    @cached_property
    def _crawl(self) -> Crawl:
        return Crawl.of(self.crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        if not 300 <= response.status < 400 or "Location" not in response.headers:
            return response
        headers = pairs(response.headers)
        target = redirect_target(headers, request.url)
        if target is None:
            self._leads_nowhere(request, response)
            return response
        self._check_login(request, target)
        if request.meta.get("redirect_times", 0) >= self.max_redirect_times:
            self._crawl.stats.inc_value(limits.REDIRECTS.stat)
        else:
            self._count(request, headers, len(response.body))
        led = super().process_response(request, _to(target, response))
        if not isinstance(led, Request):
            return response
        self._look_for_circle(led, request, headers)
        return led

    def _leads_nowhere(self, request: Request, response: Response) -> None:
        if len({value.strip() for value in response.headers.getlist("Location")}) > 1:
            self._crawl.stats.inc_value(_AMBIGUOUS)
            logger.info("Not followed: %s redirects to two places at once", request.url)
        else:
            self._crawl.stats.inc_value(limits.SCHEMES.stat)

    def _check_login(self, request: Request, target: Url) -> None:
        """Follow only one redirect to each login page."""
        refusals = self._crawl.refusals
        if refusals.leads_to_login(request.url, target.href):
            refusals.met(request.url, Refusal(RefusalKind.LOGIN_WALL))
            raise LoginWall(f"{request.url} redirects to a page that asks for a login")

    def _count(self, request: Request, headers: Headers, size: int) -> None:
        """Store in `meta` what the redirected request needs."""
        size += request.meta.get(REDIRECTS_SIZE, 0) + sum(len(name) + len(value) for name, value in headers)
        if size < (request.meta.get("download_maxsize", self._max_size) or NO_LIMIT):
            request.meta[REDIRECTS_SIZE] = size
        else:
            self._crawl.stats.inc_value(limits.REDIRECT_SIZE.stat)
            request.meta["redirect_ttl"] = 0  # no more redirects: Scrapy drops it, where it would have followed it

    def _build_redirect_request(
        self, source_request: Request, response: Response, *, url: str, **kwargs: Any
    ) -> Request:
        """Build the redirected request with the URL found by `process_response`, unescaped."""
        made = super()._build_redirect_request(source_request, response, url=url, **kwargs)
        for condition in CONDITIONS:  # of what is stored of the other URL
            made.headers.pop(condition, None)
        return verbatim(made, (response.headers["Location"] or b"").decode("ascii"))

    # Circles

    def _look_for_circle(self, led: Request, request: Request, headers: Headers) -> None:
        """Mark `led` as one to be asked for once more if it has been, and may bring something else now."""
        access, urls = self._crawl.access, led.meta["redirect_urls"]
        host = host_of(request.url)
        is_kept, is_new = access.keeps(host), led.meta.pop(NEW_COOKIES, False)
        sets = is_new if is_kept else any(name.lower() == b"set-cookie" for name, _ in headers)
        changed = led.meta[COOKIES_CHANGED] = [*request.meta.get(COOKIES_CHANGED, ()), sets]
        led.meta.pop(COMES_BACK, None)
        if led.url not in urls or not any(changed[_last(urls, led.url) - len(urls) :]):
            return
        if 0 < urls.count(led.url) <= _MOST_RETURNS and led.method == request.method:
            led.meta[COMES_BACK] = True
            if not is_kept:
                self._keep_cookies(request.url, host, headers)
            if not access.keeps(host_of(led.url)):
                self._keep_cookies(led.url, host_of(led.url), ())

    def _keep_cookies(self, url: str, host: str, headers: Headers) -> None:
        self._crawl.access.keep_also(url, host, headers)
        self._crawl.stats.inc_value(_COOKIES_NEEDED)
        logger.warning("%s redirects in circles while it sets cookies: it is asked with them from now on", host)


def _last(urls: list[str], url: str) -> int:
    return len(urls) - 1 - urls[::-1].index(url)


def _to(target: Url, response: Response) -> Response:
    """`response` with `target` as its Location, for Scrapy."""
    headers = response.headers.copy()
    headers["Location"] = target.href
    return Response(response.url, status=response.status, headers=headers)
