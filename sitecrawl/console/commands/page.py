"""`scrapy page URL`: a stored page, by its URL."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Final

from scrapy.exceptions import UsageError

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.console.base_command import ReadingCommand
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
            raise OptionError("The request's body is binary, which no command line holds: --exchange prints it")
        words += ["--data-raw", text]
    return shlex.join([*words, url])


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

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("exactly one URL is needed")
        with exit_code_on_error(self), self.pages(opts) as reader:
            captures = reader.find(args[0], all=opts.all)
            if not captures:
                raise StorageError(f"{visible(args[0])} is not stored in {reader.directory}")
            for capture in captures:
                if opts.exchange or opts.curl:
                    _show_traffic(reader, capture, opts)
                else:
                    _show(reader, capture, opts)


def _show_traffic(reader: Reader, capture: Capture, opts: argparse.Namespace) -> None:
    sent = reader.sent_for(capture)
    if sent is None:
        raise StorageError(f"There is no request in {reader.directory} for {visible(capture.url)}")
    if opts.curl:
        print(_curl(capture.url, sent))
        return
    page = reader.read(capture)
    received = HttpMessage(page.start_line, page.headers, page.payload)
    print(_text_of(sent) + _text_of(received, capture.charset), end="")


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
