"""`scrapy page URL`: a stored page, by its URL."""

from __future__ import annotations

import argparse
import sys

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from sitecrawl.base.display import visible
from sitecrawl.base.errors import StorageError
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.console.exchange import curl, difference, resent, shown
from sitecrawl.crawl.configuration import verify_tls
from sitecrawl.pagestore import Capture
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.printing import headers, summary, visible_bytes
from sitecrawl.pagestore.record import HttpMessage
from sitecrawl.pagestore.workers import Reader


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


def _show_traffic(reader: Reader, capture: Capture, opts: argparse.Namespace, settings: BaseSettings | None) -> None:
    sent = reader.sent_for(capture)
    if sent is None:
        raise StorageError(f"There is no request in {reader.directory} for {visible(capture.url)}")
    if opts.curl:
        print(curl(capture.url, sent))
        return
    page = reader.read(capture)
    received = HttpMessage(page.start_line, page.headers, page.payload)
    if opts.exchange:
        print(shown(sent) + shown(received, capture.charset), end="")
        return
    assert settings is not None
    differs = False
    for line in difference(received, resent(capture.url, sent, verify_tls(settings)), capture.charset):
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
