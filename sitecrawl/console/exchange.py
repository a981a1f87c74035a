"""The traffic of a stored page: as it went over the wire, as a command of curl's, and sent once more."""

from __future__ import annotations

import shlex
import ssl
from collections.abc import Iterator
from difflib import unified_diff
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.http.proxy import Proxy, login_in
from sitecrawl.http.tls import Verify
from sitecrawl.page.codings import MAX_CONTENT, without_codings
from sitecrawl.pagestore.printing import visible_bytes
from sitecrawl.pagestore.record import MASK, HttpMessage

_OWN: Final = frozenset({b"content-length", b"transfer-encoding", b"connection"})
"""Headers that whoever sends a request makes anew."""
_TIMEOUT: Final = 60.0
"""Seconds to wait for an answer."""


def shown(message: HttpMessage, charset: str | None = None) -> str:
    """A message as it was sent or received, its body without content coding."""
    body = without_codings(message.body, message.headers, MAX_CONTENT)
    return _head(message) + "\n" + (visible_bytes(body, charset) + "\n" if body else "")


def _head(message: HttpMessage) -> str:
    lines = [message.start_line, *(name + b": " + value for name, value in message.headers)]
    return "".join(visible(line.decode("utf-8", "backslashreplace")) + "\n" for line in lines)


def _headers(sent: HttpMessage) -> list[tuple[str, str]]:
    """What is to be said again: not what is masked, for nobody knows that any more."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in sent.headers
        if name.lower() not in _OWN and value != MASK
    ]


def curl(url: str, sent: HttpMessage) -> str:
    """The command that sends the request again. Raises `OptionError` for a body that no command line holds."""
    words = ["curl", "--include", "--compressed", "--globoff", "--path-as-is", "--max-time", f"{_TIMEOUT:.0f}"]
    words += ["--request", sent.start_line.partition(b" ")[0].decode("latin-1")]
    for name, value in _headers(sent):
        words += ["--header", f"{name}: {value}" if value else f"{name};"]
    if sent.body:
        try:
            text = sent.body.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise OptionError("The request's body is binary, which no command line holds: --resend sends it")
        words += ["--data-raw", text]
    return shlex.join([*words, url])


def resent(url: str, sent: HttpMessage, verify: Verify = Verify.REQUIRE) -> HttpMessage:
    """What the server answers to the same request now, without redirects. Raises `StorageError` if it does not, as
    where its certificate does not hold and `verify` requires that.
    """
    parts, words = urlsplit(url), sent.start_line.decode("latin-1").split(" ")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise OptionError(f"{visible(url)} did not come over HTTP, so nothing can be sent again")
    try:
        connection, target, besides = _way_to(parts, words[1], verify)
    except ValueError as error:
        raise OptionError(f"{visible(url)} cannot be asked for through a proxy: {error}") from error
    try:
        connection.putrequest(words[0], target, skip_host=True, skip_accept_encoding=True)
        for name, value in (*_headers(sent), *besides.items()):
            connection.putheader(name, value)
        if sent.body:
            connection.putheader("Content-Length", str(len(sent.body)))
        connection.endheaders(sent.body or None)
        answer = connection.getresponse()
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.getheaders()]
        start = f"HTTP/{answer.version // 10}.{answer.version % 10} {answer.status} {answer.reason}"
        return HttpMessage(start.encode("latin-1"), headers, answer.read(MAX_CONTENT))
    except (OSError, HTTPException, ValueError) as error:
        raise StorageError(
            f"{visible(url)} does not answer: {visible(str(error)) or type(error).__name__}"
        ) from error
    finally:
        connection.close()


def _way_to(parts: SplitResult, target: str, verify: Verify) -> tuple[HTTPConnection, str, dict[str, str]]:
    """A connection to a server, or to the proxy that the environment names for it, as for a crawl; what is asked for
    there, and with which headers besides. Raises `ValueError` for a proxy that cannot be used here.
    """
    host, is_secure = parts.hostname or "", parts.scheme == "https"
    kind = partial(HTTPSConnection, context=_context(verify)) if is_secure else HTTPConnection
    named = "" if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme, "")
    if not named:
        return kind(host, parts.port, timeout=_TIMEOUT), target, {}
    proxy = Proxy.of(named)
    if proxy.scheme != "http":
        raise ValueError(f"one of {proxy.scheme} is for crawls alone")
    login = {"Proxy-Authorization": given.decode()} if (given := login_in(named)) else {}
    connection = kind(proxy.host, proxy.port, timeout=_TIMEOUT)
    if is_secure:
        connection.set_tunnel(host, parts.port, login)
        return connection, target, {}
    return connection, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{target}", login


def _context(verify: Verify) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if verify is not Verify.REQUIRE:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def difference(before: HttpMessage, after: HttpMessage, charset: str | None = None) -> Iterator[str]:
    """The lines of a unified diff of two answers; none if they say the same."""
    old, new = (shown(message, charset).splitlines() for message in (before, after))
    return unified_diff(old, new, "stored", "now", n=1, lineterm="")
