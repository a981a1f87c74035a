"""Who gets an answer: only somebody who was told the token, and no page of another origin; and nobody on another
machine, unless a setting says otherwise.

- The token is in the path, so that every address of the page has it and no cookie is needed: cookies know no ports,
  and would go to every other server on this machine. A program may send it as `Authorization: Bearer` instead. It is
  compared in constant time.
- `Host` must be ours, else a page of the web whose name is made to resolve to 127.0.0.1 (DNS rebinding) could ask.
  Where others reach the server, too, it may be any address: what a name can be made to lead to, an address cannot.
- `Origin` and `Sec-Fetch-Site`, which no page can forge, must be ours or absent. Actions are POST with a JSON body,
  which a page of another origin may not send without asking first, and nobody answers that question.

Whoever fails gets a bare 404, whatever was wrong.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable
from typing import Final

from sitecrawl.base.errors import OptionError

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer. Nothing is allowed to other origins: there is no CORS header."""

_LOOPBACK: Final = "127.0.0.1"
_HTTP: Final = 80
_PORTS: Final = range(65_536)
_HAS_PORT: Final = re.compile(r"^[^:]*:[0-9]+$|\]:[0-9]+$")
_SWITCH: Final = {"": None, "0": None, "false": None, "1": 0, "true": 0}
"""What switches the page on or off, where the setting names no address: the port."""
_MIN_TOKEN: Final = 16
_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

_Header = Callable[[str], str]
"""Gives a header's value, empty where there is none."""


def token_of(setting: str) -> str:
    """The token that a setting names, or else a new one. Raises `OptionError` for one that is easily guessed."""
    if not setting:
        return secrets.token_urlsafe(24)
    if len(setting) < _MIN_TOKEN or not _SAFE.issuperset(setting):
        raise OptionError(
            f"SITECRAWL_DASHBOARD_TOKEN must have {_MIN_TOKEN} characters or more, of letters, digits, - and _"
        )
    return setting


def place_of(setting: object, token: str) -> tuple[str, int | None]:
    """The address and port that a setting names, to be served on with what `SITECRAWL_DASHBOARD_TOKEN` says. Of
    ports, 0 is any that is free, and None says that nothing is served.

    Raises `OptionError` for what is no address, and for one that others reach while nobody has chosen a token: the
    new one of each run is told to whoever reads the terminal here.
    """
    words = str(setting)
    if words.lower() in _SWITCH:
        return _LOOPBACK, _SWITCH[words.lower()]
    host, colon, port = words.rpartition(":") if _HAS_PORT.search(words) else (words, "", "0")
    try:
        address, number = ipaddress.ip_address(host.strip("[]") if colon else host), _PORTS[int(port)]
    except (ValueError, IndexError):
        raise OptionError(
            f"SITECRAWL_DASHBOARD is {setting!r}, and neither False nor an IP address, such as {_LOOPBACK}:8123"
        ) from None
    if not address.is_loopback and not token:
        raise OptionError(
            f"SITECRAWL_DASHBOARD {setting} is reached from elsewhere, where the page needs a token that you "
            "choose: set SITECRAWL_DASHBOARD_TOKEN"
        )
    return str(address), number


class Guard:
    """Guards the server on `port` of `address`."""

    def __init__(self, token: str, port: int, address: str = _LOOPBACK) -> None:
        self._token = token.encode()
        self._port = "" if port == _HTTP else f":{port}"  # a browser does not name the usual port
        self._names = frozenset({_LOOPBACK, "localhost", host_of(address)})
        self.is_open = not ipaddress.ip_address(address).is_loopback
        """Whether others than those on this machine reach it."""

    def admit(self, method: str, path: str, header: _Header) -> str | None:
        """The part of `path` to answer, without token and first slash; None to refuse."""
        token, slash, rest = path.removeprefix("/").partition("/")
        bearer = header("Authorization").removeprefix("Bearer ")
        if bearer:
            token, slash, rest = bearer, "/", path.removeprefix("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token) or not slash:
            return None
        return rest if self._is_ours(method, header) else None

    def _is_ours(self, method: str, header: _Header) -> bool:
        origin, site = header("Origin"), header("Sec-Fetch-Site")
        host = header("Host")
        if not self._is_our_name(host) or (origin and origin != f"http://{host}"):
            return False
        if method == "POST":
            kind = header("Content-Type").partition(";")[0].strip().lower()
            return site in {"", "same-origin"} and kind == "application/json"
        return method == "GET" and site in {"", "none", "same-origin"}

    def _is_our_name(self, host: str) -> bool:
        name = host.removesuffix(self._port)
        if name + self._port != host:
            return False
        return name in self._names or (self.is_open and _is_address(name))


def host_of(address: str) -> str:
    """An address as URLs have it."""
    return f"[{address}]" if ":" in address else address


def _is_address(name: str) -> bool:
    try:
        return host_of(str(ipaddress.ip_address(name.strip("[]")))) == name
    except ValueError:
        return False
