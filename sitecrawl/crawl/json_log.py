"""The log as JSON lines, for programs that collect logs (`SITECRAWL_LOG_JSON`)."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from scrapy.settings import BaseSettings
from scrapy.utils.log import get_scrapy_root_handler

from sitecrawl.base import declared


class JsonFormatter(logging.Formatter):
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
    """Let Scrapy's log have JSON lines from here on, if the settings ask for them. Scrapy makes its handler anew when
    the crawler has its settings, so the downloader, which comes next, asks again.
    """
    handler = get_scrapy_root_handler()
    if handler is not None and declared.LOG_JSON.read(settings):
        handler.setFormatter(JsonFormatter())
