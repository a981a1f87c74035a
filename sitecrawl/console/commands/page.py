"""`scrapy page URL`: a stored page, by its URL."""

from __future__ import annotations

import argparse
import shlex
import ssl
import sys
from collections.abc import Iterator
from difflib import unified_diff
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawl.configuration import verify_tls
from sitecrawl.http.proxies import Proxy, login_in
from sitecrawl.http.tls import Verify
from sitecrawl.page.codings import MAX_CONTENT, without_codings
from sitecrawl.pagestore import Capture
from sitecrawl.pagestore.console import exit_code_on_error, headers, summary, visible_bytes
from sitecrawl.pagestore.record import MASK, HttpMessage
from sitecrawl.pagestore.workers import Reader

_OWN: Final = frozenset({b"content-length", b"transfer-encoding", b"connection"})
"""Headers that every client sets itself."""
_TIMEOUT: Final = 60.0
"""Seconds to wait for an answer."""


def _text_of(message: HttpMessage, charset: str | None = None) -> str:
    """A message as it was sent or received, its body without content coding."""
    body = without_codings(message.body, message.headers, MAX_CONTENT)
    return headers(message) + "\n" + (visible_bytes(body, charset) + "\n" if body else "")


def _headers(sent: HttpMessage) -> list[tuple[str, str]]:
    """Headers to send again, without masked ones."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in sent.headers
        if name.lower() not in _OWN and value != MASK
    ]


def _curl(url: str, sent: HttpMessage) -> str:
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


def _resent(url: str, sent: HttpMessage, verify: Verify = Verify.REQUIRE) -> HttpMessage:
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
    """Connection to the server, or to the environment's proxy for it; target and further headers of the request.
    Raises `ValueError` for a proxy that cannot be used here.
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


def _difference(before: HttpMessage, after: HttpMessage, charset: str | None = None) -> Iterator[str]:
    """The lines of a unified diff of two answers; none if they say the same."""
    old, new = (_text_of(message, charset).splitlines() for message in (before, after))
    return unified_diff(old, new, "stored", "now", n=1, lineterm="")


class Command(ReadingCommand):
    """Print the body of a stored page, with its content coding removed. On a terminal, control characters are shown
    as escapes. Works while the crawl runs.
    """

    usage = "[options] <url>"
    summary = "Print a stored page"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--headers", action="store_true", help="print status line and headers before the body")
        parser.add_argument(
            "--all", action="store_true", help="list all stored versions, newest first; with --headers print them"
        )
        traffic = parser.add_mutually_exclusive_group()
        traffic.add_argument(
            "--exchange", action="store_true", help="print the request as sent and the answer as received"
        )
        traffic.add_argument(
            "--curl", action="store_true", help="print the command of curl's that sends the request again"
        )
        traffic.add_argument("--resend", action="store_true", help="send the request again, and print what differs")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("exactly one URL is needed")
        with exit_code_on_error(self), self.pages(opts) as reader:
            captures = reader.find(args[0], all=opts.all)
            if not captures:
                raise StorageError(f"{visible(args[0])} is not stored in {reader.directory}")
            for capture in captures:
                if opts.exchange or opts.curl or opts.resend:
                    _show_traffic(reader, capture, opts, self.settings)
                else:
                    _show(reader, capture, opts)


def _show_traffic(reader: Reader, capture: Capture, opts: argparse.Namespace, settings: BaseSettings) -> None:
    sent = reader.sent_for(capture)
    if sent is None:
        raise StorageError(f"There is no request in {reader.directory} for {visible(capture.url)}")
    if opts.curl:
        print(_curl(capture.url, sent))
        return
    page = reader.read(capture)
    received = HttpMessage(page.start_line, page.headers, page.payload)
    if opts.exchange:
        print(_text_of(sent) + _text_of(received, capture.charset), end="")
        return
    differs = False
    for line in _difference(received, _resent(capture.url, sent, verify_tls(settings)), capture.charset):
        print(line)
        differs = True
    if not differs:
        print("The answer is the same")


def _show(reader: Reader, capture: Capture, opts: argparse.Namespace) -> None:
    if opts.all:
        print(summary(capture))
        if not opts.headers:
            return
    page = reader.read(capture)
    if opts.headers:
        print(headers(page))
    if sys.stdout.isatty():
        print(visible_bytes(page.body, capture.charset))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(page.body)
