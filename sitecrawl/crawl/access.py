"""Headers, cookies, proxy and login of each host's sheet, added when a request is sent.

A Scrapy request is stored in the frontier, copied by retries and redirects, and archived with its headers. So none of
this is ever put on a request. The download handler asks here when it sends (`sent`) and passes on what it receives
(`heard`); everything else sees `(masked)` instead. This covers all requests to a host, also those for robots.txt and
by browsers, and no other host.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy.statscollectors import StatsCollector

from sitecrawl.base import limits
from sitecrawl.base.errors import OptionError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.participant import Participant
from sitecrawl.http.cookies import IN_CRAWL, BadCookies, CookieStore, jar_name, read_cookies
from sitecrawl.http.sheets import KEPT, Sheets
from sitecrawl.page.items import Headers
from sitecrawl.pagestore.record import MASK
from sitecrawl.urls.url import parse

if TYPE_CHECKING:
    from sitecrawl.http.login import Login

logger = logging.getLogger(__name__)

_COOKIE: Final = b"cookie"


class Access(Participant):
    """See the module. `path`: the crawl's directory. `all_cookies`: whether to keep cookies of every host.

    Raises `OptionError` for a login that cannot be read.
    """

    def __init__(
        self,
        sheets: Sheets,
        path: Path,
        stats: StatsCollector,
        *,
        all_cookies: bool = False,
        most_cookies: int = limits.COOKIES.value,
    ) -> None:
        self.sheets = sheets
        self.cookies = CookieStore(most_cookies)
        self._path = path / IN_CRAWL
        self._stats = stats
        self._all_cookies = all_cookies
        logins = [_login(sheet.login) for sheet in sheets.all if sheet.login is not None]
        self.logins = {login: login.authorization() for login in logins}
        """Logins of the sheets, and the header `Authorization` of each; empty if cookies are used instead."""
        self.login_hosts = {parse(login.url).host: login for login in self.logins if login.url}
        """Hosts of the pages at which the crawl logs in."""
        self.login_of = lru_cache(maxsize=KEPT)(self._login_of)
        self._also: set[str] = set()
        """Sites whose cookies are kept because their pages cannot be fetched without."""
        self._given: set[str] = set()
        """Hosts that have been given their sheet's cookies."""
        if self.has_cookies:
            self._read()

    def __bool__(self) -> bool:
        """Whether requests to any host are changed."""
        return bool(self.sheets) or self._all_cookies or bool(self._also)

    @property
    def has_cookies(self) -> bool:
        """Whether cookies of any host are kept."""
        return (
            self._all_cookies
            or bool(self._also)
            or any(sheet.cookies for sheet in self.sheets.all)
            or any(login.has_session for login in self.logins)
        )

    def _login_of(self, host: str) -> Login | None:
        """Return the login for `host`, if the crawl is to be logged in there."""
        given = self.sheets.of(host).login
        return self.login_hosts.get(host) if given is None else _login(given)

    def keeps(self, host: str) -> bool:
        """Whether the cookies of `host` are kept."""
        if self._all_cookies or self.sheets.of(host).cookies or (self._also and jar_name(host) in self._also):
            return True
        login = self.login_of(host)
        return login is not None and login.has_session

    def keep_also(self, url: str, host: str, headers: Headers) -> None:
        """Keep the cookies of `host` from now on, and those that an answer of its `url` has set."""
        self._also.add(jar_name(host))
        self.heard(url, host, headers)

    def proxy_of(self, host: str) -> str | None:
        """Proxy for all requests to `host`; empty for none, None if its sheet does not say."""
        return self.sheets.of(host).proxy

    # At the wire

    def sent(self, url: str, host: str, headers: Headers) -> Headers:
        """Return the headers to send to `url` for a request with `headers`."""
        ours = {name.lower(): (name, value) for name, value in self._own(url, host)}
        given = b"; ".join(value for name, value in headers if name.lower() == _COOKIE)
        if not ours and MASK not in given:
            return headers
        _, kept = ours.pop(_COOKIE, (b"", b""))
        cookies = _joined(given, kept)
        return [
            *((name, value) for name, value in headers if name.lower() not in {_COOKIE, *ours}),
            *ours.values(),
            *([(b"Cookie", cookies)] if cookies else []),
        ]

    def _own(self, url: str, host: str) -> Iterator[tuple[bytes, bytes]]:
        sheet, login = self.sheets.of(host), self.login_of(host)
        is_covered = self._is_covered(url, host)
        for name, value in sheet.headers.items():
            yield name.encode("latin-1"), value.encode("latin-1")
        if login is not None and self.logins[login] and is_covered:
            yield b"Authorization", self.logins[login].encode()
        if not self.keeps(host) or not is_covered:
            return
        if sheet.cookies and host not in self._given:
            self._given.add(host)
            self.cookies.give(url, sheet.cookies)
        if text := self.cookies.header(url):
            yield b"Cookie", text.encode("latin-1", "replace")

    def _is_covered(self, url: str, host: str) -> bool:
        """Whether credentials may be sent over the scheme of `url`."""
        login = self.login_of(host)
        return login is None or login.covers(url)

    def shown(self, url: str, host: str) -> Headers:
        """Headers that `sent` would add, with masked values, for the archive."""
        return [(name, MASK) for name, _ in self._own(url, host)]

    def heard(self, url: str, host: str, headers: Headers) -> Headers:
        """Keep the cookies that an answer of `url` sets; return its headers with values of Set-Cookie masked."""
        if not self.keeps(host) or not any(name.lower() == b"set-cookie" for name, _ in headers):
            return headers
        left_out = self.cookies.left_out
        if self._is_covered(url, host):
            self.cookies.heard(url, headers)
        if more := self.cookies.left_out - left_out:
            self._stats.inc_value(limits.COOKIES.stat, more)
        return [(name, _masked(value) if name.lower() == b"set-cookie" else value) for name, value in headers]

    # On disk

    def _read(self) -> None:
        """Read cookie files, the newest last: a logged-out user may have logged in again in a browser."""
        given = {Path(login.file) for login in self.logins if login.file}
        for path in sorted({self._path, *given}, key=_changed):
            if path in given:
                self._read_given(path)
            elif path.exists():
                try:
                    self.cookies.take(read_cookies(path))
                except BadCookies as error:
                    logger.warning("%s. The crawl begins without its cookies", error)

    def _read_given(self, path: Path) -> None:
        """Read a browser's cookies file, only for the hosts of the logins."""
        hosts = {pattern for sheet in self.sheets.all if sheet.login is not None for pattern in sheet.hosts}
        sites = {jar_name(pattern.removeprefix("*.")) for pattern in hosts}
        try:
            found = read_cookies(path)
        except BadCookies as error:
            raise OptionError(f"login: {error}") from None
        self.cookies.take(one for one in found if "*" in hosts or jar_name(one.domain.removeprefix(".")) in sites)

    def prepare(self, batch: Batch) -> None:
        if self.cookies.has_changed:
            with file_errors(self._path):
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self.cookies.write(self._path)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _joined(given: bytes, ours: bytes) -> bytes:
    """Join a request's cookies and ours into one header; ours win."""
    names = {pair.partition(b"=")[0] for pair in ours.split(b"; ")}
    pairs = (pair.strip() for pair in given.split(b";"))
    others = [
        pair for pair in pairs if pair and pair.partition(b"=")[0] not in names and pair.partition(b"=")[2] != MASK
    ]
    return b"; ".join([*others, ours] if ours else others)


def _masked(value: bytes) -> bytes:
    """A Set-Cookie header with its value masked."""
    pair, semicolon, attributes = value.partition(b";")
    return pair.partition(b"=")[0] + b"=" + MASK + semicolon + attributes


def _login(given: Mapping[str, Any]) -> Login:
    from sitecrawl.http.login import Login  # noqa: PLC0415 - for those who log in

    return Login.read(given)
