"""Cookies by site, on disk, for those hosts alone of which somebody wants them kept.

What may be set and sent is the standard library's business (`http.cookiejar`), as in Scrapy, with the Public Suffix
List on top: a cookie for all of `co.uk` is nobody's. It is given those attributes that count by RFC 6265: itself it
would refuse a cookie for one that is odd. Each site has a jar of its own, so no cookie can be for two.

On disk it is a cookies.txt as curl and browsers' extensions have it: Netscape's format, whose first line is its
magic. It holds what lets the crawl in, so it is readable by its owner alone, from its first byte on. It is replaced
atomically with each checkpoint that follows a change: a crash costs what was set since, and the crawl logs in again.

Sizes are RFC 6265's (section 6.1): what a server sets beyond them is left out, and of all sites the one that was not
asked for the longest time is forgotten first.
"""

from __future__ import annotations

import http.cookiejar
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from email.message import Message
from http.cookiejar import http2time  # type: ignore[attr-defined]
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast
from urllib.request import Request as StandardRequest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.limits import COOKIES
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.urls.url import parse, site_of, top_level_of

IN_CRAWL: Final = Path("session", "cookies.txt")
"""Path in a crawl's directory; only the owner can read folder and file."""
_COOKIE_SIZE: Final = 4096
"""Most bytes of a cookie: name, value and attributes."""
_PER_SITE: Final = 50
_MAGIC: Final = b"# Netscape HTTP Cookie File\n# Whoever has this file is logged in: keep it to yourself.\n\n"
_HTTP_ONLY: Final = "#HttpOnly_"


class BadCookies(CorruptFile):
    """A file that is no cookies.txt."""


