"""The log as JSON lines, for programs that collect logs (`SITECRAWL_LOG_JSON`)."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from scrapy.settings import BaseSettings
from scrapy.utils.log import get_scrapy_root_handler

from sitecrawl.base import declared


class _JsonFormatter(logging.Formatter):
    """A record as one line: `time` (ISO 8601, UTC), `level`, `logger`, `message`, and `exception` if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_as_wanted(settings: BaseSettings) -> None:
    """Switch Scrapy's log to JSON lines if the settings say so. Scrapy replaces its handler when the crawler gets its
    settings, so the downloader, which is made next, calls this again.
    """
    handler = get_scrapy_root_handler()
    if handler is not None and declared.LOG_JSON.read(settings):
        handler.setFormatter(_JsonFormatter())
