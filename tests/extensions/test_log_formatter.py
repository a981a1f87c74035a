"""What the log says of downloads."""

from __future__ import annotations

import logging

import pytest
from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.python.failure import Failure

from sitecrawl.extensions.log_formatter import LogFormatter


def test_a_failed_download_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """At INFO; Scrapy's own message, to which it adds a traceback, is for debugging."""
    told = (Failure(Refused("no")), Request("http://a.example/"), Spider("any"))
    with caplog.at_level(logging.INFO):
        ours, scrapys = LogFormatter().download_error(*told), ScrapyLogFormatter().download_error(*told)
    assert ours["level"] == logging.DEBUG
    assert (ours["msg"], ours["args"]) == (scrapys["msg"], scrapys["args"])
    (record,) = caplog.records
    assert record.exc_info is None
    assert "http://a.example/" in record.getMessage()
    assert "Refused" in record.getMessage() or "refused" in record.getMessage()
