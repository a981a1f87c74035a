"""One login: whether the crawl is logged in by it, and how often it may try."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from scrapy import Request

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.patterns import MatchTime, compiled
from sitecrawl.http.login import Login, LoginKind
from sitecrawl.page.refusals import has_password

_HOUR: Final = 3600.0
_IN_A_ROW: Final = 3
"""Pages in a row that say that nobody is logged in, after which a login that cannot be done anew is over."""
_FIELDS_LOOKED_AT: Final = 1 << 16
"""Bytes of a page in which the login form is looked for."""


class LoginFailed(SitecrawlError):
    """A login that did not work; its message says why. It `lasts` where trying again would bring the same."""

    def __init__(self, reason: str, *, lasts: bool = True) -> None:
        super().__init__(reason)
        self.lasts = lasts


class Session:
    """See the module. `clock` gives monotonic seconds. Raises `OptionError` for secrets that cannot be had."""

    def __init__(self, login: Login, clock: Callable[[], float] = time.monotonic) -> None:
        self.login = login
        self.form_data = login.form_data()
        self.failure: LoginFailed | None = None
        """Why the crawl is not logged in; None before the first attempt, and while it is."""
        self.generation = 0
        """Logins that have worked."""
        self.sent_by: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        """The generation by which requests were sent that are under way."""
        self._is_in = login.kind is not LoginKind.FORM
        self._clock = clock
        self._times: deque[float] = deque(maxlen=login.per_hour)
        self._lock = asyncio.Lock()
        self._in_a_row = 0
        self._works = False
        """Whether a page has come since the last login."""
        self._pattern = compiled(login.logged_out) if login.logged_out else None
        self._fields = [_field(name) for name, _ in login.fields]

    async def enter(self, log_in: Callable[[], Awaitable[None]]) -> None:
        """Be logged in, by `log_in` where need be: once, whoever else waits for it. Raises `LoginFailed`."""
        async with self._lock:
            if self._is_in:
                return
            self._check()
            self._times.append(self._clock())
            try:
                await log_in()
            except LoginFailed as error:
                self.failure = error
                raise
            self._is_in, self.failure, self._works = True, None, False
            self.generation += 1

    def _check(self) -> None:
        if self.failure is not None and self.failure.lasts:
            raise LoginFailed(str(self.failure))
        if len(self._times) == self.login.per_hour and self._clock() - self._times[0] < _HOUR:
            why = self.failure or "it was logged out each time"
            raise LoginFailed(f"it has tried {self.login.per_hour} times within an hour: {why}", lasts=False)

    def says_out(self, status: int, body: bytes, text: Callable[[], str]) -> bool:
        """Whether an answer shows that the crawl is not logged in. `body` and `text` are of HTML, or empty."""
        if status == 401:
            return True
        if not 200 <= status < 300 or not body:
            return False
        if self._fields and has_password(body) and self._has_form(body[:_FIELDS_LOOKED_AT]):
            return True
        return self._pattern is not None and MatchTime().search(self._pattern, text()) is True

    def _has_form(self, body: bytes) -> bool:
        """Whether a page has the login form: all its fields, since other forms ask for a password, too."""
        return all(pattern.search(body) is not None for pattern in self._fields)

    def was_in(self) -> None:
        """A page came that is one."""
        self._in_a_row = 0
        self._works = True

    def needless(self, logins: int) -> None:
        """So many logins were made for a page that says the same with and without. They do not count, where other
        pages show that the last has worked.
        """
        for _ in range(min(logins, len(self._times)) if self._works else 0):
            self._times.pop()

    def was_out(self, request: Request) -> bool:
        """The answer to `request` shows that nobody is logged in; gives whether a login can change that."""
        if self.login.kind is LoginKind.FORM:
            if self.sent_by.get(request) == self.generation:  # else it was sent before the last login
                self._is_in = False
            return True
        self._in_a_row += 1
        if self._in_a_row >= _IN_A_ROW and self.failure is None:
            what = {LoginKind.COOKIES: "cookies", LoginKind.BEARER: "token", LoginKind.BASIC: "password"}[
                self.login.kind
            ]
            self.failure = LoginFailed(f"{_IN_A_ROW} pages in a row do not take the {what}")
        return False


def _field(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"""\bname\s*=\s*["']?""" + re.escape(name.encode()) + rb"""(?=["'\s/>])""", re.IGNORECASE)
