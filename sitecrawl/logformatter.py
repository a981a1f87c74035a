"""Scrapy's log messages, without a page of traceback for every host that is down."""

from __future__ import annotations

import logging

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from scrapy.logformatter import LogFormatterResult
from twisted.python.failure import Failure


class LogFormatter(ScrapyLogFormatter):
    """A failed download is INFO: the crawl's summary counts it by its kind."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        result = super().download_error(failure, request, spider, errmsg)
        result["level"] = logging.INFO
        return result