class CookieStore:
    """See the module. `most`: cookies of all sites, 0 for no limit."""

    def __init__(self, most: int = COOKIES.value) -> None:
        self._most = most or NO_LIMIT
        self._jars: OrderedDict[str, http.cookiejar.CookieJar] = OrderedDict()
        """Cookie jars by site, the most recently used last."""
        self._count = 0
        self.has_changed = False
        """Whether anything has changed since it was written."""
        self.changes = 0
        """A number that grows with every change."""
        self.left_out = 0
        """Cookies that were too large or too many, or of sites that were forgotten."""

    def header(self, url: str) -> str:
        """Value of the header `Cookie` for `url`; empty for none."""
        site = _jar_of(url)
        if (jar := self._jars.get(site)) is None:
            return ""
        self._jars.move_to_end(site)
        asked = StandardRequest(url)  # noqa: S310 - nothing is opened
        jar.add_cookie_header(asked)
        return asked.get_header("Cookie") or ""

    def heard(self, url: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Take the cookies that an answer of `url` sets, one by one: an invalid one does not affect others."""
        site = _jar_of(url)
        for name, value in headers:
            if name.lower() == b"set-cookie":
                self._heard_one(url, site, value)

    def _heard_one(self, url: str, site: str, value: bytes) -> None:
        if len(value) > _COOKIE_SIZE:
            self.left_out += 1
            return
        text = value.decode("latin-1")
        jar = self._jars.get(site, _new_jar())
        if not text.isprintable() or (url.startswith("http://") and _name_of(text) in _of_https(jar)):
            return
        message = Message()
        message.add_header("Set-Cookie", _as_rfc6265(text))
        asked = StandardRequest(url)  # noqa: S310 - nothing is opened
        answer = cast(Any, SimpleNamespace(info=lambda: message))
        before = _facts(jar)
        with warnings.catch_warnings(action="ignore"):  # it warns of what it does not expect with a traceback
            made = jar.make_cookies(answer, asked)  # those that it ends are out of the jar now
        self._put(site, jar, [one for one in made if _POLICY.set_ok(one, asked)], before)

    def give(self, url: str, cookies: Mapping[str, str]) -> None:
        """Set those of `cookies` whose names the host has not set itself."""
        known = {pair.partition("=")[0] for pair in self.header(url).split("; ")}
        secure = "; Secure" if url.startswith("https://") else ""
        found = [(b"Set-Cookie", f"{k}={v}; Path=/{secure}".encode()) for k, v in cookies.items() if k not in known]
        self.heard(url, found)

    def _put(
        self,
        site: str,
        jar: http.cookiejar.CookieJar,
        made: Iterable[http.cookiejar.Cookie],
        before: set[tuple[Any, ...]],
    ) -> None:
        known = len(before)
        names = {fact[:3] for fact in before}
        for cookie in made:
            name = cookie.domain, cookie.path, cookie.name
            if name not in names and len(names) >= _PER_SITE:
                self.left_out += 1
            else:
                names.add(name)
                jar.set_cookie(cookie)
        after = _facts(jar)
        self.has_changed |= after != before
        self.changes += after != before
        self._count += len(after) - known
        if after:
            self._jars[site] = jar
            self._jars.move_to_end(site)
        else:
            self._jars.pop(site, None)
        while self._count > self._most and len(self._jars) > 1:
            _, forgotten = self._jars.popitem(last=False)
            self._count -= len(forgotten)
            self.left_out += len(forgotten)

    def has(self, url: str, name: str) -> bool:
        """Whether `url` would be sent a cookie of this name."""
        return any(pair.partition("=")[0] == name for pair in self.header(url).split("; "))

    def __iter__(self) -> Iterator[http.cookiejar.Cookie]:
        for jar in self._jars.values():
            yield from jar

    def __len__(self) -> int:
        return self._count

    # On disk

    def write(self, path: Path) -> None:
        """Replace the file at `path`. Raises `OSError`."""
        write_atomically(path, (_MAGIC, *(_line(cookie) for cookie in self)), mode=0o600)
        self.has_changed = False

    def take(self, cookies: Iterable[http.cookiejar.Cookie]) -> None:
        """Add cookies read from a file."""
        for cookie in cookies:
            site = jar_name(cookie.domain.removeprefix("."))
            jar = self._jars.get(site, _new_jar())
            self._put(site, jar, [cookie], _facts(jar))


def read_cookies(path: Path) -> list[http.cookiejar.Cookie]:
    """Read unexpired cookies of the cookies.txt at `path`. Raises `BadCookies`, without any cookie in its text."""
    jar = http.cookiejar.MozillaCookieJar()
    try:
        with warnings.catch_warnings(action="ignore"):  # it warns of what it does not expect with a traceback
            jar.load(str(path), ignore_discard=True)
    except (http.cookiejar.LoadError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no cookies.txt in Netscape's format"
        raise BadCookies(f"{path} cannot be read: {reason}") from None
    return list(jar)


def _line(cookie: http.cookiejar.Cookie) -> bytes:
    host_only = "TRUE" if cookie.domain.startswith(".") else "FALSE"
    prefix = _HTTP_ONLY if cookie.has_nonstandard_attr("HTTPOnly") else ""
    name, value = ("", cookie.name) if cookie.value is None else (cookie.name, cookie.value)
    ends = "" if cookie.expires is None else str(cookie.expires)
    secure = "TRUE" if cookie.secure else "FALSE"
    return "\t".join([prefix + cookie.domain, host_only, cookie.path, secure, ends, name, value]).encode() + b"\n"


def _jar_of(url: str) -> str:
    """`jar_name` for a URL of any length."""
    return jar_name(parse(url, max_length=NO_LIMIT).host)


def jar_name(host: str) -> str:
    """Site whose jar has the cookies of `host`. Ports are ignored, as in cookies; names without a dot get the domain
    that `http.cookiejar` gives them.
    """
    name = host.rpartition(":")[0] if ":" in host and host[-1].isdigit() else host
    name = name if "." in name else f"{name}.local"
    labels = name.split(".")
    is_listed = labels[-1].isdigit() or top_level_of(name) != name
    return site_of(name) if is_listed else ".".join(labels[-2:])  # as in an intranet, which has names of its own


class _Policy(http.cookiejar.DefaultCookiePolicy):
    """Browsers' rules: no cookie for a public suffix, and none set over http for https (RFC 6265bis, section 5.7)."""

    def set_ok(self, cookie: http.cookiejar.Cookie, request: StandardRequest) -> bool:
        return _keeps_its_word(cookie, request) and super().set_ok(cookie, request)

    def set_ok_domain(self, cookie: http.cookiejar.Cookie, request: StandardRequest) -> bool:
        if cookie.domain_specified:
            asked = _jar_of(request.full_url)
            if jar_name(cookie.domain.removeprefix(".")) != asked:
                return False
        return super().set_ok_domain(cookie, request)


_POLICY: Final = _Policy()


def _keeps_its_word(cookie: http.cookiejar.Cookie, request: StandardRequest) -> bool:
    """Whether the cookie keeps what `Secure` and its name's prefix require (section 4.1.3)."""
    name = cookie.name.lower()
    if cookie.secure and request.type != "https":
        return False
    if name.startswith("__host-"):
        return cookie.secure and cookie.path == "/" and not cookie.domain_specified
    return cookie.secure or not name.startswith("__secure-")


def _name_of(text: str) -> str:
    """Name of the cookie in a Set-Cookie header."""
    return text.partition(";")[0].partition("=")[0].strip()


def _as_rfc6265(text: str) -> str:
    """A Set-Cookie header with the attributes that count (sections 5.2, 5.3): of each name, the last well-formed
    one.
    """
    pair, *attributes = text.split(";")
    kept = {}
    for attribute in attributes:
        name, _, value = (part.strip() for part in attribute.partition("="))
        if (read := _ATTRIBUTES.get(name.lower())) is not None and (counted := read(value)) is not None:
            kept[name.lower()] = counted
    return "; ".join([pair, *kept.values()])


_SECONDS: Final = re.compile(r"-?[0-9]+").fullmatch
_ATTRIBUTES: Final[Mapping[str, Callable[[str], str | None]]] = {
    "expires": lambda value: f"Expires={value}" if http2time(value.strip('"')) is not None else None,
    "max-age": lambda value: f"Max-Age={value}" if _SECONDS(value) else None,
    "domain": lambda value: f"Domain={value}" if value else None,
    "path": lambda value: f"Path={value if value.startswith('/') else ''}",  # without one, that of the URL
    "secure": lambda _: "Secure",
    "httponly": lambda _: "HTTPOnly",  # as `MozillaCookieJar` spells it
}


def _of_https(jar: http.cookiejar.CookieJar) -> set[str]:
    """Names of the cookies that an answer over plain http must not change or delete."""
    return {one.name for one in jar if one.secure}


def _new_jar() -> http.cookiejar.CookieJar:
    return http.cookiejar.CookieJar(_POLICY)


def _facts(jar: http.cookiejar.CookieJar) -> set[tuple[Any, ...]]:
    return {(one.domain, one.path, one.name, one.value, one.expires) for one in jar}
