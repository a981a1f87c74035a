"""Logs in where a sheet says how, before the first page, and again when a page shows that nobody is logged in."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import Interrupted, InWant
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import LOGGED_OUT, LOGIN, host_of
from sitecrawl.crawl.traffic import of_exception, of_rule
from sitecrawl.http.login import LoginKind
from sitecrawl.page.directives import redirect_target
from sitecrawl.page.items import pairs
from sitecrawl.page.refusals import Refusal, RefusalKind
from sitecrawl.plugins.logins.form_login import LoginFailed, Session, log_in, text_of

logger = logging.getLogger(__name__)

_LOGINS: Final = "login/logins"
"""Counts logins by forms that worked."""
_FORBIDDEN: Final = "login/forbidden"
"""Counts URLs that were not asked for, so that the crawl stays logged in."""
_PUT_BACK: Final = "login/put_back"
"""Counts pages that wait, for nobody is logged in."""
_MOST_TIMES: Final = 2
"""So often a page is asked for again after a login: a session may end at any page, but hardly thrice at the same."""


class _LoggedOut(IgnoreRequest):
    """A page as it is for those who have not logged in."""


class LoginMiddleware:
    """Downloader middleware, where an answer is decoded and rendered, and before anything is retried."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._sessions = {login: Session(login) for login in crawl.access.logins}
        for host in crawl.access.login_hosts:  # a person has named it, as one names a seed
            crawl.seed_hosts.add(host)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LoginMiddleware:
        """Raises `OptionError` for secrets that cannot be had."""
        crawl = Crawl.of(crawler)
        if not crawl.access.logins:
            raise NotConfigured
        return cls(crawler, crawl)

    def of(self, request: Request) -> tuple[Fetch, Session] | None:
        """The fetch that `request` is for, and the login of its host, if both are there."""
        fetch = self._crawl.fetches.of(request) if LOGIN not in request.meta else None
        if fetch is None or not request.url.startswith("http"):
            return None
        login = self._crawl.access.login_of(host_of(request.url))
        return (fetch, self._sessions[login]) if login is not None else None

    async def process_request(self, request: Request) -> Request | None:
        found = self.of(request)
        if found is None:
            return None
        fetch, session = found
        if rule := session.login.forbids(request.url):
            self._crawl.stats.inc_value(_FORBIDDEN)
            fetch.exclude(rule)
            raise IgnoreRequest(f"{request.url} is not asked for: {of_rule(rule)}")
        if not session.login.covers(request.url):
            return None
        try:
            await self._enter(session)
        except LoginFailed as error:
            return self._later(request, fetch, error) if session.login.required else None
        except InWant as error:
            self._crawl.pause.suffer(error.want)
            return fetch.give_back(self._crawl.pause.put_back(error.want, request.url))
        except Interrupted:
            fetch.interrupted = True
            raise
        session.sent_by[request] = session.generation
        return None

    async def _enter(self, session: Session) -> None:
        if session.login.kind is LoginKind.FORM:
            await session.enter(partial(self._log_in, session))
        elif session.failure is not None:
            raise LoginFailed(str(session.failure))

    async def _log_in(self, session: Session) -> None:
        url = session.login.url
        try:
            await self._told(session)
        except LoginFailed as error:
            self._crawl.refusals.met(url, Refusal(RefusalKind.LOGIN_FAILED, str(error)))
            raise
        self._crawl.stats.inc_value(_LOGINS)
        logger.info("Logged in at %s", host_of(url))

    async def _told(self, session: Session) -> None:
        """Log in; whatever else goes wrong is a `LoginFailed`, that need not last."""
        try:
            await log_in(session, self._crawler.engine.download_async, self._crawl.access.cookies)
        except (LoginFailed, InWant, Interrupted):
            raise
        except Exception as error:
            name = type(error).__name__
            why = str(error) if isinstance(error, SitecrawlError) else of_exception(name) or name
            raise LoginFailed(f"the login page does not come: {why}", lasts=False) from error

    def _later(self, request: Request, fetch: Fetch, error: LoginFailed) -> Request:
        """Back into the frontier, as where a robots.txt cannot be had: a host that lets nobody in is given up."""
        self._crawl.stats.inc_value(_PUT_BACK)
        fetch.failed(LoginFailed.__name__)
        self._crawl.outcomes.hindered(fetch.visit, f"the login failed: {error}")
        self._crawl.frontier.downloaded(fetch.visit, 0.0, failed=True)
        return request.replace(dont_filter=True)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        found = self.of(request)
        if found is None or 300 <= response.status < 400:
            return response
        fetch, session = found
        if not session.login.covers(request.url):
            return _only_if_free(session, fetch, response)
        if request not in session.sent_by:  # logged out, and content with it
            return response
        body = response.body if b"html" in (response.headers.get("Content-Type") or b"").lower() else b""
        if session.says_out(response.status, body, partial(text_of, response)):
            return _again(self._crawl, request, fetch, session)
        if response.status < 300:
            session.was_in()
        return response


class LoginRedirectsMiddleware:
    """Downloader middleware, before redirects are followed: one that leads to the login page is no redirect."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LoginRedirectsMiddleware:
        crawl = Crawl.of(crawler)
        if not crawl.access.logins:
            raise NotConfigured
        return cls(crawler, crawl)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if not 300 <= response.status < 400:
            return response
        logins = self._crawler.get_downloader_middleware(LoginMiddleware)
        found = logins.of(request) if logins is not None else None
        if found is None or request not in found[1].sent_by:
            return response
        fetch, session = found
        target = redirect_target(pairs(response.headers), request.url)
        is_login = target is not None and session.login.is_login_page(target.href)
        return _again(self._crawl, request, fetch, session) if is_login else response


def _again(crawl: Crawl, request: Request, fetch: Fetch, session: Session) -> Request:
    """The request that asks once more, after a login. A page that then says the same again is left out."""
    crawl.refusals.met(request.url, Refusal(RefusalKind.LOGGED_OUT))
    fetch.failed(_LoggedOut.__name__)  # and nothing of what came is kept
    times = request.meta.get(LOGGED_OUT, 0)
    if times >= _MOST_TIMES:
        session.needless(times)
        raise _LoggedOut(f"{request.url} says that nobody is logged in, whoever is")
    had_failed = session.failure is not None
    can_enter = session.was_out(request)
    if session.failure is not None and not had_failed:
        crawl.refusals.met(request.url, Refusal(RefusalKind.LOGIN_FAILED, str(session.failure)))
    if not can_enter:
        raise _LoggedOut(f"{request.url} shows that nobody is logged in")
    logger.info("Logged out: %s is asked for again after a login", request.url)
    return request.replace(dont_filter=True, meta={**request.meta, LOGGED_OUT: times + 1})


def _only_if_free(session: Session, fetch: Fetch, response: Response) -> Response:
    """Of what was asked for over plain http, and so logged out, errors alone say enough."""
    if session.login.required and response.status < 300:
        fetch.failed(_LoggedOut.__name__)
        raise _LoggedOut(f"{response.url} came over plain http, over which nobody is logged in (over_http)")
    return response
