"""What the log says of downloads."""

from __future__ import annotations

import logging

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.python.failure import Failure

from sitecrawl.logformatter import LogFormatter


def test_a_failed_download_is_no_error() -> None:
    """Scrapy's own message, at a level that a quiet log leaves out."""
    told = (Failure(Refused("no")), Request("http://a.example/"), Spider("any"))
    ours, scrapys = LogFormatter().download_error(*told), ScrapyLogFormatter().download_error(*told)
    assert ours["level"] == logging.INFO
    assert ours["msg"] == scrapys["msg"]
    assert ours["args"] == scrapys["args"]
